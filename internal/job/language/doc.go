// Package language is the job language: what a job file may say, and what is wrong
// with one that says something else.
//
// Every key is declared once, in declare*.go, with its name, type, default and
// description. The parser, the linter, the reference (docs/job.md) and the JSON
// Schema (specs/job-v1.schema.json) all come from that one declaration.
//
// The package is syntax. Of the project it imports internal/job for the values, internal/job/lang for places, problems
// and hints, and privacy, for the relation. It reads the job file and the environment
// variables that the file names. It reads no other file: no table, no frame, no plugin.
//
// It promises that one pass finds all problems, each with its position; that amounts
// are the exact decimal numbers of the text (P17); that no file, however large or
// nested, costs more than a fixed amount of time and memory; and that a message repeats
// only words of the job file, never the value of an environment variable and never the
// address of a ledger.
//
// It does not protect against a job that asks for the wrong thing: bounds taken
// from the data, or a size that is secret, look like any others.
package language

//go:generate go test . -run TestPages -update
//go:generate sh -c "cd ../../../lab && go run ./jobpages .."
