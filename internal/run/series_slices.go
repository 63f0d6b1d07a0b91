package run

import (
	"context"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/units"
)

// Slices are the first periods of a table, as the steps of a series add them up.
type Slices struct {
	plan    *planned.Plan
	views   []*OpenedTable
	counted []*units.RowSet // the rows of each slice that count, nil for all
	failed  error           // why nobody knows which rows count
}

// Slices finds the rows of some periods, and in which of them each unit counts.
func (t *OpenedTable) Slices(ctx context.Context, p *planned.Plan, periods []string) (*Slices, error) {
	found, err := t.sliced(ctx, p.Job.Dataset.Slice.Column, periods)
	if err != nil {
		return nil, err
	}
	s := &Slices{plan: p, counted: make([]*units.RowSet, len(found))}
	for _, rows := range found {
		one := *t
		one.rows = rows
		s.views = append(s.views, &one)
	}
	if p.Job.CapsPeriods() {
		s.failed = s.capPeriods(ctx)
	}
	return s, ctx.Err()
}

// View returns the table with the rows of one period alone, whether or not they count.
func (s *Slices) View(period int) *OpenedTable { return s.views[period] }

// Reads lists the periods that a step compares with what they held: those that it adds up, or all so far where units
// count in their first periods.
func (s *Slices) Reads(step int) (out []int) {
	if !s.plan.Job.CapsPeriods() {
		return Adds(s.plan, step)
	}
	for i := range step + 1 {
		out = append(out, i)
	}
	return out
}

// capPeriods finds the rows of each slice that count: those of units in their first periods, as many and as far apart as
// the job says.
//
// # Contract
//
// Whether the rows of a unit count in a period depends on the periods so far in which that unit has rows, and on nothing
// else: not on later periods, on other units or on chance. All rows of a unit in a period count, or none. A row without
// a unit counts: its rule is that of dataset.unit.missing. Proof: cap.proof.md. // P31
func (s *Slices) capPeriods(ctx context.Context) error {
	d, of := &s.plan.Job.Dataset, s.plan.Job.PeriodsOfUnit()
	index, err := numbered(s.views[0].memory, units.OwnNulls, func(index *units.Index) error {
		for _, v := range s.views {
			if err := v.addKeys(ctx, index, d.Key.Column, units.NullUnits(d.Key.Missing)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer index.Close()
	in := make([]counted, index.Units())
	at, numbers := int64(0), make([]int32, unitBlock)
	for period, v := range s.views {
		set, left := units.NewRowSet(v.rows.Rows()), false
		for first := int64(0); first < v.rows.Rows(); first += unitBlock {
			block := numbers[:min(unitBlock, v.rows.Rows()-first)]
			if err := index.Numbers(at+first, block); err != nil {
				return err
			}
			for i, unit := range block {
				if unit >= 0 && !in[unit].counts(period, of) {
					left = true
					continue
				}
				set.Add(first + int64(i))
			}
		}
		at += v.rows.Rows()
		if left {
			set.Count()
			s.counted[period] = set
		}
	}
	return nil
}

// counted says in how many periods a unit has counted so far, and in which one last.
type counted struct{ times, last int16 }

// counts reports whether the unit counts in a period in which it has rows, and notes it.
func (c *counted) counts(period int, of job.PeriodsOfUnit) bool {
	switch {
	case c.times > 0 && int(c.last) == period:
		return true
	case int64(c.times) >= of.AtMost || c.times > 0 && int64(period)-int64(c.last) < of.Apart:
		return false
	}
	c.times, c.last = c.times+1, int16(period)
	return true
}

// counting returns a slice with the rows that count alone.
func (s *Slices) counting(period int) *OpenedTable {
	one := *s.views[period]
	if set := s.counted[period]; set != nil {
		one.rows = subset(one.rows, set)
	}
	return &one
}

// Columns are the columns by which a slice is known again.
func (s *Slices) Columns() []string {
	if names := s.plan.Known(); len(names) > 0 {
		return slices.Clone(names)
	}
	return s.views[0].Table.Usable()
}
