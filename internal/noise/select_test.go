package noise

import (
	"errors"
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
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
	const n = 20_000
	s := newSourceT(t)
	for name, c := range map[string]struct {
		pieces []Piece
		rate   float64
	}{
		"points":   {[]Piece{{-2, -2, 3}, {-1, -1, 1}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}, 0.7},
		"one":      {[]Piece{{5, 5, 9}}, 1},
		"narrow":   {[]Piece{{0, 1<<40 - 1, 30}, {1 << 40, 1 << 40, 0}, {1<<40 + 1, 1 << 41, 28}}, 1},
		"far":      {[]Piece{{0, 1<<61 - 1, 43}, {1 << 61, 1<<61 + 3, -1}, {1<<61 + 4, 1 << 62, 47}}, 1},
		"slow":     {[]Piece{{0, 9, 1 << 40}, {10, 39, 0}, {40, 49, -1 << 40}}, 0x1p-40},
		"extremes": {[]Piece{{0, 9, math.MaxInt64}, {10, 39, 0}, {40, 49, math.MinInt64}}, 0x1p-63},
		"tiny":     {[]Piece{{0, 9, math.MaxInt64}, {10, 39, 0}, {40, 49, math.MinInt64}}, 0x1p-1070},
		"steep":    {[]Piece{{0, 1 << 60, 1}, {1<<60 + 1, 1<<60 + 2, 0}}, 1e300},
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
	pieces := []Piece{{-4, -1, 2}, {0, 7, 1}}
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

func TestSelectTape(t *testing.T) {
	// Scores 0 and 1 at rate 1, one point each: levels 0 and 1 with envelopes
	// 2^128 and ceil(2^128/e); their sum needs 129 bits: three words, of which the
	// first 63 bits drop out at the shift. All zero proposes level 0; its ratio
	// is 1 and its rest is 0: both coins are sure or over at once.
	pieces := []Piece{{3, 3, 0}, {4, 4, 1}}
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
	l, err := newLevels([]Piece{{0, 0, 5}}, 0.75)
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
		nil, {{1, 0, 0}}, {{0, 1, 0}, {1, 2, 0}}, {{0, 1, 0}, {3, 4, 0}}, {{2, 3, 0}, {0, 1, 0}},
		{{5, math.MaxInt64, 0}, {math.MinInt64, -1, 0}},
	} {
		if _, err := Select(s, pieces, 1); !errors.Is(err, ErrPieces) {
			t.Errorf("%v: %v", pieces, err)
		}
	}
	for _, pieces := range [][]Piece{
		{{math.MinInt64, math.MaxInt64, 0}}, {{-1, math.MaxInt64 - 1, 0}}, {{math.MinInt64, -1, 0}, {0, 5, 1}},
	} {
		if _, err := Select(s, pieces, 1); err == nil {
			t.Errorf("2^63 points or more are accepted: %v", pieces)
		}
	}
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Select(s, []Piece{{0, 1, 0}}, rate); err == nil {
			t.Errorf("rate %g is accepted", rate)
		}
	}
}

func BenchmarkSelectMillionPieces(b *testing.B) {
	pieces := make([]Piece, 1_000_000)
	for i := range pieces {
		score := int64(i) - 500_000
		pieces[i] = Piece{int64(i) * 10, int64(i)*10 + 9, max(score, -score)}
	}
	s := newSourceT(b)
	for b.Loop() {
		if _, err := Select(s, pieces, 0.05); err != nil {
			b.Fatal(err)
		}
	}
}
