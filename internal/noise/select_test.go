package noise

import (
	"errors"
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// weights returns the probability of each piece, summed stably.
func weights(pieces []Piece, rate float64) []float64 {
	best := pieces[0].Score
	for _, p := range pieces {
		best = min(best, p.Score)
	}
	probs, sum := make([]float64, len(pieces)), 0.0
	for i, p := range pieces {
		probs[i] = (float64(uint64(p.Hi)-uint64(p.Lo)) + 1) * math.Exp(-rate*float64(uint64(p.Score)-uint64(best)))
		sum += probs[i]
	}
	for i := range probs {
		probs[i] /= sum
	}
	return probs
}

func pieceOf(pieces []Piece, x int64) int {
	for i, p := range pieces {
		if p.Lo <= x && x <= p.Hi {
			return i
		}
	}
	return -1
}

func TestSelectFit(t *testing.T) {
	n := tier.Of(2_000, 20_000)
	s := newSourceT(t)
	for name, c := range map[string]struct {
		pieces []Piece
		rate   float64
	}{
		"points":   {[]Piece{{-2, -2, 3, 0}, {-1, -1, 1, 0}, {0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 2, 0}}, 0.7},
		"one":      {[]Piece{{5, 5, 9, 0}}, 1},
		"narrow":   {[]Piece{{0, 1<<40 - 1, 30, 0}, {1 << 40, 1 << 40, 0, 0}, {1<<40 + 1, 1 << 41, 28, 0}}, 1},
		"far":      {[]Piece{{0, 1<<61 - 1, 43, 0}, {1 << 61, 1<<61 + 3, -1, 0}, {1<<61 + 4, 1 << 62, 47, 0}}, 1},
		"slow":     {[]Piece{{0, 9, 1 << 40, 0}, {10, 39, 0, 0}, {40, 49, -1 << 40, 0}}, 0x1p-40},
		"extremes": {[]Piece{{0, 9, math.MaxInt64, 0}, {10, 39, 0, 0}, {40, 49, math.MinInt64, 0}}, 0x1p-63},
		"tiny":     {[]Piece{{0, 9, math.MaxInt64, 0}, {10, 39, 0, 0}, {40, 49, math.MinInt64, 0}}, 0x1p-1070},
		"steep":    {[]Piece{{0, 1 << 60, 1, 0}, {1<<60 + 1, 1<<60 + 2, 0, 0}}, 1e300},
	} {
		counts := make([]int, len(c.pieces))
		for range n {
			x, err := Select(s, c.pieces, c.rate)
			if err != nil {
				t.Fatal(err)
			}
			counts[pieceOf(c.pieces, x)]++
		}
		probs := weights(c.pieces, c.rate)
		for i, p := range probs {
			if p == 0 && counts[i] > 0 || p == 1 && counts[i] < n {
				t.Errorf("%s: piece %d drawn %d times at probability %g", name, i, counts[i], p)
			}
			if p > 0 && p < 1 {
				noisetest.CheckCells(t, name, n, counts[i:i+1], probs[i:i+1])
			}
		}
	}
}

// Inside a piece every point is as likely as another.
func TestSelectIsUniformInsideAPiece(t *testing.T) {
	const n = 40_000
	s := newSourceT(t)
	pieces := []Piece{{-4, -1, 2, 0}, {0, 7, 1, 0}}
	counts, probs := make([]int, 12), make([]float64, 12)
	w := weights(pieces, 0.5)
	for i := range probs {
		probs[i] = w[0] / 4
		if i >= 4 {
			probs[i] = w[1] / 8
		}
	}
	for range n {
		x, err := Select(s, pieces, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		counts[x+4]++
	}
	noisetest.CheckCells(t, "points", n, counts, probs)
}

// TestSelectSlopes: points of sloped pieces have the law of as many pieces of one point.
func TestSelectSlopes(t *testing.T) {
	n := tier.Of(2_000, 20_000)
	s := newSourceT(t)
	for name, c := range map[string]struct {
		pieces []Piece
		rate   float64
	}{
		"valley": {[]Piece{{-6, -1, 17, -3}, {0, 0, 0, 0}, {1, 6, 2, 2}}, 0.2},
		"steep":  {[]Piece{{0, 9, 1000, -100}, {10, 12, 3, 0}}, 0.03},
		"flat":   {[]Piece{{0, 4, math.MinInt64, 1}, {5, 9, math.MinInt64 + 9, -2}}, 0x1p-3},
		"twin":   {[]Piece{{0, 19, -40, 7}}, 0.01},
	} {
		counts, probs, sum := map[int64]int{}, map[int64]float64{}, 0.0
		best := int64(math.MaxInt64)
		for _, p := range c.pieces {
			best = min(best, p.Score, p.at(p.Hi))
		}
		for _, p := range c.pieces {
			for x := p.Lo; x <= p.Hi; x++ {
				probs[x] = math.Exp(-c.rate * float64(uint64(p.at(x))-uint64(best)))
				sum += probs[x]
			}
		}
		for range n {
			x, err := Select(s, c.pieces, c.rate)
			if err != nil {
				t.Fatal(err)
			}
			counts[x]++
		}
		for x, p := range probs {
			noisetest.CheckCells(t, name, n, []int{counts[x]}, []float64{p / sum})
		}
	}
}

// TestSelectLongSlope: the runs of a long slope end where the level changes, and their
// points are all of the piece.
func TestSelectLongSlope(t *testing.T) {
	l, err := newLevels([]Piece{{-1 << 40, 1<<40 - 1, -1 << 50, 1 << 10}}, 0x1p-40)
	if err != nil {
		t.Fatal(err)
	}
	next, level := int64(-1<<40), 0
	for _, r := range l.runs {
		if r.Lo != next || r.level != level || l.level(r.at(r.Hi)) != level {
			t.Fatalf("run %+v, want one of level %d from %d", r, level, next)
		}
		next, level = r.Hi+1, level+1
	}
	if next != 1<<40 || level != lastLevel+1 {
		t.Errorf("the runs end at %d on level %d", next, level)
	}
}

func TestSelectTape(t *testing.T) {
	// Scores 0 and 1 at rate 1, one point each: levels 0 and 1 with envelopes
	// 2^128 and ceil(2^128/e); their sum needs 129 bits: three words, of which the
	// first 63 bits drop out at the shift. All zero proposes level 0; its ratio
	// is 1 and its rest is 0: both coins are sure or over at once.
	pieces := []Piece{{3, 3, 0, 0}, {4, 4, 1, 0}}
	s := words(0, 0, 0, choice(0, 1), ^uint64(0), 0)
	if x, err := Select(s, pieces, 1); x != 3 || err != nil {
		t.Errorf("got %d, %v", x, err)
	}
	// A proposal of 2^128 exactly is the first of level 1: point 4. The
	// envelope's coin (1 − 2^-126 or so) is taken by 0, the rest is 0.
	s = words(1<<63, 0, 0, choice(0, 1), 0, 0)
	if x, err := Select(s, pieces, 1); x != 4 || err != nil {
		t.Errorf("got %d, %v", x, err)
	}
}

func TestSelectLevels(t *testing.T) {
	l, err := newLevels([]Piece{{0, 0, 5, 0}}, 0.75)
	if err != nil {
		t.Fatal(err)
	}
	for score, want := range map[int64]int{5: 0, 6: 0, 7: 1, 8: 2, 9: 3, 123: 88, 124: 89, 125: 89, math.MaxInt64: 89} {
		if got := l.level(score); got != want {
			t.Errorf("score %d is on level %d, want %d", score, got, want)
		}
	}
}

func TestSelectRefuses(t *testing.T) {
	s := newSourceT(t)
	for _, pieces := range [][]Piece{
		nil, {{1, 0, 0, 0}}, {{0, 1, 0, 0}, {1, 2, 0, 0}}, {{0, 1, 0, 0}, {3, 4, 0, 0}}, {{2, 3, 0, 0}, {0, 1, 0, 0}},
		{{5, math.MaxInt64, 0, 0}, {math.MinInt64, -1, 0, 0}},
	} {
		if _, err := Select(s, pieces, 1); !errors.Is(err, ErrPieces) {
			t.Errorf("%v: %v", pieces, err)
		}
	}
	for _, pieces := range [][]Piece{
		{{math.MinInt64, math.MaxInt64, 0, 0}}, {{-1, math.MaxInt64 - 1, 0, 0}}, {{math.MinInt64, -1, 0, 0}, {0, 5, 1, 0}},
	} {
		if _, err := Select(s, pieces, 1); err == nil {
			t.Errorf("2^63 points or more are accepted: %v", pieces)
		}
	}
	for _, p := range []Piece{{0, 1 << 40, 0, 1 << 40}, {0, 1, math.MaxInt64, 1}, {0, 1, math.MinInt64, -1}, {0, 1, 0, math.MinInt64}, {0, 3, -5, math.MaxInt64}} {
		if _, err := Select(s, []Piece{p}, 1); !errors.Is(err, ErrPieces) {
			t.Errorf("scores beyond 64 bits are accepted: %v", p)
		}
	}
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Select(s, []Piece{{0, 1, 0, 0}}, rate); err == nil {
			t.Errorf("rate %g is accepted", rate)
		}
	}
}

func BenchmarkSelectMillionPieces(b *testing.B) {
	pieces := make([]Piece, 1_000_000)
	for i := range pieces {
		score := int64(i) - 500_000
		pieces[i] = Piece{int64(i) * 10, int64(i)*10 + 9, max(score, -score), 0}
	}
	s := newSourceT(b)
	for b.Loop() {
		if _, err := Select(s, pieces, 0.05); err != nil {
			b.Fatal(err)
		}
	}
}
