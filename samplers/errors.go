package samplers

import (
	"fmt"

	"github.com/dprelease/dprelease/privacy"
)

// Code is the fixed reason of a failure that may depend on the data. It is all
// that such a failure tells (P19, P20).
type Code string

// The codes of an Error.
const (
	// SizeMismatch: the table does not have the public number of rows.
	SizeMismatch Code = "size_mismatch"
	// TooFewRows: the table has fewer rows than the design's public lower bound.
	TooFewRows Code = "too_few_rows"
	// FrameMismatch: the rows do not lie in the units of the public frame.
	FrameMismatch Code = "frame_mismatch"
	// Misuse: the caller did not walk the draw as Selector demands.
	Misuse Code = "sampler_misuse"
	// NoRandomness: the operating system's random generator cannot be read.
	NoRandomness Code = "no_randomness"
)

var details = map[Code]string{
	SizeMismatch:  "the table does not have the number of rows that the job declares",
	TooFewRows:    "the table has fewer rows than the job promises",
	FrameMismatch: "the rows of the table do not match the public frame: check the key columns and the counts of records",
	Misuse:        "a draw was not walked as its selector demands",
	NoRandomness:  "the operating system's random generator cannot be read",
}

// Error is a failure after data were seen. Its text is fixed by its code.
type Error struct{ Code Code }

// Error describes the code.
func (e *Error) Error() string { return "samplers: " + string(e.Code) + ": " + e.Detail() }

// Detail is the description alone.
func (e *Error) Detail() string { return details[e.Code] }

// Is makes errors with the same code the same.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func fail(c Code) error { return &Error{Code: c} }

// onlyUnder is the answer of a design that holds under one relation.
func onlyUnder(kind string, want, got privacy.Relation, why string) error {
	if err := known(got); err != nil || got == want {
		return err
	}
	return fmt.Errorf("samplers: a %s design holds under %s, not under %s: %s", kind, want, got, why)
}

// known refuses an invalid relation.
func known(rel privacy.Relation) error {
	if !rel.Valid() {
		return fmt.Errorf("samplers: the relation is missing or unknown: say add-remove or replace-one")
	}
	return nil
}
