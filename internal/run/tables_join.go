package run

import (
	"context"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/units"
)

// What rows take from the other tables of a data set (P32): a fold of the rows that their own unit has there.

// join returns the table with the columns that its releases take from other tables: each is folded by the unit there.
func (r *Runner) join(ctx context.Context, v *tableView) (*OpenedTable, error) {
	wanted := r.Plan.Partners(v.job.Dataset.Table)
	if len(wanted) == 0 {
		return v.table, nil
	}
	with := &partnered{whole: v.table.rows, index: v.index, columns: map[string]partner{}}
	for _, from := range r.views {
		mine := slices.DeleteFunc(slices.Clone(wanted), func(c job.Column) bool { return c.Joined.Table != from.job.Dataset.Table })
		if len(mine) == 0 {
			continue
		}
		folded, views, err := from.partners(ctx, mine)
		if err != nil {
			return nil, err
		}
		v.files = append(v.files, folded)
		for i, c := range mine {
			one := partner{folded: folded.View(views[i]), empty: math.NaN()}
			if c.Joined.By == job.FoldCount || c.Joined.By == job.FoldSum {
				one.empty = 0 // of no rows
			}
			with.columns[c.Name] = one
		}
	}
	joined := *v.table
	joined.rows = with
	return &joined, nil
}

// partners folds the rows of a table, without what they take from others, to columns of another one. It returns the view in
// which each column is.
func (v *tableView) partners(ctx context.Context, columns []job.Column) (*units.FoldedUnits, []int, error) {
	f, views := &folding{}, make([]int, len(columns))
	for i, c := range columns {
		j, of := c.Joined, (*job.Column)(nil)
		if j.Of != "" {
			own, _ := v.job.Dataset.Column(j.Of)
			of = &own
		}
		views[i] = f.view(j.Where)
		f.add(units.Fold{Column: c.Name, By: v.foldBy(j.By), Views: []int{views[i]}}, of, &c)
	}
	from := v.table.rows
	if with, ok := from.(*partnered); ok {
		from = with.whole
	}
	done, err := v.folded(ctx, from, f)
	return done, views, err
}

// partnered are the rows of a table with columns of other tables.
type partnered struct {
	whole   rowSource
	index   *units.Index
	columns map[string]partner
}

// partner is a column of another table, folded by the unit.
type partner struct {
	folded *units.Folded
	empty  float64 // the value of a unit without a row there, NaN where it is missing
}

// Rows is the number of rows of the table itself.
func (p *partnered) Rows() int64 { return p.whole.Rows() }

// Scan adds to each block the values that its rows take from other tables.
func (p *partnered) Scan(ctx context.Context, o table.ScanOptions, visit func(table.Batch) error) error {
	all := o.Columns
	o.Columns = nil
	for _, name := range all {
		if _, taken := p.columns[name]; !taken {
			o.Columns = append(o.Columns, name)
		}
	}
	room := make([]units.Gathered, len(all))
	var numbers []int32
	return p.whole.Scan(ctx, o, func(b table.Batch) error {
		var err error
		if numbers, err = numbersOf(p.index, b, numbers); err != nil {
			return err
		}
		columns := make([]table.Values, len(all))
		for i, own := 0, 0; i < len(all); i++ {
			if from, taken := p.columns[all[i]]; taken {
				if columns[i], err = from.folded.Gather(all[i], numbers, from.empty, &room[i]); err != nil {
					return err
				}
				continue
			}
			columns[i] = b.Columns[own]
			own++
		}
		b.Columns = columns
		return visit(b)
	})
}

// numbersOf reads the numbers of the units of the rows that were picked of a block.
func numbersOf(x *units.Index, b table.Batch, room []int32) ([]int32, error) {
	if cap(room) < b.Block.Rows {
		room = make([]int32, b.Block.Rows)
	}
	block := room[:b.Block.Rows]
	if err := x.Numbers(b.Block.First, block); err != nil {
		return nil, err
	}
	if b.Picked.All {
		return block, nil
	}
	for i, row := range b.Picked.Rows { // ascending, so nothing is written before it is read
		block[i] = block[row]
	}
	return block[:b.Rows], nil
}
