// Package failure ends a command that does not end well: an exit code, a
// word for scripts, what was spent, and whether to try again. docs/exit-codes.md is
// generated from its table of codes.
package failure

//go:generate go test . -run Page -update
