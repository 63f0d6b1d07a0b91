package run

import (
	"context"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/privacy/rational"
)

// What rows take from the other tables of a data set (P32): a fold of the rows that their own unit has there.

// join returns the table with the columns that its releases take from other tables: each is folded by the unit there.
func (r *Runner) join(ctx context.Context, s *side) (*OpenedTable, error) {
	wanted := r.Plan.Partners(s.job.Dataset.Table)
	if len(wanted) == 0 {
		return s.table, nil
	}
	with := &partnered{whole: s.table.rows, index: s.index, columns: map[string]partner{}}
	for _, t := range r.Table.parts {
		from := r.sides[t.name]
		mine := slices.DeleteFunc(slices.Clone(wanted), func(c job.Column) bool { return c.Joined.Table != t.name })
		if len(mine) == 0 {
			continue
		}
		folded, views, err := from.partners(ctx, mine)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, folded)
		for i, c := range mine {
			one := partner{folded: folded.View(views[i]), empty: math.NaN()}
			if c.Joined.By == job.FoldCount || c.Joined.By == job.FoldSum {
				one.empty = 0 // of no rows
			}
			with.columns[c.Name] = one
		}
	}
	joined := *s.table
	joined.rows = with
	return &joined, nil
}

// partners folds the rows of a table to columns of another one. It returns the view in which each column is.
//
// # Contract
//
// The value of a unit is a function of the rows that it has in this table. Proof: tables.proof.md.
func (s *side) partners(ctx context.Context, columns []job.Column) (*units.FoldedUnits, []int, error) { // P32
	var wants []job.Column
	var conditions []job.Expression
	views, from := make([]int, len(columns)), make([]int, len(columns))
	spec := units.FoldSpec{Null: units.DropNulls, Units: s.population, Memory: s.table.memory}
	for i, c := range columns {
		j := c.Joined
		f := units.Fold{Column: c.Name, By: s.foldBy(j.By), Number: true, Upper: mostWhole}
		if from[i] = -1; j.Of != "" {
			of, _ := s.job.Dataset.Column(j.Of)
			if from[i] = slices.IndexFunc(wants, func(o job.Column) bool { return o.Name == of.Name }); from[i] < 0 {
				from[i] = len(wants)
				wants = append(wants, of)
			}
			if f.Number, f.Domain = of.Type != job.Category, of.Domain; f.Number && c.Lower != nil {
				f.Lower, f.Upper = rational.Up(c.Lower), rational.Down(c.Upper)
			}
		}
		if e := j.Where; e.Said() {
			at := slices.IndexFunc(conditions, func(o job.Expression) bool { return o.Text == e.Text })
			if at < 0 {
				at = len(conditions)
				conditions = append(conditions, e)
			}
			views[i] = at + 1
		}
		f.Views = []int{views[i]}
		spec.Columns = append(spec.Columns, f)
	}
	spec.Views = 1 + len(conditions)
	in, err := newReading(s.job, s.table.lookups, wants, conditions, false)
	if err != nil {
		return nil, nil, err
	}
	folder, err := units.NewFolder(spec)
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	keys := &unitKeys{side: s}
	preparers := in.preparers(false)
	var ones []float64
	err = s.table.own().Scan(ctx, table.ScanOptions{Columns: in.sources, Content: s.table.Content}, func(b table.Batch) error {
		if err := in.read(b); err != nil {
			return err
		}
		values, err := in.unfolded(preparers, b.Rows)
		if err != nil {
			return err
		}
		for len(ones) < b.Rows {
			ones = append(ones, 1)
		}
		all := make([]table.Values, len(columns))
		for i := range columns {
			if all[i] = (table.Values{Kind: table.Float, Float64: ones[:b.Rows]}); from[i] >= 0 {
				all[i] = values[from[i]]
			}
		}
		unit, err := keys.of(b)
		if err != nil {
			return err
		}
		return folder.Add(unit, all, append([][]byte{nil}, in.masks...), b.Rows)
	})
	if err != nil {
		return nil, nil, err
	}
	done, err := folder.Finish()
	return done, views, err
}

// foldBy returns how values become one. Where a unit has one row, its category is the last one, which needs no counts.
func (s *side) foldBy(by job.FoldBy) string {
	if s.job.Dataset.OneRow && by == job.FoldMode {
		by = job.FoldMax
	}
	return string(by)
}

// own are the rows of a table without what they take from others.
func (o *OpenedTable) own() rowSource {
	if with, ok := o.rows.(*partnered); ok {
		return with.whole
	}
	return o.rows
}

// unitKeys reads the units of a table for a fold: the column of the job, or the numbers of an index of several tables.
type unitKeys struct {
	*side
	column  int // of the batch, where there is one table
	numbers []int32
}

// keys returns the units of a fold, and the columns that its scan reads.
func (s *side) keys(sources []string) (*unitKeys, []string) {
	columns := slices.Clone(sources)
	k := &unitKeys{side: s}
	if s.index == nil {
		k.column = appended(&columns, s.job.Dataset.Key.Column)
	}
	return k, columns
}

// nulls is the rule of a fold for rows without a unit: an index of several tables has applied that of the job.
func (s *side) nulls() units.NullUnits {
	if s.index != nil {
		return units.DropNulls
	}
	return units.NullUnits(s.job.Dataset.Key.Missing)
}

// of returns the units of a block.
func (k *unitKeys) of(b table.Batch) (table.Values, error) {
	if k.index == nil {
		return b.Columns[k.column], nil
	}
	if cap(k.numbers) < b.Rows {
		k.numbers = make([]int32, b.Rows)
	}
	numbers := k.numbers[:b.Rows]
	if err := k.index.Numbers(b.Block.First, numbers); err != nil {
		return table.Values{}, err
	}
	v := table.Values{Kind: table.Int, Int64: make([]int64, b.Rows), Valid: make([]byte, (b.Rows+7)/8)}
	for i, n := range numbers {
		if n >= 0 {
			v.Int64[i] = int64(n)
			v.Valid[i>>3] |= 1 << (i & 7)
		}
	}
	return v, nil
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
