package table

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/guard"
)

// RowSum identifies a set of rows whatever their order: it adds up a keyed hash of each row modulo 2^256.
// docs/decisions/database.md says why two tables of different rows have different sums.
type RowSum struct {
	key     Key
	columns []Column // of each row, in the order of the batches
	order   []int    // of the columns by their names
	rows    uint64
	sum     [4]uint64
}

// NewRowSum begins a sum over rows of these columns.
func NewRowSum(key Key, columns []Column) *RowSum {
	s := &RowSum{key: key, columns: columns}
	for i := range columns {
		s.order = append(s.order, i)
	}
	slices.SortFunc(s.order, func(a, b int) int { return strings.Compare(columns[a].Name, columns[b].Name) })
	return s
}

// Add adds the rows of a batch, on all cores.
func (s *RowSum) Add(b *Batch) {
	parts := make([][4]uint64, workersOr(0))
	each := (b.Rows + len(parts) - 1) / len(parts)
	var wg guard.Group
	for i := range parts {
		wg.Run(func() {
			buf := append([]byte(nil), s.key[:]...)
			for row := i * each; row < min((i+1)*each, b.Rows); row++ {
				buf = buf[:len(s.key)]
				for _, c := range s.order {
					buf = b.Columns[c].Append(buf, row)
				}
				h := sha256.Sum256(buf)
				add(&parts[i], &h)
			}
		})
	}
	wg.Wait()
	for i := range parts {
		var h [32]byte
		for k, w := range parts[i] {
			binary.LittleEndian.PutUint64(h[8*k:], w)
		}
		add(&s.sum, &h)
	}
	s.rows += uint64(b.Rows)
}

// add adds h, the lowest byte first, modulo 2^256.
func add(sum *[4]uint64, h *[32]byte) {
	var carry uint64
	for k := range sum {
		sum[k], carry = bits.Add64(sum[k], binary.LittleEndian.Uint64(h[8*k:]), carry)
	}
}

// Fingerprint returns the digest of the rows and of their columns' descriptions. about tells kinds of digests apart.
func (s *RowSum) Fingerprint(about string) (Fingerprint, error) {
	type column struct {
		Name  string
		Kind  Kind
		Scale int
		Unit  Unit
	}
	var head []column
	for _, c := range s.order {
		k := s.columns[c]
		head = append(head, column{k.Name, k.Kind, k.Scale, k.Unit})
	}
	b, err := json.Marshal(head)
	if err != nil {
		return Fingerprint{}, fail(CodeUsage, "", "the table cannot be described")
	}
	mac := hmac.New(sha256.New, s.key[:])
	_, _ = mac.Write([]byte("dprelease rows 1\n" + about + "\n"))
	for _, w := range append([]uint64{uint64(len(b)), s.rows}, s.sum[:]...) {
		_, _ = mac.Write(binary.LittleEndian.AppendUint64(nil, w))
	}
	_, _ = mac.Write(b)
	return Fingerprint(mac.Sum(nil)), nil
}

// sumOf returns the fingerprint of some columns of a table whose rows have no order.
func (t *Table) sumOf(ctx context.Context, key Key, cols []int) (Fingerprint, error) {
	var names []string
	var columns []Column
	for _, c := range cols {
		names, columns = append(names, t.columns[c].Name), append(columns, t.columns[c])
	}
	s := NewRowSum(key, columns)
	err := t.Scan(ctx, ScanOptions{Columns: names}, func(b Batch) error {
		s.Add(&b)
		return nil
	})
	if err != nil {
		return Fingerprint{}, err
	}
	return s.Fingerprint("table")
}

// Unordered reports whether another reading of the same table may have its rows in another order. Then a number does not
// find a row again, and no digest may depend on the order.
func (t *Table) Unordered() bool { return t.unordered }

// Append writes the value of a row. It begins with the type, and a text with its length, so that no two lists of values
// become the same bytes.
func (v *Values) Append(b []byte, row int) []byte {
	const (
		isNull = iota
		isInt
		isFloat
		isText
	)
	switch {
	case v.Null(row):
		return append(b, isNull)
	case v.Codes != nil:
		text := v.Dict[v.Codes[row]]
		return append(binary.LittleEndian.AppendUint64(append(b, isText), uint64(len(text))), text...)
	case v.Int64 != nil:
		return binary.LittleEndian.AppendUint64(append(b, isInt), uint64(v.Int64[row]))
	}
	return binary.LittleEndian.AppendUint64(append(b, isFloat), math.Float64bits(v.Float64[row]))
}
