package units

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
)

// Units fold alike in memory, and range by range from the disk. Each of them has its row, in the order of the numbers, also those
// without any.
func TestNumberedUnitsFoldAlike(t *testing.T) {
	const units, rows = 3*blockUnits/2 + 7, 60_000
	rng := rand.New(rand.NewPCG(3, 4))
	unit := make([]int32, rows)
	x := table.Values{Float64: make([]float64, rows), Valid: make([]byte, rows/8)}
	g := table.Values{Codes: make([]int32, rows), Dict: []string{"a", "b", "c"}}
	mask := make([]byte, rows/8)
	sums, passed := make([]float64, units), make([]float64, units)
	for i := range rows {
		u, v := rng.IntN(units/2)*2, float64(rng.IntN(9)-2)
		unit[i], x.Float64[i], g.Codes[i] = int32(u), v, rng.Int32N(3)
		if i%11 == 0 {
			unit[i] = -1
			continue
		}
		if i%7 > 0 {
			x.Valid[i>>3] |= 1 << (i & 7)
			sums[u] += v
		}
		if i%3 > 0 {
			mask[i>>3] |= 1 << (i & 7)
			passed[u]++
		}
	}
	var first [][]string
	for _, way := range []struct {
		memory     int64
		late, mode bool
	}{{1 << 28, false, false}, {1 << 28, false, true}, {1 << 20, true, true}, {1 << 22, true, false}} {
		columns := []Fold{{Column: "x", By: FoldSum, Number: true, Lower: -2, Upper: 6, Views: []int{0}},
			{Column: "g", By: FoldMax, Domain: g.Dict, Views: []int{0}}, {Column: "n", By: FoldCount, Number: true, Upper: 9, Views: []int{1}}}
		values := []table.Values{x, g, {Float64: make([]float64, rows)}}
		if way.mode {
			columns, values = append(columns, Fold{Column: "m", By: FoldMode, Domain: g.Dict}), append(values, g)
		}
		f, err := NewFolder(FoldSpec{Units: units, Rows: rows, Views: 2, Memory: way.memory, Columns: columns})
		if err != nil {
			t.Fatal(err)
		}
		if (f.late != nil) != way.late {
			t.Fatalf("with %d bytes of memory, rows are put aside: %t", way.memory, f.late != nil)
		}
		if err := f.Add(unit, values, [][]byte{nil, mask}); err != nil {
			t.Fatal(err)
		}
		all, err := f.Finish()
		if err != nil {
			t.Fatal(err)
		}
		defer all.Close()
		if all.Units() != units || way.memory < 1<<28 && all.disk == nil {
			t.Fatalf("%d units, on the disk: %t", all.Units(), all.disk != nil)
		}
		got := make([][]string, 2)
		for v, names := range [][]string{{"x", "g"}, {"n"}} {
			at := 0
			err := all.View(v).Scan(context.Background(), table.ScanOptions{Columns: names}, func(b table.Batch) error {
				for i := range b.Rows {
					text := ""
					for _, c := range b.Columns {
						switch {
						case c.Null(i):
							text += " none"
						case c.Codes != nil:
							text += " " + c.Dict[c.Codes[i]]
						default:
							text += fmt.Sprint(" ", c.Float64[i])
						}
					}
					if v == 0 && b.Columns[0].Float64[i] != sums[at] || v == 1 && b.Columns[0].Float64[i] != passed[at] {
						t.Fatalf("unit %d has%s, not %v and %v", at, text, sums[at], passed[at])
					}
					got[v] = append(got[v], text)
					at++
				}
				return nil
			})
			if err != nil || at != units {
				t.Fatal(at, err)
			}
		}
		if first == nil {
			first = got
		}
		for v := range got {
			if !slices.Equal(got[v], first[v]) {
				t.Fatalf("view %d differs with %d bytes of memory", v, way.memory)
			}
		}
	}
}
