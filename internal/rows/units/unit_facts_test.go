package units

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestFactsCountTheRowsOfUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	rows := people(r, 100_000, 70_000, 1, true)
	for i := range rows[:1000] {
		rows[i*100].key = "7"
	}
	_, x := numbersOf(t, r, rows, asInts, IndexSpec{Null: DropNulls, Memory: 1 << 19, Dir: t.TempDir()})
	f, err := x.Facts()
	if err != nil {
		t.Fatal(err)
	}
	counts, nulls := map[string]int64{}, int64(0)
	for _, p := range rows {
		if p.key == "" {
			nulls++
			continue
		}
		counts[p.key]++
	}
	var sizes []int64
	for _, n := range counts {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	if f.Rows != int64(len(rows)) || f.NullRows != nulls || f.Units != int64(len(sizes)) || f.Largest != sizes[len(sizes)-1] {
		t.Errorf("%+v; not %d rows without a unit, %d units, %d rows at most", f, nulls, len(sizes), sizes[len(sizes)-1])
	}
	if want := float64(int64(len(rows))-nulls) / float64(len(sizes)); f.Mean != want {
		t.Errorf("%g rows on average instead of %g", f.Mean, want)
	}
	for i, q := range f.Share {
		at := int(float64(len(sizes))*shares[i] + 1 - 1e-9)
		if q.Share != shares[i] || q.Rows != sizes[at-1] {
			t.Errorf("quantile %v, not %d", q, sizes[at-1])
		}
	}
	if len(f.Share) != len(shares) {
		t.Errorf("%d quantiles", len(f.Share))
	}
	if _, x = numbersOf(t, r, nil, asInts, IndexSpec{Null: DropNulls}); fmt.Sprint(must(x.Facts())) != fmt.Sprint(UnitFacts{counts: map[int64]int64{}}) {
		t.Error("a table without rows has facts")
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
