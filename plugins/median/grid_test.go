package median

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// spread lists the score of every point.
func spread(pieces []sdk.Piece) []int64 {
	var out []int64
	for _, p := range pieces {
		for range p.Hi - p.Lo + 1 {
			out = append(out, p.Score)
		}
	}
	return out
}

func TestPiecesScoreTheRank(t *testing.T) {
	median := rank{1, 2, .5}
	for name, c := range map[string]struct {
		r      rank
		counts []int64
		want   []int64
	}{
		"nothing":     {median, []int64{0, 0, 0}, []int64{0, 0, 0}},
		"one":         {median, []int64{0, 1, 0}, []int64{1, 0, 1}},
		"two":         {median, []int64{1, 0, 1}, []int64{0, 0, 0}},
		"odd":         {median, []int64{1, 1, 1}, []int64{1, 0, 1}},
		"ties":        {median, []int64{0, 10, 0}, []int64{10, 0, 10}},
		"lower tenth": {rank{1, 10, .1}, []int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []int64{0, 0, 10, 20, 30, 40, 50, 60, 70, 80}},
	} {
		got := spread(c.r.pieces(c.counts))
		for j := range c.want {
			if len(got) != len(c.want) || got[j] != c.want[j] {
				t.Errorf("%s: scores %v, want %v", name, got, c.want)
				break
			}
		}
	}
}

// With equal weights the value in place ⌈pn⌉ has score 0, ranks as decimals.
func TestPlaceHasScoreZero(t *testing.T) {
	for _, r := range []rank{{1, 2, .5}, {1, 10, .1}, {9, 10, .9}, {1, 3, 1. / 3}, {9999, 10000, .9999}, {1, 10000, .0001}} {
		for n := 1; n < 200; n++ {
			counts := make([]int64, n)
			for i := range counts {
				counts[i] = 1
			}
			m := r.place(n)
			if want := (int64(n)*r.num + r.den - 1) / r.den; int64(m) != want {
				t.Fatalf("p=%v n=%d: place %d, want %d", r.value, n, m, want)
			}
			if got := spread(r.pieces(counts))[m-1]; got != 0 {
				t.Fatalf("p=%v n=%d: the value in place %d scores %d", r.value, n, m, got)
			}
		}
	}
	if got := (rank{9999, 10000, .9999}).place(math.MaxInt); got < math.MaxInt/10000*9999 {
		t.Errorf("the place of the largest table overflows: %d", got)
	}
}

type record struct{ value, weight float64 }

func (g grid) countAll(records []record) []int64 {
	counts := make([]int64, g.points)
	for _, r := range records {
		if !math.IsNaN(r.value) { // missing
			counts[g.nearest(r.value)] += g.weigh(r.weight)
		}
	}
	return counts
}

// No score moves by more than the sensitivity between neighbours, whatever values
// and weights two records have, and some neighbours attain it.
func TestScoreSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	column := sdk.Column{Lower: -3, Upper: 7}
	attained := map[bool]float64{}
	for range 20000 {
		weight := []float64{1, 1, 2.5, 40}[rng.IntN(4)]
		g := newGrid(column, 5, weight)
		random := func() record {
			r := record{column.Lower + 10*rng.Float64(), 1 + (weight-1)*rng.Float64()}
			switch rng.IntN(6) {
			case 0:
				r.value = math.NaN()
			case 1:
				r.value = column.Upper
			case 2:
				r.value = column.Lower
			}
			if rng.IntN(2) == 0 {
				r.weight = weight
			}
			return r
		}
		records := make([]record, 1+rng.IntN(8))
		for i := range records {
			records[i] = random()
		}
		r := []rank{{1, 2, .5}, {1, 10, .1}, {3, 4, .75}}[rng.IntN(3)]
		replace := rng.IntN(2) == 0
		under := []privacy.Relation{privacy.AddRemove}
		other := append([]record(nil), records[1:]...)
		if replace {
			under = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
			other = append(other, random())
		}
		a, b := spread(r.pieces(g.countAll(records))), spread(r.pieces(g.countAll(other)))
		for j := range a {
			moved, most := math.Abs(float64(a[j]-b[j])), float64(g.sensitivity(r, under))
			if moved > most {
				t.Fatalf("p=%v replace=%v: a score moves by %v, more than %v", r.value, replace, moved, most)
			}
			attained[replace] = math.Max(attained[replace], moved/most)
		}
	}
	if attained[true] < 1 || attained[false] < 1 {
		t.Errorf("the sensitivity is not attained: %v", attained)
	}
}

func TestRateIsWithinEpsilon(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		epsilon, s := 5*rng.Float64(), 1+rng.Int64N(1<<26)
		r := new(big.Rat).SetFloat64(sdk.SelectRate(epsilon, s))
		if r.Mul(r, big.NewRat(2*s, 1)).Cmp(new(big.Rat).SetFloat64(epsilon)) > 0 || sdk.SelectRate(epsilon, s) < epsilon/float64(2*s)*(1-1e-15) {
			t.Fatalf("ε=%v Δ=%d: rate %v", epsilon, s, sdk.SelectRate(epsilon, s))
		}
	}
}

func TestGridIsPublicAndCoversTheBounds(t *testing.T) {
	g := newGrid(sdk.Column{Lower: 100, Upper: 4000}, 3901, 1)
	for _, y := range []float64{100, 101, 2000, 3999, 4000} {
		if got := g.value(g.nearest(y)); got != y {
			t.Errorf("%v becomes %v", y, got)
		}
	}
	if g.nearest(100.4) != 0 || g.nearest(100.6) != 1 || g.value(0) != 100 || g.value(3900) != 4000 {
		t.Error("values are not rounded to the nearest point")
	}
}
