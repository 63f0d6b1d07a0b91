package run

import (
	"context"

	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/samplers"
)

// Rehearse carries out a plan on a table of generated rows: with is the process of every mechanism, and gets the rows as
// the operators of the job hand them over; drawn are the units of a sample, in ascending order. It says of how many
// units they were drawn, -1 for none. It debits nothing and keeps no result, and protects nobody.
func Rehearse(ctx context.Context, p *plan.Planned, t *OpenedTable, with Process, drawn []uint32) (of int64, err error) {
	k := &mechanism{idle: []Process{with}}
	set := &Mechanisms{known: map[string]func() (*mechanism, error){}}
	for _, d := range p.Draws {
		for _, rel := range d.Releases {
			set.known[rel.Job.Mechanism] = func() (*mechanism, error) { return k, nil }
		}
	}
	r := New(p, t, set, Options{Observe: func(Progress) {}})
	sample := &rehearsed{drawn: drawn}
	r.begins = func(d samplers.Design, n int64, _ []int32) (samplers.Selector, error) {
		if d.Kind() == "full" {
			return samplers.Begin(d, n)
		}
		return sample, nil
	}
	if err := r.Draws(ctx); err != nil || sample.first == 0 {
		return -1, err
	}
	return int64(sample.first), nil
}

// rehearsed is a draw that was settled beforehand.
type rehearsed struct {
	drawn []uint32
	first uint32 // of the next block
}

func (s *rehearsed) Next(n int) (out samplers.Selection, err error) {
	for _, at := range s.drawn {
		if at >= s.first && at < s.first+uint32(n) {
			out.Rows = append(out.Rows, at-s.first)
		}
	}
	s.first += uint32(n)
	return out, nil
}

func (s *rehearsed) NextUnits(units []int32) (samplers.Selection, error) { return s.Next(len(units)) }
func (s *rehearsed) Done() error                                         { return nil }
