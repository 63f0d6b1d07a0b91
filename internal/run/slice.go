package run

import (
	"context"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/ledger"
)

// rowSource is the source of the rows of draws: the table, a slice of it, or its units.
type rowSource interface {
	Rows() int64
	Scan(ctx context.Context, o table.ScanOptions, visit func(table.Batch) error) error
}

// someRows are rows of a table: Has reports whether a row is one, and Before counts those before a row.
type someRows interface {
	Has(row int64) bool
	Before(row int64) int64
}

// sliced is a part of a table: the slice that a job means (P26), or the rows of one machine. To draws and mechanisms it is the
// table: its rows are counted from 0.
type sliced struct {
	whole rowSource
	set   someRows
	rows  int64
}

// slice leaves of a table the rows of the slice that the job means.
func (o *OpenedTable) slice(ctx context.Context, s *job.Slice) error {
	found, err := o.sliced(ctx, s.Column, []string{s.Is})
	o.rows = found[0]
	return err
}

// sliced finds the rows of some slices, of the whole table. Their column is public, so it may be read before the debit.
func (o *OpenedTable) sliced(ctx context.Context, column string, values []string) ([]*sliced, error) {
	out, sets := make([]*sliced, len(values)), make([]*units.RowSet, len(values))
	for i := range sets {
		sets[i] = units.NewRowSet(o.Table.Rows())
	}
	drop := job.Handling{Rule: job.Drop}
	p := NewPreparer(job.Column{Name: column, Type: job.Category, Domain: values, Missing: drop, Outside: drop})
	whole := OpenedTable{rows: o.Table, Content: o.Content}
	err := whole.Read(ctx, []string{column}, func(b table.Batch) error {
		ready, err := p.Prepare(b.Columns[0], b.Rows)
		if err != nil {
			return err
		}
		for row, code := range ready.Codes {
			if code >= 0 {
				sets[code].Add(b.Block.First + int64(row))
			}
		}
		return nil
	})
	for i, set := range sets {
		out[i] = subset(o.Table, set)
	}
	return out, err
}

// subset leaves of a table the rows of a set, after the last one is added.
func subset(whole rowSource, set *units.RowSet) *sliced {
	return &sliced{whole: whole, set: set, rows: set.Count()}
}

// sliceKinds are the kinds of slices by the kind of their column.
var sliceKinds = map[table.Kind]ledger.SliceKind{
	table.String: ledger.TextSlices, table.Int: ledger.NumberSlices, table.Float: ledger.NumberSlices, table.Decimal: ledger.NumberSlices,
	table.Bool: ledger.BoolSlices, table.Date: ledger.DateSlices, table.Timestamp: ledger.DateSlices, table.Time: ledger.TimeSlices,
}

// SliceKind returns the kind of the values in the column of the slices, and how a CSV file writes them, "" where the job has
// none.
func (o *OpenedTable) SliceKind(j *job.Job) ledger.SliceKind {
	if j.Dataset.Slice == nil {
		return ""
	}
	c, _ := o.Table.Column(j.Dataset.Slice.Column)
	return sliceKinds[c.Kind] + ledger.SliceKind(asWritten(c, &j.Dataset.Source))
}

// Rows is the number of rows of the slice.
func (s *sliced) Rows() int64 { return s.rows }

// Scan visits the rows of the slice as the table would visit its own.
func (s *sliced) Scan(ctx context.Context, o table.ScanOptions, visit func(table.Batch) error) error {
	pick, passed := o.Pick, o.Progress
	o.Pick = func(b table.Block) (table.Pick, error) {
		mine, all := s.block(b)
		if mine.Rows == 0 {
			return table.Pick{}, nil
		}
		some := table.Pick{All: true}
		if pick != nil {
			var err error
			if some, err = pick(mine); err != nil {
				return some, err
			}
		}
		switch {
		case some.All && all:
			return table.Pick{All: true}, nil
		case !some.All && len(some.Rows) == 0:
			return table.Pick{}, nil
		}
		return table.Pick{Rows: s.places(b, some)}, nil
	}
	if passed != nil {
		o.Progress = func(rows int64) { passed(s.set.Before(rows)) }
	}
	return s.whole.Scan(ctx, o, func(b table.Batch) error {
		first := b.Block
		b.Block, _ = s.block(first)
		if !b.Picked.All {
			for i, r := range b.Picked.Rows { // the scan's own memory
				b.Picked.Rows[i] = uint32(s.set.Before(first.First+int64(r)) - b.Block.First)
			}
		}
		return visit(b)
	})
}

// block is a block of the table with the rows of the slice alone; all says that it has no
// others.
func (s *sliced) block(b table.Block) (mine table.Block, all bool) {
	mine = b
	mine.First = s.set.Before(b.First)
	mine.Rows = int(s.set.Before(b.First+int64(b.Rows)) - mine.First)
	return mine, mine.Rows == b.Rows
}

// places are the rows of a block of the table that were picked among those of the slice.
func (s *sliced) places(b table.Block, some table.Pick) []uint32 {
	out := make([]uint32, 0, b.Rows)
	at, next := uint32(0), 0
	for row := range b.Rows {
		if !s.set.Has(b.First + int64(row)) {
			continue
		}
		if some.All {
			out = append(out, uint32(row))
		} else if next < len(some.Rows) && some.Rows[next] == at {
			out = append(out, uint32(row))
			next++
		}
		at++
	}
	return out
}

// Narrowed returns the table with some of its rows alone, which are counted from 0. Its content is noted apart.
func (o *OpenedTable) Narrowed(set someRows, rows int64) *OpenedTable {
	one := *o
	one.rows, one.Content = &sliced{whole: o.rows, set: set, rows: rows}, o.Content.Fresh()
	return &one
}

// Holding returns the table with rows from elsewhere in the place of its own. Their content is not noted.
func (o *OpenedTable) Holding(rows rowSource) *OpenedTable {
	one := *o
	one.rows, one.Content = rows, nil
	return &one
}
