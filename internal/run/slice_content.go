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
func (o *OpenedTable) SliceContent(ctx context.Context, key table.Key, names []string) (whole table.Fingerprint, each map[string]table.Fingerprint, err error) {
	names = slices.Sorted(slices.Values(names))
	columns := make([]table.Column, len(names))
	for i, name := range names {
		columns[i], _ = o.column(name)
	}
	if o.Table.Unordered() {
		return o.sliceSum(ctx, key, names, columns)
	}
	sums := make([]columnSum, len(columns))
	for i := range sums {
		sums[i] = columnSum{hash: xxh3.New(), telling: telling{ordered: true}}
	}
	err = o.rows.Scan(ctx, table.ScanOptions{Columns: names, Content: o.Content}, func(b table.Batch) error {
		for i := range sums {
			sums[i].add(&b.Columns[i], b.Rows)
		}
		return nil
	})
	if err != nil {
		return whole, nil, err
	}
	tells := make([]*telling, len(sums))
	for i := range sums {
		tells[i] = &sums[i].telling
	}
	if whole, err = sliceMark(key, "dprelease slice 1\n", o.Rows(), columns, sums); err != nil {
		return whole, nil, err
	}
	each, err = identifying(names, tells, func(i int) (table.Fingerprint, error) {
		return sliceMark(key, "dprelease slice column 1\n", o.Rows(), columns[i:i+1], sums[i:i+1])
	})
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

// sliceSum is SliceContent for a table whose rows have no order.
func (o *OpenedTable) sliceSum(ctx context.Context, key table.Key, names []string, columns []table.Column) (whole table.Fingerprint, each map[string]table.Fingerprint, err error) {
	all := table.NewRowSum(key, columns)
	one, tells := make([]*table.RowSum, len(columns)), make([]*telling, len(columns))
	for i := range columns {
		one[i], tells[i] = table.NewRowSum(key, columns[i:i+1]), &telling{}
	}
	var buf []byte
	err = o.rows.Scan(ctx, table.ScanOptions{Columns: names}, func(b table.Batch) error {
		all.Add(&b)
		for i := range columns {
			one[i].Add(&table.Batch{Rows: b.Rows, Columns: b.Columns[i : i+1]})
			for row := 0; row < b.Rows && !tells[i].enough(); row++ {
				buf = b.Columns[i].Append(buf[:0], row)
				tells[i].see(buf)
			}
		}
		return nil
	})
	if err == nil {
		whole, err = all.Fingerprint("slice")
	}
	if err != nil {
		return whole, nil, err
	}
	each, err = identifying(names, tells, func(i int) (table.Fingerprint, error) { return one[i].Fingerprint("slice column") })
	return whole, each, err
}

// columnSum hashes the values of one column, one after another, so that it makes no
// difference where the blocks of the file end.
type columnSum struct {
	hash    *xxh3.Hasher
	telling telling
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
