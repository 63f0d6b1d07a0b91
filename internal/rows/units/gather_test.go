package units

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
)

// Gather gives each row the value of its own unit, in memory and from the disk.
func TestGather(t *testing.T) {
	const units = 3 * blockUnits
	for memory, rows := range map[int64]int{1 << 28: 20_000, 1 << 20: 20_000, 1<<20 + 1: 300} { // of the disk blocks, or single values
		f, err := NewFolder(FoldSpec{Units: units, Rows: units, Views: 1, Memory: memory, Columns: []Fold{
			{Column: "x", By: FoldMax, Number: true, Upper: units}, {Column: "g", By: FoldMode, Domain: []string{"a", "b", "c"}}}})
		if err != nil {
			t.Fatal(err)
		}
		unit := make([]int32, units)
		x := table.Values{Float64: make([]float64, units), Valid: make([]byte, units/8)}
		g := table.Values{Codes: make([]int32, units), Dict: []string{"a", "b", "c"}, Valid: x.Valid}
		for i := range unit {
			unit[i], x.Float64[i], g.Codes[i] = int32(i), float64(i), int32(i%3)
			if i%5 > 0 {
				x.Valid[i>>3] |= 1 << (i & 7)
			}
		}
		if err := f.Add(unit, []table.Values{x, g}, [][]byte{nil}); err != nil {
			t.Fatal(err)
		}
		all, err := f.Finish()
		if err != nil {
			t.Fatal(err)
		}
		defer all.Close()
		if onDisk := all.disk != nil; onDisk != (memory < 1<<28) {
			t.Fatalf("with %d bytes of memory on the disk: %t", memory, onDisk)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		wanted := make([]int32, rows)
		for i := range wanted {
			wanted[i] = int32(rng.IntN(units)/blockUnits*blockUnits + rng.IntN(64)) // some of each block
			if i%7 == 0 {
				wanted[i] = -1
			}
		}
		for _, empty := range []float64{math.NaN(), 0} {
			var ofX, ofG Gathered
			xs, err := all.View(0).Gather("x", wanted, empty, &ofX)
			if err != nil {
				t.Fatal(err)
			}
			gs, err := all.View(0).Gather("g", wanted, math.NaN(), &ofG)
			if err != nil {
				t.Fatal(err)
			}
			for i, u := range wanted {
				there := u >= 0 && u%5 > 0
				switch {
				case there && (xs.Null(i) || xs.Float64[i] != float64(u) || gs.Null(i) || gs.Codes[i] != u%3):
					t.Fatalf("row %d of unit %d has %v and %v", i, u, xs.Float64[i], gs.Codes[i])
				case !there && !gs.Null(i), u >= 0 && !there && xs.Null(i) != (empty != empty), u < 0 && !xs.Null(i):
					t.Fatalf("row %d of unit %d, which has no value, has one or none", i, u)
				}
			}
		}
	}
}
