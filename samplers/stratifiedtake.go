package samplers

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// StratifiedTake draws a fixed public number of records in each stratum, the
// ultimate units of a public frame.
//
// # Contract
//
// In stratum h every subset of exactly take_h of its N_h records is drawn with
// the same probability, independently of other strata. The numbers are public and
// must not be computed from the data. The event is without_replacement with the
// largest rate, max_h take_h/N_h, under replace-one within the stratum (P3). That
// each stratum has the number of records that the frame says is checked. Proof:
// stratified.proof.md.
type StratifiedTake struct {
	overFrame
	take  []int64 // by stratum
	event privacy.Stage
}

// NewStratifiedTake returns the design that draws take[u] records of unit u of
// the frame, for each u.
func NewStratifiedTake(frame *Frame, take []int64) (*StratifiedTake, error) {
	if frame == nil || len(take) != frame.Len() {
		return nil, fmt.Errorf("strata: need a public frame and a number to take for each of its strata")
	}
	d := &StratifiedTake{overFrame: overFrame{frame: frame, weights: make([]float64, len(take))}, take: slices.Clone(take)}
	var rates Multistage // for the largest rate
	rates.event = make([]privacy.Stage, 1)
	for u, n := range take {
		of := frame.units[u].Records
		if n < 1 || n > of {
			return nil, fmt.Errorf("strata: %s: take must be at least 1 and at most its number of records (%d of %d)",
				name(frame.units[u].Key), n, of)
		}
		rates.note(0, n, of)
		d.weights[u] = float64(of) / float64(n)
		d.facts.SampleSize += n
	}
	d.event = rates.event[0]
	d.facts.LargestCount, d.facts.Population = d.facts.SampleSize, frame.records
	d.settle()
	return d, nil
}

// Kind is "stratified".
func (*StratifiedTake) Kind() string { return "stratified" }

// Event is without_replacement with the largest rate of any stratum.
func (d *StratifiedTake) Event(inner privacy.Event) privacy.Event {
	return privacy.WithoutReplacement{Take: d.event.Take, Of: d.event.Of, Event: inner}
}

// Supports is nil under replace-one.
func (d *StratifiedTake) Supports(rel privacy.Relation) error {
	return onlyUnder("stratified (fixed numbers)", privacy.ReplaceOne, rel,
		"its frame publishes the number of records of every stratum; use public rates instead")
}

func (d *StratifiedTake) begin(src *noise.Source, rows int64) (Selector, error) {
	if rows >= 0 && rows != d.frame.records {
		return nil, fail(SizeMismatch)
	}
	s := newUnitSelector(src, d.overFrame)
	copy(s.need, d.take)
	return s, nil
}
