// Package signals takes the signals that would make the Go runtime print its stacks,
// from the moment at which the program can. Most packages of the program are still to
// be initialised then: this one imports two packages of the standard library, and no
// others, so that it is initialised among the first.
//
// It does not protect the first moment of a process, in which the Go runtime itself
// starts. Nothing of a table has been read then (P20).
package signals
