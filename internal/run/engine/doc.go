// Package engine speaks with the program of an engine, which has other machines add up the parts of a job.
//
// The program is a child process: what it is built of, and what it prints, stays out of the process that holds the ledger
// and draws the noise. Both talk over its standard input and output. Its standard error is dropped: an engine's own
// messages may quote what it works on (P20).
//
// # What it promises
//
// An order with its key goes to the program through a pipe, and stands in no argument, variable or file. An answer of the
// program is a number of a part and its bytes; each part is there once.
//
// # What it does not protect against
//
// Who may read the memory of the program, or of a worker, learns the rows and the key. The engine is trusted with both.
package engine
