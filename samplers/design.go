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
	// Kind is "full", "poisson", "srswor", "multistage", "stratified" or
	// "collected".
	Kind() string
	// Event is what one draw of this design does to whatever is run on it. All
	// that is released from one draw stands inside one Event (P4).
	Event(inner privacy.Event) privacy.Event
	// Facts are public.
	Facts() Facts
	// Supports says whether the event holds under a relation (P1), and why not.
	Supports(rel privacy.Relation) error

	begin(src *noise.Source, rows int64) (Selector, error)
}

// Facts are what a design makes public about its draws.
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

// Selector is one secret draw. It walks the table once, in row order, block
// after block, and is not safe for concurrent use.
type Selector interface {
	// Next says which of the next n rows are in the sample; n may be any size.
	// Designs with a frame refuse it.
	Next(n int) (Selection, error)
	// NextUnits is Next for the next len(units) rows, given each row's unit as
	// Frame.UnitOf numbers it. Designs without a frame ignore the units.
	NextUnits(units []int32) (Selection, error)
	// Done must be called after the last row and its error heeded: it checks that
	// the table was what the design says, and the draw what was promised.
	Done() error
}

// Selection is the part of the sample that lies in one block.
type Selection struct {
	All     bool      // every row of the block
	Rows    []uint32  // offsets inside the block, ascending; valid until the next call
	Weights []float64 // nil when all weights are equal; else parallel to Rows
}

// Begin starts one secret draw for a table of the given number of rows. A design
// with a random size never looks at that number but to check the walk; give −1
// where it is not known beforehand.
func Begin(d Design, src *noise.Source, rows int64) (Selector, error) {
	if d == nil {
		return nil, fmt.Errorf("samplers: no design given")
	}
	if err := src.Err(); err != nil {
		return nil, err
	}
	return d.begin(src, rows)
}

// refused are the designs that look like sampling and do not amplify (P3).
var refused = map[string]string{
	"systematic":       "systematic sampling is a cluster sample of one cluster: each sample is one of few fixed sets, so who knows the order of the rows knows who was drawn with whom; use srswor",
	"proportional":     "proportional allocation computes stratum sizes from the data: at a rounding boundary one record changes how many others are drawn, and there is no amplification; use stratified with a public table of sizes or rates",
	"neyman":           "neyman allocation computes stratum sizes from the variance of a private variable, which the sizes then reveal; use stratified with a public table of sizes or rates",
	"pps":              "probability proportional to a private size makes a record's chance of being drawn depend on its value; use stratified with public rates, or multistage",
	"with_replacement": "sampling with replacement is accounted for but not executed: a record drawn twice counts twice; use srswor, which amplifies more",
}

// Refuse says whether a kind of design is refused, and for what reason. Kinds
// that nobody has heard of are not refused here: they are unknown.
func Refuse(kind string) (reason string, isRefused bool) {
	reason, isRefused = refused[kind]
	return reason, isRefused
}
