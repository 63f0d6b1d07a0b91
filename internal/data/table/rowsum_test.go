package table

import (
	"fmt"
	"slices"
	"testing"
)

// multisets are all multisets of up to n of some rows.
func multisets(rows []int64, n int) [][]int64 {
	if n == 0 || len(rows) == 0 {
		return [][]int64{nil}
	}
	out := multisets(rows[1:], n)
	for _, m := range multisets(rows, n-1) {
		out = append(out, append([]int64{rows[0]}, m...))
	}
	return out
}

// batchOf has a column of numbers, of which 9 is missing, and one of texts.
func batchOf(rows []int64) Batch {
	numbers := Values{Kind: Int, Int64: slices.Clone(rows), Valid: make([]byte, len(rows)/8+1)}
	texts := Values{Kind: String, Codes: make([]int32, len(rows)), Dict: []string{"", "a", "aa"}}
	for i, v := range rows {
		if v != 9 {
			numbers.Valid[i>>3] |= 1 << (i & 7)
		}
		texts.Codes[i] = int32(v % 3)
	}
	return Batch{Rows: len(rows), Columns: []Values{numbers, texts}}
}

// TestRowSums compares the sums of all multisets of up to four of five rows, each in
// every rotation: equal for the same rows, different otherwise. The twin takes the
// exclusive or in the place of the sum, and cannot tell two equal rows from none.
func TestRowSums(t *testing.T) {
	columns := []Column{{Name: "number", Kind: Int}, {Name: "text", Kind: String}}
	sum := func(rows []int64) Fingerprint {
		s := NewRowSum(Key{7}, columns)
		half := len(rows) / 2
		for _, part := range [][]int64{rows[:half], rows[half:]} { // however the rows are cut
			b := batchOf(part)
			s.Add(&b)
		}
		return must(s.Fingerprint("table"))
	}
	xor := func(rows []int64) (f Fingerprint) {
		for _, row := range rows {
			one := sum([]int64{row})
			for k := range f {
				f[k] ^= one[k]
			}
		}
		return f
	}
	collisions := func(digest func([]int64) Fingerprint) (n int) {
		seen := map[Fingerprint]string{}
		for _, rows := range multisets([]int64{0, 1, 2, 3, 9}, 4) {
			name := fmt.Sprint(rows)
			for range max(1, len(rows)) {
				f := digest(rows)
				if other, ok := seen[f]; ok && other != name {
					n++
				}
				seen[f] = name
				if len(rows) > 0 {
					rows = append(rows[1:], rows[0])
				}
			}
		}
		if n == 0 && len(seen) != len(multisets([]int64{0, 1, 2, 3, 9}, 4)) {
			t.Error("the digest depends on the order of the rows")
		}
		return n
	}
	if n := collisions(sum); n > 0 {
		t.Errorf("%d multisets share a sum", n)
	}
	if collisions(xor) == 0 {
		t.Error("the broken twin was not caught")
	}
	other := NewRowSum(Key{8}, columns)
	b := batchOf([]int64{1})
	other.Add(&b)
	if must(other.Fingerprint("table")) == sum([]int64{1}) {
		t.Error("the sum does not depend on the key")
	}
}
