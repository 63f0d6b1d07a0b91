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

// Collected draws nothing: the table itself is a simple random sample without
// replacement of a population of public size, as in a survey (P3).
//
// # Contract
//
// Every row is selected, with weight population/size. The event is
// without_replacement{size, population}. The caller vouches that the table was
// drawn so, by a draw that is secret, and that size is its number of rows, which
// is checked. Proof: full.proof.md.
type Collected struct{ size, population int64 }

// NewCollected returns the design of a table of size rows that was collected as
// a simple random sample of population units.
func NewCollected(size, population int64) (*Collected, error) {
	if size < 1 {
		return nil, fmt.Errorf("size: a collected sample needs its public number of rows, at least 1")
	}
	if population < size {
		return nil, fmt.Errorf("population: must be at least the size of the sample (%d < %d)", population, size)
	}
	return &Collected{size, population}, nil
}

// Kind is "collected".
func (*Collected) Kind() string { return "collected" }

// Event is without_replacement{size, population}.
func (d *Collected) Event(inner privacy.Event) privacy.Event {
	return privacy.WithoutReplacement{Take: d.size, Of: d.population, Event: inner}
}

// Supports is nil under replace-one.
func (d *Collected) Supports(rel privacy.Relation) error {
	if err := known(rel); err != nil {
		return err
	}
	return onlyUnder(d.Kind(), privacy.ReplaceOne, rel, "its size is fixed and public")
}

// Facts are those of the draw that the collector made.
func (d *Collected) Facts() Facts {
	w := float64(d.population) / float64(d.size)
	return Facts{
		Rate: float64(d.size) / float64(d.population), SampleSize: d.size, Population: d.population,
		LargestCount: d.size, MinWeight: w, MaxWeight: w, EqualWeights: true,
	}
}

func (d *Collected) begin(_ *noise.Source, rows int64) (Selector, error) {
	return everyRow(rows, d.size)
}

// everyRow selects all rows, of which there must be size where that is public.
func everyRow(rows, size int64) (Selector, error) {
	if size > 0 {
		if rows >= 0 && rows != size {
			return nil, fail(SizeMismatch)
		}
		rows = size
	}
	return &allSelector{walk{rows: rows}}, nil
}

type allSelector struct{ walk }

func (s *allSelector) Next(n int) (Selection, error) {
	_, err := s.advance(n)
	return Selection{All: err == nil}, err
}

func (s *allSelector) NextUnits(units []int32) (Selection, error) { return s.Next(len(units)) }

func (s *allSelector) Done() error { return s.finish() }
