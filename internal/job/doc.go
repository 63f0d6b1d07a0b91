// Package job is the job language: what a job file may say, and what is wrong
// with one that says something else.
//
// Every key is declared once, in declare*.go, with its name, type, default and
// description. The parser, the linter, the reference (docs/job.md) and the JSON
// Schema (specs/job-v1.schema.json) all come from that one declaration.
//
// The package is syntax: it imports privacy for the relation, and yaml.v3, and
// nothing else of the project. It reads the job file and the environment
// variables that the file names, and no other file: no table, no frame, no
// plugin.
//
// It promises that all problems are reported in one pass, each with its
// position; that amounts are the exact decimal numbers of the text (P17); that
// no file, however large or however nested, costs more than a fixed amount of
// time and memory; and that a message repeats only what the job file itself
// says, never the value of an environment variable and never the address of a
// ledger.
//
// It does not protect against a job that asks for the wrong thing: bounds taken
// from the data, or a size that is secret, look like any others.
package job

//go:generate go run ./generate ../..
