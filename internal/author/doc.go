// Package author holds the commands of dprelease that serve people before a run, in the program
// dprelease-design: the page to design a job, a first job from a header, the planner, the
// accountant, and all about mechanisms (plugin). None of them holds rows or spends anything, so
// the program that does links none of what they need. It stands on package command.
package author
