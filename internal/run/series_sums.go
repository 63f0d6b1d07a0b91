package run

import (
	"context"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/planned"
)

// SliceSums are the sums of one slice of a series, as one scan found them. All of it is private.
type SliceSums struct {
	Whole   table.Fingerprint            // identifies the rows that were added up
	Each    map[string]table.Fingerprint // identifies their columns, as OpenedTable.SliceContent does
	Failed  error                        // why there are no sums, nil where there are
	vectors map[string][][][]int64       // by release: for each time that its mechanism is run, for each noise call
}

// Sum has the mechanisms add up one slice, without noise, and identifies the slice. Where add is false it is identified
// alone.
//
// # Contract
//
// The digest is that of the rows that were added up, and of those of units that count in other periods. What is wrong
// with a row, or with a mechanism, is Failed and no error: the caller tells it where it may. An error is one of the
// table, or that ctx ended. Proof: series.proof.md. // P33
func (s *Slices) Sum(ctx context.Context, set *Mechanisms, period int, add bool, key table.Key) (*SliceSums, error) {
	return s.sum(ctx, set.sums, period, add, key)
}

func (s *Slices) sum(ctx context.Context, sum Summer, period int, add bool, key table.Key) (*SliceSums, error) {
	t, names := s.views[period], s.Columns()
	read := &identified{rowSource: t.rows, slice: t.newSliceSum(key, names)}
	out := &SliceSums{Failed: s.failed}
	if add && s.failed == nil {
		one := s.counting(period)
		if s.counted[period] == nil {
			one.rows = read
		}
		out.vectors, out.Failed = sliceSums(ctx, s.plan, one, sum)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var err error
	if read.seen {
		out.Whole, out.Each, err = read.slice.done(t.Rows())
	} else {
		out.Whole, out.Each, err = t.SliceContent(ctx, key, names)
	}
	return out, err
}

// sliceSums has the mechanisms add up the rows of one slice.
func sliceSums(ctx context.Context, p *planned.Plan, t *OpenedTable, sum Summer) (map[string][][][]int64, error) {
	unused, err := noise.NewSource()
	if err != nil {
		return nil, errNoRandomness
	}
	tally, err := AddUp(ctx, p, t, sum, nil, unused)
	return tally.Vectors, err
}

// identified identifies a slice while it is read for something else.
type identified struct {
	rowSource
	slice *sliceSum
	tried bool // a scan began to identify it
	seen  bool // and went through all rows
}

// Scan scans the rows. The first scan that visits all of them, and reads one of their columns, identifies them.
func (s *identified) Scan(ctx context.Context, o table.ScanOptions, visit func(table.Batch) error) error {
	columns := append([]string(nil), o.Columns...)
	at := make([]int, len(s.slice.names))
	for i, name := range s.slice.names {
		at[i] = appended(&columns, name)
	}
	asked, more := len(o.Columns), len(columns)-len(o.Columns)
	sum := !s.tried && o.Pick == nil && more < len(at)
	if next := visit; sum {
		s.tried, o.Columns = true, columns
		own := make([]table.Values, len(at))
		visit = func(b table.Batch) error {
			for i, c := range at {
				own[i] = b.Columns[c]
			}
			if err := s.slice.add(table.Batch{Block: b.Block, Picked: b.Picked, Rows: b.Rows, Columns: own}); err != nil {
				return err
			}
			b.Columns = b.Columns[:asked]
			return next(b) // which may change the values
		}
	}
	err := s.rowSource.Scan(ctx, o, visit)
	s.seen = s.seen || sum && err == nil
	return err
}
