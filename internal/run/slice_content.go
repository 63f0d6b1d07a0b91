package run

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
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
	about.Rows = o.Rows()
	for _, name := range columns {
		all := o.Table.Columns()
		c := all[slices.IndexFunc(all, func(c table.Column) bool { return c.Name == name })]
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

// columnSum hashes the values of one column, one after another, so that it makes no
// difference where the blocks of the file end.
type columnSum struct {
	hash *xxh3.Hasher
	buf  []byte
}

// Each value begins with what it is, and a text with its length: no two lists of values
// are written as the same bytes.
const (
	isNull = iota
	isInt
	isFloat
	isText
)

func (s *columnSum) add(v *table.Values, rows int) {
	s.buf = s.buf[:0]
	for row := range rows {
		switch {
		case v.Null(row):
			s.buf = append(s.buf, isNull)
		case v.Codes != nil:
			text := v.Dict[v.Codes[row]]
			s.buf = binary.LittleEndian.AppendUint64(append(s.buf, isText), uint64(len(text)))
			s.buf = append(s.buf, text...)
		case v.Int64 != nil:
			s.buf = binary.LittleEndian.AppendUint64(append(s.buf, isInt), uint64(v.Int64[row]))
		default:
			s.buf = binary.LittleEndian.AppendUint64(append(s.buf, isFloat), math.Float64bits(v.Float64[row]))
		}
	}
	_, _ = s.hash.Write(s.buf)
}
