// Package guard keeps a panic in a goroutine from ending the process, which would print the panic's words: after a debit they
// may quote a value (P20).
//
// It imports the standard library only. A test of the house finds every goroutine that a run may start and that is not
// guarded. The package does not protect against what the runtime cannot recover from, such as memory that runs out.
package guard
