// Package command holds what the command lines of dprelease and of its companions share: how
// a command reads its flags and its job, how it speaks to people and to programs, how it ends,
// how it finds the mechanisms that come with the programs, and how it hands its work to a
// companion. It stands on package pipeline.
package command
