package units

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// What fits in memory and what does not are folded alike, and the folder of what does not fit stays empty.
func TestSpillingChangesNothing(t *testing.T) {
	for seed := range tier.Of[uint64](2, 6) {
		r := rand.New(rand.NewPCG(seed, 2))
		shape := keyShape(seed) % keyShapes
		null := []NullUnits{DropNulls, OwnNulls}[seed%2]
		rows := people(r, 1+r.IntN(6000), 1+r.IntN(3000), 2, seed%4 > 0)
		spec := FoldSpec{Columns: testFolds(), Views: 2}
		whole := foldAll(t, r, rows, shape, null, spec)
		for _, memory := range []int64{1, 1 << 18, 2 << 20} {
			spec.Memory, spec.Dir = memory, t.TempDir()
			small := foldAll(t, r, rows, shape, null, spec)
			left, err := os.ReadDir(spec.Dir)
			if err != nil || len(left) > 0 {
				t.Fatalf("%d files have names: %v", len(left), err)
			}
			for view := range spec.Views {
				a, b := fmt.Sprint(folded(t, whole, view, spec.Columns)), fmt.Sprint(folded(t, small, view, spec.Columns))
				if a != b {
					t.Fatalf("seed %d, memory %d, view %d: folded differently", seed, memory, view)
				}
			}
		}
	}
}

func numbersOf(t testing.TB, r *rand.Rand, rows []person, shape keyShape, spec IndexSpec) ([]int32, *Index) {
	t.Helper()
	x, err := NewIndex(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	for left := rows; len(left) > 0; {
		n := min(len(left), 1+r.IntN(1000))
		unit, _, _ := columnsOf(left[:n], shape, nil, 1)
		if err := x.Add(unit, n); err != nil {
			t.Fatal(err)
		}
		left = left[n:]
	}
	if err := x.Finish(); err != nil {
		t.Fatal(err)
	}
	all := make([]int32, len(rows))
	if err := x.Numbers(0, all); err != nil {
		t.Fatal(err)
	}
	if x.Rows() != int64(len(rows)) {
		t.Fatalf("%d rows instead of %d", x.Rows(), len(rows))
	}
	return all, x
}

func plainNumbers(rows []person, null NullUnits) (all []int32, units int64) {
	known := map[string]int32{}
	for i, p := range rows {
		if p.key == "" {
			if null == DropNulls {
				all = append(all, -1)
				continue
			}
			p.key = fmt.Sprint("row ", i)
		}
		n, ok := known[p.key]
		if !ok {
			n = int32(len(known))
			known[p.key] = n
		}
		all = append(all, n)
	}
	return all, int64(len(known))
}

func TestUnitsAreNumberedByTheirFirstRows(t *testing.T) {
	for seed := range tier.Of[uint64](3, 8) {
		r := rand.New(rand.NewPCG(seed, 3))
		null := []NullUnits{DropNulls, OwnNulls}[seed%2]
		n := 1 + r.IntN(6000)
		if seed%3 == 2 {
			n = 3*chunkRows + r.IntN(chunkRows) // several pages of numbers
		}
		rows := people(r, n, 1+r.IntN(n), 1, seed%4 > 0)
		want, units := plainNumbers(rows, null)
		for _, memory := range []int64{0, 1, 1 << 18, 1 << 20} {
			spec := IndexSpec{Null: null, Memory: memory, Dir: t.TempDir()}
			got, x := numbersOf(t, r, rows, keyShape(seed)%keyShapes, spec)
			if x.Units() != units {
				t.Fatalf("seed %d, memory %d: %d units instead of %d", seed, memory, x.Units(), units)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("seed %d, memory %d: row %d belongs to unit %d instead of %d", seed, memory, i, got[i], want[i])
				}
			}
			if memory == 1 && (x.late == nil || n > chunkRows && x.late.disk == nil) || memory == 0 && x.late != nil {
				t.Fatalf("seed %d: memory %d has the wrong path", seed, memory)
			}
		}
	}
}
