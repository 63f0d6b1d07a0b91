package run

import (
	"context"
	"sync"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/samplers"
)

// Summer has a mechanism add up rows without noise, and returns a vector for each of its noise calls. A release that is
// alone shares its process with no other.
type Summer func(ctx context.Context, rel *planned.Release, alone bool,
	feed func(context.Context, host.RowWriter) error) ([][]int64, error)

// Begins begins a draw of units. In a design with a frame strata holds the unit of the frame of each of them.
type Begins func(d *planned.Draw, units int64, strata []int32) (samplers.Selector, error)

func begins(d *planned.Draw, units int64, _ []int32) (samplers.Selector, error) {
	return samplers.Begin(d.Design, units)
}

// Tally holds the sums and counts of some rows. All of it is private.
type Tally struct {
	Failure *failure.Failure           // why there is nothing else
	Vectors map[string][][][]int64     // by release: for each time that its mechanism is run, for each noise call
	Units   int64                      // the number of units
	Strata  map[string]map[int32]int64 // by draw, of each unit of its frame, how many rows there are
	Marks   []table.Mark               // what was read
}

// remotePart collects the sums that a runner makes for another machine, or of one slice of a series.
type remotePart struct {
	sum   Summer
	mu    sync.Mutex
	tally Tally
}

// add runs the mechanism of a release on the rows of this machine, and keeps what its noise calls add up.
func (p *remotePart) add(ctx context.Context, rel *planned.Release, alone bool,
	feed func(context.Context, host.RowWriter) error) error {
	vectors, err := p.sum(ctx, rel, alone, feed)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.Vectors[rel.Job.Name] = append(p.tally.Vectors[rel.Job.Name], vectors)
	return nil
}

// adding begins to add up the rows of a table without noise.
func adding(p *planned.Plan, t *OpenedTable, sum Summer) *Runner {
	r := New(p, t, nil, Options{Observe: func(Progress) {}})
	r.part = &remotePart{tally: Tally{Vectors: map[string][][][]int64{}}, sum: sum}
	return r
}

// AddUp carries a plan out on some rows without noise: it bounds units, draws and adds up as a run does. choices choose
// the rows that count of each unit; begin begins the draws, nil as a run does. A panic is ErrCrashed.
func AddUp(ctx context.Context, p *planned.Plan, t *OpenedTable, sum Summer, begin Begins, choices *noise.Source) (*Tally, error) {
	r := adding(p, t, sum)
	if begin != nil {
		r.begins = begin
	}
	err := p.Held()
	if err == nil {
		err = guarded(func() error { return r.drawAll(ctx, choices) })
	}
	r.part.tally.Units = r.population
	return &r.part.tally, err
}

// CountUp counts the units of some rows, and the rows in each unit of the frames from which fixed numbers are drawn.
func CountUp(ctx context.Context, p *planned.Plan, t *OpenedTable, choices *noise.Source) (*Tally, error) {
	r := adding(p, t, nil)
	defer r.closeUnits()
	out := &Tally{Strata: map[string]map[int32]int64{}}
	if err := r.settleUnits(ctx, choices); err != nil {
		return nil, err
	}
	for _, d := range p.Draws {
		if !samplers.FixedUnits(d.Design) {
			continue
		}
		units, err := r.strata(ctx, d)
		if err != nil {
			return nil, err
		}
		out.Strata[d.Name] = samplers.CountUnits(units)
	}
	out.Units = r.population
	return out, nil
}
