// Package pipeline holds the verbs Load, Check, Plan and Run, and what the command lines ask besides, as
// the programs of this project call them. Package pipeline at the root of the module offers the
// four verbs to other Go programs, with types of its own.
package pipeline
