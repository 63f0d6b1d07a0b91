package samplers

import (
	"fmt"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Design is a public description of how rows are drawn; it holds nothing about
// the data. The designs of this package are the only ones: what is charged is
// what is executed.
type Design interface {
	// Kind is one of sdk.EveryDesign.
	Kind() string
	// Event wraps the event of what is run on one draw of this design. All that is
	// released from one draw stands inside one Event (P4).
	Event(inner privacy.Event) privacy.Event
	// Facts are public.
	Facts() Facts
	// Supports says whether the event holds under a relation (P1), and why not.
	Supports(rel privacy.Relation) error

	begin(src *noise.Source, rows int64) (Selector, error)
}

// Facts are the public facts about the draws of a design.
type Facts struct {
	// Rate is the inclusion probability where it is equal for all rows; 0 where
	// it is not, or depends on a secret size.
	Rate float64
	// SampleSize is the fixed number of rows of a draw; 0 where it is random.
	SampleSize int64
	// Population is the public number of rows; 0 where that is secret.
	Population int64
	// MinWeight and MaxWeight bound the design weights 1/π; 0 where they depend
	// on a secret size.
	MinWeight, MaxWeight float64
	// EqualWeights says that all weights are MaxWeight, and Selections carry none.
	EqualWeights bool
	// LargestCount is an upper bound on the rows of a draw; 0 when unknown.
	LargestCount int64
	// UnitColumns are the key columns by which rows find their unit in the frame;
	// nil where Selector.Next serves, else NextUnits must be used.
	UnitColumns []string
}

// Begin starts one secret draw from a table with the given number of rows. Its
// randomness is its own, from the operating system; where that cannot be read,
// Begin fails. Designs of a fixed size need the number of rows. The others use it
// only to check that the whole table went by: give −1 where it is not known.
func Begin(d Design, rows int64) (Selector, error) {
	src, err := noise.NewSource()
	if err != nil {
		return nil, fail(NoRandomness)
	}
	return begin(d, src, rows)
}

// begin is Begin with a given source, which lets a test list all draws.
func begin(d Design, src *noise.Source, rows int64) (Selector, error) {
	if d == nil {
		return nil, fmt.Errorf("samplers: no design given")
	}
	if err := src.Err(); err != nil {
		return nil, err
	}
	return d.begin(src, rows)
}

// Framed is a design that draws units of a public frame, or may: then Frame is nil where
// it does not.
type Framed interface {
	Design
	Frame() *Frame
}

// Sampling returns the design's event without an inner event, nil for the whole
// table.
func Sampling(d Design) privacy.Sampling {
	s, _ := d.Event(nil).(privacy.Sampling)
	return s
}
