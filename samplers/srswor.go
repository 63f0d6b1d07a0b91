package samplers

import (
	"fmt"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// SRSWOR draws a fixed number of rows without replacement: a simple random
// sample.
//
// # Contract
//
// Every subset of exactly size rows is drawn with the same probability. The event
// is without_replacement{size, N}, N the public number of rows (replace-one), or
// its public lower bound (add-remove). Proof: srswor.proof.md.
type SRSWOR struct {
	size       int64
	population int64 // public N, or 0
	atLeast    int64 // public N_min where N is secret
}

// NewSRSWOR returns the design that draws size of population rows; both are
// public (replace-one).
func NewSRSWOR(size, population int64) (*SRSWOR, error) {
	if err := checkSize(size, population, "the size of the table"); err != nil {
		return nil, err
	}
	return &SRSWOR{size: size, population: population}, nil
}

// NewSRSWORAtLeast returns the design that draws size rows of a table with a secret number
// of rows (add-remove). Public is only a promise that there are at least atLeast.
func NewSRSWORAtLeast(size, atLeast int64) (*SRSWOR, error) {
	if err := checkSize(size, atLeast, "the promised number of rows"); err != nil {
		return nil, err
	}
	return &SRSWOR{size: size, atLeast: atLeast}, nil
}

func checkSize(size, of int64, what string) error {
	if size < 1 {
		return fmt.Errorf("size: must be at least 1")
	}
	if size > of {
		return fmt.Errorf("size: must be at most %s (%d > %d)", what, size, of)
	}
	return nil
}

// Kind is "srswor".
func (*SRSWOR) Kind() string { return "srswor" }

// Event is without_replacement{size, N}, or N's lower bound.
func (d *SRSWOR) Event(inner privacy.Event) privacy.Event {
	return privacy.WithoutReplacement{Take: d.size, Of: max(d.population, d.atLeast), Event: inner}
}

// Supports is nil under replace-one where the number of rows is public, and under
// add-remove where only its lower bound is.
func (d *SRSWOR) Supports(rel privacy.Relation) error {
	if d.population > 0 {
		return onlyUnder(d.Kind(), privacy.ReplaceOne, rel, "promise a lower bound of the number of rows instead of publishing it")
	}
	return onlyUnder(d.Kind(), privacy.AddRemove, rel, "replace-one needs the public number of rows")
}

// Facts are public. Under add-remove the rate and the weights depend on the
// secret number of rows, and are left out.
func (d *SRSWOR) Facts() Facts {
	f := Facts{SampleSize: d.size, Population: d.population, LargestCount: d.size, EqualWeights: true}
	if d.population > 0 {
		f.Rate = float64(d.size) / float64(d.population)
		f.MinWeight = float64(d.population) / float64(d.size)
		f.MaxWeight = f.MinWeight
	}
	return f
}

func (d *SRSWOR) begin(src *noise.Source, rows int64) (Selector, error) {
	switch {
	case rows < 0:
		return nil, fail(Misuse) // a fixed size needs the number of rows
	case d.population > 0 && rows != d.population:
		return nil, fail(SizeMismatch)
	case rows < d.atLeast:
		return nil, fail(TooFewRows)
	}
	return newSubset(src, d.size, rows), nil
}

// newSubset chooses how to draw size of rows. The law is the same; the cost is
// by the row drawn, by 64 rows of the table, or by the row of the table.
func newSubset(src *noise.Source, size, rows int64) Selector {
	switch {
	case size == rows:
		return allOf(rows)
	case size <= rows/256 && size <= maxListed:
		return byList(src, size, rows)
	case rows <= maxMapped:
		return byMap(src, size, rows)
	}
	return inSequence(src, size, rows)
}

const (
	maxListed = 1 << 22 // 32 MiB of row numbers
	maxMapped = 1 << 28 // 32 MiB of bits
)
