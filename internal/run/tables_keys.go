package run

import (
	"context"
	"math"
	"math/bits"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/rows/units"
)

// What is equal in several tables (P32): one index numbers the keys of all.

// keyKinds are the kinds of columns that tables are joined by.
var keyKinds = map[table.Kind]bool{table.String: true, table.Int: true, table.Float: true}

// mostWhole is the first whole number that a float64 does not tell from all others.
const mostWhole = 1 << 53

// keyOf returns a column of keys in the form in which all tables are compared: texts as they are, byte by byte, and whole
// numbers. A number that is not whole, or that a float64 does not tell from its neighbours, is a missing key.
func keyOf(v table.Values, rows int) table.Values {
	if v.Codes != nil || v.Float64 == nil && !v.Unsigned {
		return v
	}
	out := table.Values{Kind: table.Int, Int64: make([]int64, rows), Valid: make([]byte, (rows+7)/8)}
	for i := range rows {
		whole := !v.Null(i)
		if v.Unsigned {
			whole, out.Int64[i] = whole && v.Int64[i] >= 0, v.Int64[i]
		} else if x := v.Float64[i]; x == math.Trunc(x) && math.Abs(x) < mostWhole {
			out.Int64[i] = int64(x)
		} else {
			whole = false
		}
		if whole {
			out.Valid[i>>3] |= 1 << (i & 7)
		}
	}
	return out
}

// numberTables numbers the units of all tables. The units of the population come first, and without a population those of
// all tables count. Each table has its part of the index.
//
// # Contract
//
// Two rows of any tables have the same number exactly if their keys are equal. A row without a key has no number, or one
// that no other row of any table has (missing: own). Where a table defines the population, a row of another unit has no
// number in any table. Proof: tables.proof.md.
func (o *OpenedTable) numberTables(ctx context.Context, j *job.Job) (_ *units.Index, parts map[string]*units.Index, n int64, err error) { // P32
	index, err := units.NewIndex(units.IndexSpec{Null: units.OwnNulls, Memory: o.memory})
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() {
		if err != nil {
			index.Close()
		}
	}()
	for _, t := range o.parts {
		key := j.Of(t.name).Dataset.Key
		err = t.rows.Scan(ctx, table.ScanOptions{Columns: []string{key.Column}, Content: t.Content}, func(b table.Batch) error {
			return index.AddTable(units.NullUnits(key.Missing), keyOf(b.Columns[0], b.Rows), b.Rows)
		})
		if err != nil {
			return nil, nil, 0, err
		}
	}
	if err = index.Finish(); err != nil {
		return nil, nil, 0, err
	}
	n = index.Units()
	if d := &j.Dataset; d.Population != "" {
		first := index.Part(0, o.parts[0].Rows(), n)
		if n, err = largest(first); err != nil {
			return nil, nil, 0, err
		}
	}
	parts, at := map[string]*units.Index{}, int64(0)
	for _, t := range o.parts {
		parts[t.name] = index.Part(at, t.Rows(), n)
		at += t.Rows()
	}
	return index, parts, n, nil
}

// KeysOf counts for each table the units that have no row in each of the others. It is for a look at the tables (P19), so no
// rule for rows without a unit ends it.
func KeysOf(ctx context.Context, p *plan.Planned) (map[string]map[string]int64, error) {
	o, err := openTables(ctx, p, 0)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if err := o.Load(ctx); err != nil {
		return nil, err
	}
	index, err := units.NewIndex(units.IndexSpec{Null: units.OwnNulls, Memory: o.memory})
	if err != nil {
		return nil, err
	}
	defer index.Close()
	for _, t := range o.parts {
		key := p.Job.Of(t.name).Dataset.Key
		err = t.rows.Scan(ctx, table.ScanOptions{Columns: []string{key.Column}, Content: t.Content}, func(b table.Batch) error {
			return index.AddTable(units.DropNulls, keyOf(b.Columns[0], b.Rows), b.Rows)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := index.Finish(); err != nil {
		return nil, err
	}
	has, at := make([]*rowSet, len(o.parts)), int64(0)
	for i, t := range o.parts {
		has[i] = newRowSet(index.Units())
		err := eachNumber(index.Part(at, t.Rows(), index.Units()), func(unit int32) {
			if unit >= 0 {
				has[i].add(int64(unit))
			}
		})
		if err != nil {
			return nil, err
		}
		at += t.Rows()
	}
	out := map[string]map[string]int64{}
	for i, t := range o.parts {
		out[t.name] = map[string]int64{}
		for k, other := range o.parts {
			if k == i {
				continue
			}
			n := int64(0)
			for w := range has[i].words {
				n += int64(bits.OnesCount64(has[i].words[w] &^ has[k].words[w]))
			}
			out[t.name][other.name] = n
		}
	}
	return out, nil
}

// someNumbers is how many numbers are read at once.
const someNumbers = 1 << 16

// eachNumber visits the numbers of all rows.
func eachNumber(x *units.Index, visit func(n int32)) error {
	numbers := make([]int32, min(someNumbers, x.Rows()))
	for first := int64(0); first < x.Rows(); first += someNumbers {
		some := numbers[:min(someNumbers, x.Rows()-first)]
		if err := x.Numbers(first, some); err != nil {
			return err
		}
		for _, n := range some {
			visit(n)
		}
	}
	return nil
}

// largest returns how many units the rows have, which are numbered from 0.
func largest(x *units.Index) (n int64, err error) {
	err = eachNumber(x, func(unit int32) { n = max(n, int64(unit)+1) })
	return n, err
}

// repeats counts the rows of units that have an earlier row.
func repeats(x *units.Index, units int64) (n int64, err error) {
	seen := newRowSet(units)
	err = eachNumber(x, func(unit int32) {
		switch {
		case unit < 0:
		case seen.has(int64(unit)):
			n++
		default:
			seen.add(int64(unit))
		}
	})
	return n, err
}
