package noise

import (
	"math"
	"math/big"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
)

func coinLaw(p float64) func(int64) float64 {
	return func(x int64) float64 {
		if x == 1 {
			return p
		}
		return 1 - p
	}
}

func coin(b bool) int64 { return int64(b2u(b)) }

// The coins of which everything is made, walked through choice by choice.
func TestCoinsExplored(t *testing.T) {
	mass, rest := explore(1e-12, func(s *Source) int64 { return coin(s.bernoulliExp1()) })
	noisetest.CheckExplored(t, "exp(-1)", mass, rest, 1e-8, coinLaw(math.Exp(-1)))
	for den := uint64(1); den <= 7; den++ {
		for num := uint64(0); num <= den; num++ {
			mass, rest := explore(1e-7, func(s *Source) int64 { return coin(s.bernoulliExp(num, den)) })
			p := math.Exp(-float64(num) / float64(den))
			noisetest.CheckExplored(t, "exp(-num/den)", mass, rest, 0.01, coinLaw(p))
		}
	}
	mass, rest = explore(1e-9, func(s *Source) int64 { return int64(s.geometricExp1()) })
	noisetest.CheckExplored(t, "geometric", mass, rest, 0.001, func(v int64) float64 {
		return (1 - math.Exp(-1)) * math.Exp(-float64(v))
	})
}

// The general coin, with raw words, against exact words on both sides of the
// threshold: below decides as U < num/den does, and asks for more bits only on a
// tie.
func TestBelowDecidesAtTheThreshold(t *testing.T) {
	third := [2]int64{1, 3} // 0.0101..: every word of it is 0x5555555555555555
	const w = 0x5555555555555555
	for _, c := range []struct {
		num, den int64
		tape     []uint64
		want     bool
		read     int
	}{
		{third[0], third[1], []uint64{w - 1}, true, 1},
		{third[0], third[1], []uint64{w + 1}, false, 1},
		{third[0], third[1], []uint64{w, w - 1}, true, 2},
		{third[0], third[1], []uint64{w, w, w + 1}, false, 3},
		{1, 2, []uint64{1<<63 - 1}, true, 1},
		{1, 2, []uint64{1 << 63}, false, 1},
		{0, 5, []uint64{0}, false, 1},
		{5, 5, []uint64{1<<64 - 1}, true, 1},
	} {
		s := words(c.tape...)
		got := s.below(s.Uint64(), big.NewInt(c.num), big.NewInt(c.den))
		if got != c.want || s.pos != 8*c.read || s.Err() != nil {
			t.Errorf("%d/%d on %x: %v after %d words", c.num, c.den, c.tape, got, s.pos/8)
		}
	}
}

func TestBernoulliExpRatFit(t *testing.T) {
	const n = 100_000
	s := newSourceT(t)
	for _, c := range [][2]int64{{0, 3}, {1, 7}, {1, 1}, {5, 2}, {4, 1}, {22, 7}} {
		hits := 0
		for range n {
			if s.bernoulliExpRat(big.NewInt(c[0]), big.NewInt(c[1])) {
				hits++
			}
		}
		p := math.Exp(-float64(c[0]) / float64(c[1]))
		if p == 1 {
			if hits != n {
				t.Errorf("a sure coin showed %d of %d", hits, n)
			}
			continue
		}
		noisetest.CheckCells(t, "exp(-num/den)", n, []int{hits}, []float64{p})
	}
}

// A certified constant is compared digit by digit: words of e^{−1} itself tie.
func TestBelowRealFollowsTheDigits(t *testing.T) {
	_, hi := expNeg1(192)
	digits := new(big.Int).Sub(hi, big.NewInt(1))
	word := func(i uint) uint64 {
		return new(big.Int).Rsh(digits, 128-64*i).Uint64()
	}
	if word(0) != 0x5e2d58d8b3bcdf1a { // e^{−1} in hexadecimal is 0.5e2d58d8b3bcdf1a...
		t.Fatalf("e^-1 starts with %#x", word(0))
	}
	x := envelopeRatio{m: 1, envelope: pow2(envelopeBits)}
	for _, c := range []struct {
		tape []uint64
		want bool
	}{
		{[]uint64{word(0) - 4, 0}, true},
		{[]uint64{word(0) + 4, 0}, false},
		{[]uint64{word(0), word(1) - 4, 0}, true},
		{[]uint64{word(0), word(1) + 4, 0}, false},
	} {
		s := words(c.tape...)
		if got := s.belowReal(s.Uint64(), x); got != c.want || s.Err() != nil {
			t.Errorf("on %x: %v, %v", c.tape, got, s.Err())
		}
	}
}

func TestExpNegBounds(t *testing.T) {
	for m := uint(0); m <= lastLevel; m++ {
		for _, prec := range []uint{64, 128, 192, 1000} {
			lo, hi := expNeg(m, prec)
			if width := new(big.Int).Sub(hi, lo); width.Sign() < 0 || width.Cmp(big.NewInt(3)) > 0 {
				t.Fatalf("e^-%d at %d bits: bounds %s apart", m, prec, width)
			}
			// Against bounds at 200 more bits, which must lie inside.
			lo2, hi2 := expNeg(m, prec+200)
			if new(big.Int).Lsh(lo, 200).Cmp(lo2) > 0 || new(big.Int).Lsh(hi, 200).Cmp(hi2) < 0 {
				t.Fatalf("e^-%d at %d bits: bounds do not nest", m, prec)
			}
		}
		lo, _ := expNeg(m, 200)
		f, _ := new(big.Rat).SetFrac(lo, pow2(200)).Float64()
		if want := math.Exp(-float64(m)); math.Abs(f-want) > 1e-14*want {
			t.Errorf("e^-%d is %g, want %g", m, f, want)
		}
	}
}
