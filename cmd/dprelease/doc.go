// Command dprelease plans a job of differentially private releases, carries it
// out, and answers questions about privacy on its own.
//
// The command line is thin: it reads flags, calls package pipeline or package
// account, prints what they answer, and turns errors into the exit codes of
// docs/exit-codes.md. The built-in mechanisms are not in it: they run in a child process, the companion
// dprelease-mechanisms.
//
// It promises that standard output holds the answer and nothing else, that an
// error is one line for each problem (laid out on a terminal, package internal/say/prose)
// and never a stack trace or a cell value
// (P20), that a closed pipe does not end a run whose budget is spent, and that an
// interrupt cancels the run in an orderly way.
//
// It does not protect against a panic in a goroutine of a library: only the
// command's own goroutine is guarded.
package main
