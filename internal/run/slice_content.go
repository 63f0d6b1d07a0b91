package run

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/dprelease/dprelease/internal/data/table"
)

// SliceContent identifies the values that some columns have in the rows of the job's slice,
// in their order, under a key (see [table.Content]). A table to which other slices were
// added, in the same files or in new ones, has the same slice: what was released of it is
// found again, and is no revision.
//
// each identifies the columns one by one, to find the same rows in another slice (P26). It leaves out a column that holds
// one value, and is empty where all columns together could agree by chance (see telling).
func (o *OpenedTable) SliceContent(ctx context.Context, key table.Key,
	names []string) (whole table.Fingerprint, each map[string]table.Fingerprint, err error) {
	sum := o.newSliceSum(key, names)
	if err = o.Read(ctx, sum.names, sum.add); err != nil {
		return whole, nil, err
	}
	return sum.done(o.Rows())
}

// sliceSum identifies a slice while somebody scans it.
type sliceSum struct {
	key     table.Key
	names   []string // sorted
	columns []table.Column
	tells   []*telling
	ordered []columnSum // of each column; nil for a table whose rows have no order
	all     *table.RowSum
	one     []*table.RowSum
	buf     []byte
}

// newSliceSum begins to identify a slice by some columns.
func (o *OpenedTable) newSliceSum(key table.Key, names []string) *sliceSum {
	s := &sliceSum{key: key, names: slices.Sorted(slices.Values(names))}
	for _, name := range s.names {
		c, _ := o.Table.Column(name)
		s.columns = append(s.columns, c)
		s.tells = append(s.tells, &telling{ordered: !o.Table.Unordered()})
	}
	if !o.Table.Unordered() {
		s.ordered = make([]columnSum, len(s.columns))
		for i := range s.ordered {
			s.ordered[i] = columnSum{hash: xxh3.New(), telling: s.tells[i]}
		}
		return s
	}
	s.all = table.NewRowSum(key, s.columns)
	for i := range s.columns {
		s.one = append(s.one, table.NewRowSum(key, s.columns[i:i+1]))
	}
	return s
}

// add takes the next rows of the slice, with its columns.
func (s *sliceSum) add(b table.Batch) error {
	for i := range s.ordered {
		s.ordered[i].add(&b.Columns[i], b.Rows)
	}
	if s.ordered != nil {
		return nil
	}
	s.all.Add(&b)
	for i := range s.columns {
		s.one[i].Add(&table.Batch{Rows: b.Rows, Columns: b.Columns[i : i+1]})
		for row := 0; row < b.Rows && !s.tells[i].enough(); row++ {
			s.buf = b.Columns[i].Append(s.buf[:0], row)
			s.tells[i].see(s.buf)
		}
	}
	return nil
}

// done returns what SliceContent returns, after the last of so many rows.
func (s *sliceSum) done(rows int64) (whole table.Fingerprint, each map[string]table.Fingerprint, err error) {
	one := func(i int) (table.Fingerprint, error) { return s.one[i].Fingerprint("slice column") }
	if s.ordered != nil {
		whole, err = sliceMark(s.key, "dprelease slice 1\n", rows, s.columns, s.ordered)
		one = func(i int) (table.Fingerprint, error) {
			return sliceMark(s.key, "dprelease slice column 1\n", rows, s.columns[i:i+1], s.ordered[i:i+1])
		}
	} else {
		whole, err = s.all.Fingerprint("slice")
	}
	if err != nil {
		return whole, nil, err
	}
	each, err = identifying(s.names, s.tells, one)
	return whole, each, err
}

// sliceMark returns the digest of some columns of a slice, under a key.
func sliceMark(key table.Key, about string, rows int64, columns []table.Column, sums []columnSum) (table.Fingerprint, error) {
	type column struct {
		Name  string
		Kind  table.Kind
		Scale int
		Unit  table.Unit
	}
	described := struct {
		Rows    int64
		Columns []column
	}{Rows: rows}
	for _, c := range columns {
		described.Columns = append(described.Columns, column{c.Name, c.Kind, c.Scale, c.Unit})
	}
	head, err := json.Marshal(described)
	if err != nil {
		return table.Fingerprint{}, err
	}
	mac := hmac.New(sha256.New, key[:])
	_, _ = mac.Write([]byte(about))
	_, _ = mac.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(head))))
	_, _ = mac.Write(head)
	for i := range sums {
		sum := sums[i].hash.Sum128().Bytes()
		_, _ = mac.Write(sum[:])
	}
	return table.Fingerprint(mac.Sum(nil)), nil
}

// columnSum hashes the values of one column, one after another, so that it makes no
// difference where the blocks of the file end.
type columnSum struct {
	hash    *xxh3.Hasher
	telling *telling
	buf     []byte
}

func (s *columnSum) add(v *table.Values, rows int) {
	s.buf = s.buf[:0]
	for row := range rows {
		from := len(s.buf)
		s.buf = v.Append(s.buf, row)
		if !s.telling.enough() {
			s.telling.see(s.buf[from:])
		}
	}
	_, _ = s.hash.Write(s.buf)
}
