// Package lazy puts off what a process may never need. Every command of dprelease,
// and every built-in mechanism's process, initialises all packages of the one
// binary; twenty regular expressions are half a millisecond of each.
//
// What is put off must not fail later: a test of internal/house compiles every
// expression that the module's sources name. The package imports the standard
// library only.
package lazy
