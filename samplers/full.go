package samplers

import (
	"fmt"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Full takes every row.
//
// # Contract
//
// Every row is selected, with weight 1. The event is the inner event: there is no
// amplification. Proof: full.proof.md.
type Full struct{ population int64 }

// NewFull returns the design that takes every row of a table with a public
// number of rows, or of a table whose number of rows is secret (population 0).
func NewFull(population int64) (*Full, error) {
	if population < 0 {
		return nil, fmt.Errorf("size: must not be negative")
	}
	return &Full{population}, nil
}

// Kind is "full".
func (*Full) Kind() string { return "full" }

// Event is the inner event itself.
func (*Full) Event(inner privacy.Event) privacy.Event { return inner }

// Supports is nil under both relations.
func (*Full) Supports(rel privacy.Relation) error { return known(rel) }

// Facts are those of a census.
func (d *Full) Facts() Facts {
	return Facts{
		Rate: 1, SampleSize: d.population, Population: d.population, LargestCount: d.population,
		MinWeight: 1, MaxWeight: 1, EqualWeights: true,
	}
}

func (d *Full) begin(_ *noise.Source, rows int64) (Selector, error) {
	return everyRow(rows, d.population)
}

// everyRow selects all rows. There must be size of them where that is public.
func everyRow(rows, size int64) (Selector, error) {
	if size > 0 {
		if rows >= 0 && rows != size {
			return nil, fail(SizeMismatch)
		}
		rows = size
	}
	return allOf(rows), nil
}

// allOf selects every row.
func allOf(rows int64) Selector { return &placed{walk: walk{rows: rows}, all: true} }
