package run

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/units"
)

// What is equal in several tables (P32): one index numbers the keys of all.

// keyKinds are the kinds of columns that tables are joined by.
var keyKinds = map[table.Kind]bool{table.String: true, table.Int: true, table.Float: true}

// KeyForm returns the form in which the keys of a table's units are compared, and how a CSV file writes them, "" for a table
// without a column of the unit. The same key in two forms is two units.
func (o *OpenedTable) KeyForm(j *job.Job) string {
	c, ok := o.Table.Column(j.Dataset.Key.Column)
	form := c.Kind.String()
	switch {
	case !ok:
		return ""
	case c.Kind == table.String:
		form = "texts"
	case keyKinds[c.Kind]:
		form = "whole numbers"
	}
	return form + asWritten(c, &j.Dataset.Source)
}

// asWritten lists what the job says of the way in which a CSV file writes the values of a column: the same bytes that are read
// in two ways are two values.
func asWritten(c table.Column, s *job.Source) (text string) {
	ways := []string{"decimal", s.Decimal, "thousands", s.Thousands, "dates", s.Dates}
	if c.Kind == table.String {
		ways = []string{"encoding", s.Encoding}
	}
	for i := 0; c.Text && i < len(ways); i += 2 {
		if ways[i+1] != "" {
			text += ", " + ways[i] + ": " + ways[i+1]
		}
	}
	return text
}

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

// tableNumbers are the numbers of the units of all tables, which each table has a part of.
type tableNumbers struct {
	index *units.Index
	whole []*units.Index // of each table
	parts []*units.Index // of each table, with the units of the population alone
	files []*units.Index // beside index
}

func (t *tableNumbers) Close() error {
	err := t.index.Close()
	for _, x := range t.files {
		err = errors.Join(err, x.Close())
	}
	return err
}

// numberTables numbers the units of all tables. The units of the population come first, and without a population those of
// all tables count.
//
// # Contract
//
// Two rows of any tables have the same number exactly if their keys are equal. A row without a key has no number, or one
// that no other row of any table has (missing: own). A row that names a member has the number of the member's one row, or
// none. Where a table defines the population, a row of another unit has no number in any table. Proof: tables.proof.md.
func (o *OpenedTable) numberTables(ctx context.Context, j *job.Job) (_ *tableNumbers, n int64, err error) { // P32
	all, err := o.number(ctx, j)
	if err != nil {
		return nil, 0, err
	}
	n = all.index.Units()
	for i, t := range o.Parts() {
		if d := &j.Dataset; t.name == d.Population && len(all.whole) > 1 {
			if n, err = largest(all.whole[i]); err != nil {
				all.Close()
				return nil, 0, err
			}
		}
	}
	for _, whole := range all.whole {
		all.parts = append(all.parts, whole.Below(n))
	}
	return all, n, nil
}

// numbered numbers the units of the rows that add adds.
func numbered(memory int64, nulls units.NullUnits, add func(*units.Index) error) (*units.Index, error) {
	index, err := units.NewIndex(units.IndexSpec{Null: nulls, Memory: memory})
	if err != nil {
		return nil, err
	}
	if err = add(index); err == nil {
		err = index.Finish()
	}
	if err != nil {
		index.Close()
		return nil, err
	}
	return index, nil
}

// number numbers the units of all tables, of the population or not.
func (o *OpenedTable) number(ctx context.Context, j *job.Job) (_ *tableNumbers, err error) {
	nulls := make([]int64, len(o.Parts()))
	index, err := numbered(o.memory, units.OwnNulls, func(index *units.Index) error {
		for i, t := range o.Parts() {
			key, before := j.Of(t.name).Dataset.Key, index.NullRows()
			if key.Member != "" {
				continue
			}
			if err := t.addKeys(ctx, index, key.Column, units.NullUnits(key.Missing)); err != nil {
				return err
			}
			nulls[i] = index.NullRows() - before
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := &tableNumbers{index: index, whole: make([]*units.Index, len(o.Parts()))}
	defer func() {
		if err != nil {
			all.Close()
		}
	}()
	at := int64(0)
	for i, t := range o.Parts() {
		if j.Of(t.name).Dataset.Key.Member == "" {
			all.whole[i] = index.Part(at, t.Rows(), nulls[i])
			at += t.Rows()
		}
	}
	for i, t := range o.Parts() {
		key := j.Of(t.name).Dataset.Key
		if key.Member == "" {
			continue
		}
		mapped, err := o.throughMembers(ctx, t, key, all)
		if err != nil {
			return nil, err
		}
		all.files = append(all.files, mapped)
		all.whole[i] = mapped.Part(0, t.Rows(), 0)
	}
	return all, nil
}

// addKeys adds the rows of a table to an index. What several tables share is compared as keyOf says, and what one table has as
// it stands.
func (o *OpenedTable) addKeys(ctx context.Context, index *units.Index, column string, nulls units.NullUnits) error {
	return o.Read(ctx, []string{column}, func(b table.Batch) error {
		key := b.Columns[0]
		if o.shares {
			key = keyOf(key, b.Rows)
		}
		return index.AddTable(nulls, key, b.Rows)
	})
}

// throughMembers numbers the rows of a table that name members: each has the unit of the row in which the member stands.
//
// # Contract
//
// A member stands in one row of its table, or there is an error. A row that names no member of that table has no number.
// Proof: tables.proof.md.
func (o *OpenedTable) throughMembers(ctx context.Context, t *OpenedTable, key job.Unit, all *tableNumbers) (*units.Index, error) { // P32
	at := slices.IndexFunc(o.parts, func(p *OpenedTable) bool { return p.name == key.Members.Table })
	from := o.parts[at]
	names, err := numbered(o.memory, units.OwnNulls, func(names *units.Index) error {
		if err := from.addKeys(ctx, names, key.Members.Column, units.DropNulls); err != nil {
			return err
		}
		return t.addKeys(ctx, names, key.Member, units.DropNulls)
	})
	if err != nil {
		return nil, err
	}
	defer names.Close()
	const nowhere = -2
	unitOf := make([]int32, names.Units()) // by the number of the member
	for i := range unitOf {
		unitOf[i] = nowhere
	}
	whose := all.whole[at]
	member, unit := make([]int32, someNumbers), make([]int32, someNumbers)
	for first := int64(0); first < from.Rows(); first += someNumbers {
		n := min(someNumbers, from.Rows()-first)
		if err := cmp.Or(names.Numbers(first, member[:n]), whose.Numbers(first, unit[:n])); err != nil {
			return nil, err
		}
		for i, m := range member[:n] {
			if m < 0 {
				continue
			}
			if unitOf[m] != nowhere {
				return nil, ErrMember
			}
			unitOf[m] = unit[i]
		}
	}
	named := names.Part(from.Rows(), t.Rows(), 0)
	return all.index.Mapped(t.Rows(), func(first int64, dst []int32) error {
		err := named.Numbers(first, dst)
		for i, m := range dst {
			if m >= 0 {
				dst[i] = unitOf[m]
			}
			if dst[i] == nowhere || m < 0 {
				dst[i] = -1
				if key.Missing == job.NoUnitRefuse && err == nil {
					err = units.ErrNullKey
				}
			}
		}
		return err
	})
}

// someNumbers is the count of numbers that are read at once.
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
func repeats(x *units.Index, population int64) (n int64, err error) {
	seen := units.NewRowSet(population)
	err = eachNumber(x, func(unit int32) {
		switch {
		case unit < 0:
		case seen.Has(int64(unit)):
			n++
		default:
			seen.Add(int64(unit))
		}
	})
	return n, err
}
