// Package launch starts the first process of a plugin, in a folder and with an
// environment of its own.
//
// It can do so early: a job's first built-in mechanism runs in a process of this same
// program, and half of what a small run takes would be two starts one after the other,
// each with the initialisation of 300 packages. The early process is forked while the
// first packages of the host are initialised, before it is known which mechanism it
// will run, and is an ordinary plugin process in every other way. Whoever needs one
// like it takes it; a host that needs none drops it.
//
// The package imports nothing but the standard library, and little of that, because
// all that it imports is initialised before the early process can start.
package launch
