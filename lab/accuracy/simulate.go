package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/privacy"
)

// simulated is a host whose noise comes from a fixed seed. It measures and protects
// nothing.
type simulated struct {
	planner.Dice
	rows  int
	order []int // the rows in the order in which batches take them
	turn  int64
}

func newSimulated(seed uint64, rows int) *simulated {
	return &simulated{Dice: planner.Dice{Rand: rand.New(rand.NewPCG(seed, 2000))}, rows: rows}
}

// NextSample draws a Poisson sample by the skips between records.
func (s *simulated) NextSample(_ context.Context, ev privacy.Sampling) ([]int64, error) {
	rate := ev.(privacy.Poisson).Rate
	out := []int64{}
	for i := -1; ; {
		skip := math.Log1p(-s.Rand.Float64()) / math.Log1p(-rate)
		if skip >= float64(s.rows-i-1) {
			return out, nil
		}
		i += 1 + int(skip)
		out = append(out, int64(i))
	}
}

// NextBatch takes the rows in turn, in an order drawn for the release.
func (s *simulated) NextBatch(_ context.Context, ev privacy.LastIterate) ([]int64, error) {
	if s.order == nil {
		s.order = s.Rand.Perm(s.rows)
	}
	from := s.turn % ev.Batches() * ev.Batch
	s.turn++
	out := []int64{}
	for _, r := range s.order[from:min(ev.N, from+ev.Batch)] {
		out = append(out, int64(r))
	}
	return out, nil
}
