package run

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/rows/units"
)

// tallied are the counts of a tally.
func tallied(t *testing.T, c *tally) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	if err := c.to.Counts(func(key string, n int64) error { out[key] += n; return nil }); err != nil {
		t.Fatal(err)
	}
	c.to.Close()
	return out
}

// Random tables, masks and samples, in blocks: each row counts once, and where units have
// several rows each unit counts once for a key.
func TestTally(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 25))
	for round := range 200 {
		rows := 1 + r.IntN(300)
		text := round%2 == 0
		unit, key, valid, masked, drawn := make([]int64, rows), make([]int, rows), make([]bool, rows), make([]bool, rows), make([]bool, rows)
		for i := range rows {
			unit[i], key[i] = int64(r.IntN(20)), r.IntN(8)
			valid[i], masked[i], drawn[i] = r.IntN(5) > 0, r.IntN(4) > 0, r.IntN(3) > 0
		}
		name := func(k int) string {
			if text {
				return []string{"a", "b", "a,b", "", "\n", "c", "d", "e"}[k]
			}
			return fmt.Sprint(k - 3)
		}
		values := func(at []int) table.Values {
			v := table.Values{Kind: table.Int, Valid: make([]byte, (len(at)+7)/8)}
			if text {
				v.Kind, v.Dict = table.String, []string{"unused", "a", "b", "a,b", "", "\n", "c", "d", "e"}
			}
			for i, row := range at {
				if valid[row] {
					v.Valid[i>>3] |= 1 << (i & 7)
				}
				switch {
				case text && valid[row]:
					v.Codes = append(v.Codes, int32(key[row]+1))
				case text:
					v.Codes = append(v.Codes, 0)
				default:
					v.Int64 = append(v.Int64, int64(key[row]-3))
				}
			}
			return v
		}
		all := make([]int, rows)
		for i := range all {
			all[i] = i
		}
		owner, err := units.NewIndex(units.IndexSpec{Null: units.RefuseNulls})
		if err != nil {
			t.Fatal(err)
		}
		number, err := units.NewIndex(units.IndexSpec{Null: units.DropNulls})
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.Add(table.Values{Kind: table.Int, Int64: unit}, rows); err != nil {
			t.Fatal(err)
		}
		if err := number.Add(values(all), rows); err != nil {
			t.Fatal(err)
		}
		if owner.Finish() != nil || number.Finish() != nil {
			t.Fatal("not finished")
		}
		plain := &tally{to: units.NewCounter(0, "")}
		source, err := noise.NewSource()
		if err != nil {
			t.Fatal(err)
		}
		capped := &tally{to: units.NewCounter(0, "")}
		once, err := newPairs(owner, number, source)
		if err != nil {
			t.Fatal(err)
		}
		var again []func(one *sink) error // the second scan of units with several rows
		want, distinct, seen := map[string]int64{}, map[string]int64{}, map[string]bool{}
		for first := 0; first < rows; first += 64 {
			n := min(64, rows-first)
			b := block{first: int64(first), picked: table.Pick{All: round%3 == 0}}
			var at []int
			for i := range n {
				if drawn[first+i] || b.picked.All {
					at = append(at, first+i)
					b.picked.Rows = append(b.picked.Rows, uint32(i))
				}
			}
			if b.rows = len(at); b.picked.All {
				b.picked.Rows = nil
			}
			var mask []byte
			if round%5 > 0 {
				mask = make([]byte, (len(at)+7)/8)
			}
			for i, row := range at {
				in := mask == nil || masked[row]
				if mask != nil && in {
					mask[i>>3] |= 1 << (i & 7)
				}
				if !in || !valid[row] {
					continue
				}
				want[name(key[row])]++
				if pair := fmt.Sprint(unit[row], name(key[row])); !seen[pair] {
					seen[pair] = true
					distinct[name(key[row])]++
				}
			}
			v := values(at)
			if err := errors.Join(plain.add(b, &v, mask), once.add(b, mask)); err != nil {
				t.Fatal(err)
			}
			again = append(again, func(one *sink) error { return capped.add(b, &v, one.mask(b)) })
		}
		kept, err := once.Finish()
		for _, add := range again {
			err = errors.Join(err, add(&sink{cap: kept}))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := tallied(t, plain); !maps.Equal(got, want) {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
		if got := tallied(t, capped); !maps.Equal(got, distinct) {
			t.Errorf("round %d, units: %v, want %v", round, got, distinct)
		}
	}
}
