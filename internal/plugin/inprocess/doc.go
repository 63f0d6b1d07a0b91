// Package inprocess runs mechanisms in the process of its caller: it plans with them, and has linear ones add up rows. The
// machines of an engine, studies and tests use it.
//
// It imports plan and host. The program that holds the ledger does not link it: there a mechanism is a process that the
// host distrusts. Nothing here protects the caller against a mechanism.
package inprocess
