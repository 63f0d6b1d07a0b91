// Package builtin lists the mechanisms that come with dprelease: for the program that serves them to itself, and for the
// programs of engines, whose workers run the linear ones.
package builtin
