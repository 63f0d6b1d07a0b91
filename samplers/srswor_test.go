package samplers

import (
	"errors"
	"math/bits"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/privacy"
)

// The three ways to draw a subset.
var ways = map[string]func(src *noise.Source, size, rows int64) Selector{"list": byList, "map": byMap, "sequential": inSequence}

// Every subset has exactly its probability: all choices are walked through.
func TestSubsetsExplored(t *testing.T) {
	for _, way := range []string{"list", "sequential"} {
		for rows := 1; rows <= 6; rows++ {
			for size := 1; size <= rows; size++ {
				if way == "list" && size > 4 {
					continue // its tree has no end, and is too wide to see enough of it
				}
				mass, rest := noisetest.Explore(1e-6, func(choose func(uint64) uint64) int64 {
					sel := ways[way](insecurenoise.NewScript(choose), int64(size), int64(rows))
					drawn, _ := collect(t, sel, rows, nil, 2)
					return mask(drawn)
				})
				subsets := combin.Binomial(rows, size)
				if len(mass) != subsets {
					t.Errorf("%s %d of %d: %d subsets of %d occur", way, size, rows, len(mass), subsets)
				}
				noisetest.CheckExplored(t, way, mass, rest, 0.3, func(m int64) float64 {
					if bits.OnesCount64(uint64(m)) != size {
						return 0
					}
					return 1 / float64(subsets)
				})
			}
		}
	}
}

// Chi-square over all subsets. The statistic of n draws in k cells is close to
// chi-square with k − 1 degrees of freedom; its quantile at 1 − 1e-9 is the limit,
// with 5 % to spare for the approximation at 500 or more expected in every cell.
func TestSubsetsChiSquare(t *testing.T) {
	src := newSource(t)
	for way, begin := range ways {
		for _, c := range [][2]int{{1, 5}, {2, 5}, {4, 5}, {3, 7}, {4, 8}} {
			size, rows := c[0], c[1]
			subsets := combin.Binomial(rows, size)
			n := 1000 * subsets
			counts := map[int64]int{}
			for range n {
				drawn, _ := collect(t, begin(src, int64(size), int64(rows)), rows, nil, rows)
				if len(drawn) != size {
					t.Fatalf("%s: %d rows drawn of %d", way, len(drawn), size)
				}
				counts[mask(drawn)]++
			}
			checkChiSquare(t, way, n, subsets, counts)
		}
	}
}

func checkChiSquare(t *testing.T, name string, n, cells int, counts map[int64]int) {
	t.Helper()
	if len(counts) > cells {
		t.Errorf("%s: %d different samples of %d possible", name, len(counts), cells)
		return
	}
	seen, probs := make([]int, cells), make([]float64, cells)
	i := 0
	for _, c := range counts {
		seen[i], i = c, i+1 // cells that never occurred stay 0
	}
	for i := range probs {
		probs[i] = 1 / float64(cells)
	}
	checkChiSquareOf(t, name, n, seen, probs)
}

func checkChiSquareOf(t *testing.T, name string, n int, counts []int, probs []float64) {
	t.Helper()
	stat := 0.0
	for i, p := range probs {
		expected := p * float64(n)
		if expected < 500 {
			t.Fatalf("%s: only %.0f expected in a cell: too few for chi-square", name, expected)
		}
		stat += (float64(counts[i]) - expected) * (float64(counts[i]) - expected) / expected
	}
	limit := 1.05 * distuv.ChiSquared{K: float64(len(probs) - 1)}.Quantile(1-noisetest.FalseAlarm)
	if stat > limit {
		t.Errorf("%s: chi-square %.1f > %.1f over %d cells", name, stat, limit, len(probs))
	}
}

func TestSRSWORFit(t *testing.T) {
	src := newSource(t)
	for _, c := range [][2]int{{2, 150}, {75, 150}, {140, 150}, {2, 600}} {
		d := must[*SRSWOR](t)(NewSRSWOR(int64(c[0]), int64(c[1])))
		n, rows := float64(c[0]), float64(c[1])
		checkInclusions(t, "srswor", 20_000, c[1], n/rows, n*(n-1)/rows/(rows-1), func() []int {
			s := draw(t, d, src, c[1], 40)
			if len(s) != c[0] {
				t.Fatalf("%d rows drawn of %d", len(s), c[0])
			}
			return s
		})
	}
}

// Large draws have their size exactly, and spread evenly over the table.
func TestSRSWORLarge(t *testing.T) {
	src := newSource(t)
	for _, c := range []struct{ size, rows int }{{10_000, 2_000_000}, {1_000_000, 2_000_000}, {1_999_999, 2_000_000}, {7_812, 2_000_000}, {7_813, 2_000_000}} {
		d := must[*SRSWOR](t)(NewSRSWOR(int64(c.size), int64(c.rows)))
		got := draw(t, d, src, c.rows, 300_000)
		if len(got) != c.size {
			t.Fatalf("%d rows drawn of %d", len(got), c.size)
		}
		// The number in each tenth is hypergeometric: Chernoff's bound holds for
		// it (Hoeffding 1963, theorem 4).
		counts, probs := make([]int, 10), make([]float64, 10)
		for _, r := range got {
			counts[r/(c.rows/10)]++
		}
		for i := range probs {
			probs[i] = 0.1
		}
		noisetest.CheckCells(t, "tenths", c.size, counts, probs)
	}
}

func TestListSubsetTape(t *testing.T) {
	// Rows 8, words with the row in the top three bits: 5, 5, 2, then one more
	// for the value that was missing: 5 again, then 7.
	var tape []byte
	for _, r := range []byte{5, 5, 2, 5, 7} {
		tape = append(tape, 0, 0, 0, 0, 0, 0, 0, r<<5)
	}
	src := insecurenoise.NewTape(tape)
	if got := listSubset(src, 3, 8); !slices.Equal(got, []int64{2, 5, 7}) || src.Err() != nil {
		t.Errorf("got %v, %v", got, src.Err())
	}
}

func TestSRSWOREventAndRelations(t *testing.T) {
	inner := privacy.Pure{Eps: 1}
	d := must[*SRSWOR](t)(NewSRSWOR(3, 12))
	if e := d.Event(inner); e != (privacy.WithoutReplacement{Take: 3, Of: 12, Event: inner}) {
		t.Errorf("event %v", e)
	}
	if f := d.Facts(); f.Rate != 0.25 || f.SampleSize != 3 || f.Population != 12 || f.MaxWeight != 4 || f.MinWeight != 4 || f.LargestCount != 3 {
		t.Errorf("facts %+v", f)
	}
	if d.Supports(privacy.ReplaceOne) != nil || d.Supports(privacy.AddRemove) == nil || d.Supports(0) == nil {
		t.Error("the relations of a public size are wrong")
	}
	least := must[*SRSWOR](t)(NewSRSWORAtLeast(3, 10))
	if e := least.Event(inner); e != (privacy.WithoutReplacement{Take: 3, Of: 10, Event: inner}) {
		t.Errorf("event %v", e)
	}
	if least.Supports(privacy.AddRemove) != nil || least.Supports(privacy.ReplaceOne) == nil {
		t.Error("the relations of a secret size are wrong")
	}
	if f := least.Facts(); f.Rate != 0 || f.MaxWeight != 0 || f.Population != 0 || f.SampleSize != 3 {
		t.Errorf("facts of a secret size: %+v", f)
	}
	src := newSource(t)
	if got := draw(t, least, src, 12, 5); len(got) != 3 {
		t.Errorf("%d rows drawn", len(got))
	}
	if _, err := begin(least, src, 9); !errors.Is(err, &Error{TooFewRows}) {
		t.Errorf("a table below the promise: %v", err)
	}
	if _, err := begin(least, src, -1); !errors.Is(err, &Error{Misuse}) {
		t.Errorf("an unknown number of rows: %v", err)
	}
	for _, c := range [][2]int64{{0, 5}, {-1, 5}, {6, 5}, {1, 0}} {
		if _, err := NewSRSWOR(c[0], c[1]); err == nil {
			t.Errorf("%d of %d is accepted", c[0], c[1])
		}
		if _, err := NewSRSWORAtLeast(c[0], c[1]); err == nil {
			t.Errorf("%d of at least %d is accepted", c[0], c[1])
		}
	}
}

func BenchmarkSRSWOR20M(b *testing.B) {
	src := newSource(b)
	for name, size := range map[string]int64{"10000": 10_000, "200000": 200_000, "4M": 4_000_000} {
		d := must[*SRSWOR](b)(NewSRSWOR(size, 20_000_000))
		b.Run(name, func(b *testing.B) { benchmarkDraw(b, d, src, 20_000_000) })
	}
}
