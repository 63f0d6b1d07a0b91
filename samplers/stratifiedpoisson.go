package samplers

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// StratifiedPoisson keeps each row with the public rate of its stratum, each on
// its own coin. The frame lists the strata; their numbers of records are not
// used and may be secret.
//
// # Contract
//
// A row of stratum h is selected with probability exactly rate_h, independently
// of all others; a row in no stratum of the frame is never selected. The event is
// poisson with the largest rate, rounded up (P3, P17). Proof:
// stratified.proof.md.
type StratifiedPoisson struct {
	overFrame
	rates []Rate
	skips []*noise.Geometric // by stratum, nil at rate 1
}

// NewStratifiedPoisson returns the design with rates[u] in unit u of the frame.
func NewStratifiedPoisson(frame *Frame, rates []Rate) (*StratifiedPoisson, error) {
	if frame == nil || len(rates) != frame.Len() {
		return nil, fmt.Errorf("strata: need a public frame and a rate for each of its strata")
	}
	d := &StratifiedPoisson{
		overFrame: overFrame{frame: frame, weights: make([]float64, len(rates))},
		rates:     slices.Clone(rates), skips: make([]*noise.Geometric, len(rates)),
	}
	made := map[Rate]*noise.Geometric{}
	for u, r := range rates {
		if !r.valid() {
			return nil, fmt.Errorf("strata: %s: rate must be above 0 and at most 1", name(frame.units[u].Key))
		}
		d.weights[u] = 1 / r.Float()
		if _, ok := made[r]; !ok && r.num < r.den {
			g, err := noise.NewGeometric(r.num, r.den)
			if err != nil {
				return nil, err
			}
			made[r] = g
		}
		d.skips[u] = made[r]
	}
	d.settle()
	return d, nil
}

// Kind is "stratified".
func (*StratifiedPoisson) Kind() string { return "stratified" }

// Event is poisson with the largest rate of any stratum.
func (d *StratifiedPoisson) Event(inner privacy.Event) privacy.Event {
	largest := d.rates[0]
	for _, r := range d.rates {
		if largest.less(r) {
			largest = r
		}
	}
	return privacy.Poisson{Rate: largest.Upper(), Event: inner}
}

// Supports is nil under add-remove.
func (d *StratifiedPoisson) Supports(rel privacy.Relation) error {
	return onlyUnder("stratified (rates)", privacy.AddRemove, rel,
		"under replace-one a record may change its stratum, and with it the rate; take fixed numbers in a public frame instead")
}

func (d *StratifiedPoisson) begin(src *noise.Source, rows int64) (Selector, error) {
	s := &rateSelector{unitwise: unitwise{walk: walk{rows: rows}, src: src, weights: d.uneven()}, skips: d.skips,
		gap: make([]int64, len(d.skips))}
	for u := range s.gap {
		s.skip(u)
	}
	return s, src.Err()
}

// rateSelector counts down, in each stratum, the rows to go by before the next
// one that is selected.
type rateSelector struct {
	unitwise
	skips []*noise.Geometric
	gap   []int64
}

func (s *rateSelector) skip(u int) {
	s.gap[u] = 0
	if g := s.skips[u]; g != nil {
		s.gap[u] = int64(min(g.Draw(s.src), math.MaxInt64))
	}
}

func (s *rateSelector) NextUnits(units []int32) (Selection, error) {
	if err := s.block(len(units)); err != nil {
		return Selection{}, err
	}
	for i, u := range units {
		if u < 0 || int(u) >= len(s.gap) {
			continue // in no stratum: its public rate is 0
		}
		if s.gap[u] > 0 {
			s.gap[u]--
			continue
		}
		s.take(i, u)
		s.skip(int(u))
	}
	return s.taken()
}
