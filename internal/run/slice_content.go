package run

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/dprelease/dprelease/internal/table"
)

// SliceContent identifies the values that some columns have in the rows of the job's slice,
// in their order, under a key (see [table.Content]). A table to which other slices were
// added, in the same files or in new ones, has the same slice: what was released of it is
// found again, and is no revision.
func (o *OpenedTable) SliceContent(ctx context.Context, key table.Key, columns []string) (table.Fingerprint, error) {
	type column struct {
		Name  string
		Kind  table.Kind
		Scale int
		Unit  table.Unit
	}
	var about struct {
		Rows    int64
		Columns []column
	}
	columns = slices.Sorted(slices.Values(columns))
	if o.Table.Unordered() {
		return o.sliceSum(ctx, key, columns)
	}
	about.Rows = o.Rows()
	for _, name := range columns {
		c, _ := o.column(name)
		about.Columns = append(about.Columns, column{c.Name, c.Kind, c.Scale, c.Unit})
	}
	head, err := json.Marshal(about)
	if err != nil {
		return table.Fingerprint{}, err
	}
	sums := make([]columnSum, len(columns))
	for i := range sums {
		sums[i].hash = xxh3.New()
	}
	err = o.rows.Scan(ctx, table.ScanOptions{Columns: columns, Content: o.Content}, func(b table.Batch) error {
		for i := range sums {
			sums[i].add(&b.Columns[i], b.Rows)
		}
		return nil
	})
	if err != nil {
		return table.Fingerprint{}, err
	}
	mac := hmac.New(sha256.New, key[:])
	_, _ = mac.Write([]byte("dprelease slice 1\n"))
	_, _ = mac.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(head))))
	_, _ = mac.Write(head)
	for i := range sums {
		sum := sums[i].hash.Sum128().Bytes()
		_, _ = mac.Write(sum[:])
	}
	return table.Fingerprint(mac.Sum(nil)), nil
}

// sliceSum is the content of a slice of a table whose rows have no order.
func (o *OpenedTable) sliceSum(ctx context.Context, key table.Key, names []string) (table.Fingerprint, error) {
	var columns []table.Column
	for _, name := range names {
		c, _ := o.column(name)
		columns = append(columns, c)
	}
	s := table.NewRowSum(key, columns)
	err := o.rows.Scan(ctx, table.ScanOptions{Columns: names}, func(b table.Batch) error {
		s.Add(&b)
		return nil
	})
	if err != nil {
		return table.Fingerprint{}, err
	}
	return s.Fingerprint("slice")
}

// columnSum hashes the values of one column, one after another, so that it makes no
// difference where the blocks of the file end.
type columnSum struct {
	hash *xxh3.Hasher
	buf  []byte
}

func (s *columnSum) add(v *table.Values, rows int) {
	s.buf = s.buf[:0]
	for row := range rows {
		s.buf = v.Append(s.buf, row)
	}
	_, _ = s.hash.Write(s.buf)
}
