package noise

import (
	"math"
	"math/big"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
)

// gaussianLaw is the exact mass function of the discrete Gaussian, by direct
// summation of its normaliser.
func gaussianLaw(sigma float64) func(int64) float64 {
	weight := func(x float64) float64 { return math.Exp(-x * x / (2 * sigma * sigma)) }
	sum := 1.0
	for x := 1.0; x < 40*sigma+10; x++ {
		sum += 2 * weight(x)
	}
	return func(x int64) float64 { return weight(float64(x)) / sum }
}

func TestDiscreteGaussianTape(t *testing.T) {
	// σ = 1: t = 2, σ²/t = 1/2. Proposal at scale 2: u = 1 in [0, 2), its coin
	// e^{−1/2}: 1 ≥ 1 ends at k = 1: true; v = 0 (1/2 lost); sign 0: y = 1.
	// γ = (1 − 1/2)²/2 = 1/8: the uniform 1/4 ≥ 1/8 ends at k = 1: accepted.
	s := words(choice(1, 2), choice(1, 2), choice(1, 2), choice(0, 2), 1<<62)
	if x, err := one(s, AddDiscreteGaussian, 1); x != 1 || err != nil {
		t.Errorf("got %d, %v", x, err)
	}
	// The same with the uniform 1/16 < 1/8 (k = 1), then 1/4 (k = 2): refused;
	// then u = 0 (its coin: 0 ≥ 0, true), v = 1 (1/2 won, 1/3 lost; 1/2 lost),
	// y = 2, sign 1: −2, γ = (2 − 1/2)²/2 = 9/8: exp(−1): 1/2 won, 1/3 lost:
	// true; the rest 1/8: 1/4 ends at k = 1: accepted.
	s = words(choice(1, 2), choice(1, 2), choice(1, 2), choice(0, 2), 1<<60, 1<<62,
		choice(0, 2), choice(0, 2), choice(0, 2), choice(1, 3), choice(1, 2), choice(1, 2),
		choice(0, 2), choice(1, 3), 1<<62)
	if x, err := one(s, AddDiscreteGaussian, 1); x != -2 || err != nil {
		t.Errorf("got %d, %v", x, err)
	}
	if s.pos != 8*15 {
		t.Errorf("%d words read", s.pos/8)
	}
}

func TestDiscreteGaussianFit(t *testing.T) {
	const n = 400_000
	s := newSourceT(t)
	for _, sigma := range []float64{0.2, 0.5, 1, math.E, 10.1, 50} {
		width := int64(4*sigma) + 2
		counts := binned(t, n, width, func(dst []int64) error { return AddDiscreteGaussian(s, dst, sigma) })
		noisetest.CheckCells(t, "discrete Gaussian", n, counts, binnedLaw(width, gaussianLaw(sigma)))
	}
}

func TestDiscreteGaussianLargeScales(t *testing.T) {
	const n = 300_000
	s := newSourceT(t)
	for _, sigma := range []float64{1e6, 0x1p40, 0x1.fffffffffffffp39, 12345.678} {
		dst := make([]int64, n)
		if err := AddDiscreteGaussian(s, dst, sigma); err != nil {
			t.Fatal(err)
		}
		// Cells of σ/4 from −4σ to 4σ and both tails. By Poisson summation the
		// mass of |x| ≤ y is that of the continuous normal on |x| ≤ y + 1/2 up to
		// 1e-10 here (σ > 10⁴): the second-order term is 1/24σ².
		const half = 16
		counts, probs := make([]int, 2*half+2), make([]float64, 2*half+2)
		edge := func(i int) float64 { return math.Floor(float64(i-half)*sigma/4) + 0.5 }
		cdf := func(x float64) float64 { return math.Erfc(-x/sigma/math.Sqrt2) / 2 }
		for i := range probs {
			lo, hi := 0.0, 1.0
			if i > 0 {
				lo = cdf(edge(i - 1))
			}
			if i < len(probs)-1 {
				hi = cdf(edge(i))
			}
			probs[i] = hi - lo
		}
		far := 0
		for _, x := range dst {
			i := 0
			for i < len(probs)-1 && float64(x) > edge(i) {
				i++
			}
			counts[i]++
			if math.Abs(float64(x)) > 8*sigma {
				far++
			}
		}
		noisetest.CheckCells(t, "discrete Gaussian, large", n, counts, probs)
		// 300,000·P(|Z| > 8) = 4e-10: any is a false alarm at most that often.
		if far > 0 {
			t.Errorf("%d of %d draws beyond 8 sigma", far, n)
		}
	}
}

func TestDiscreteGaussianTinyScales(t *testing.T) {
	s := newSourceT(t)
	dst := make([]int64, 10_000)
	for _, sigma := range []float64{0x1p-20, 0x1.fp-6, 0x1.23456789abcdep-11, MinScale} {
		if err := AddDiscreteGaussian(s, dst, sigma); err != nil {
			t.Fatal(err)
		}
		for _, x := range dst {
			if x != 0 { // P < 2·e^{−2^11/4}
				t.Fatalf("sigma %g drew %d", sigma, x)
			}
		}
	}
}

// The floats that decide the acceptance always enclose the exact exponent, and
// are close enough to decide nearly always.
func TestGapEnclosesTheExponent(t *testing.T) {
	s := newSourceT(t)
	sigmas := []float64{0x1p-20, 0.1, 0.5, 1, 1.5, 3, 100, 1e6, 0x1.fffffffffffffp39, 0x1p40, MaxScale, MinScale}
	for range 200 {
		sigmas = append(sigmas, math.Ldexp(1+float64(s.Uint64()>>11)*0x1p-53, int(s.Uint64n(60))-20))
	}
	for _, sigma := range sigmas {
		g, err := newGaussian(sigma)
		if err != nil {
			t.Fatal(err)
		}
		ys := []int64{0, 1, 2, int64(g.centre), int64(g.centre) + 1, 1 << 53, 1<<53 - 1, math.MaxInt64}
		for range 100 {
			y, _ := s.discreteLaplace(g.t)
			ys = append(ys, y)
		}
		for _, y := range ys {
			lo, hi := g.gap(y)
			exact := new(big.Rat).SetFrac(g.exactGap(y))
			if exactRat(lo).Cmp(exact) > 0 || !math.IsInf(hi, 1) && exactRat(hi).Cmp(exact) < 0 {
				t.Fatalf("sigma %g, y %d: [%g, %g] misses the exponent", sigma, y, lo, hi)
			}
			if y < 1<<53 && hi-lo > 0x1p-44*(1+hi) {
				t.Fatalf("sigma %g, y %d: [%g, %g] is too wide", sigma, y, lo, hi)
			}
		}
		if exact := new(big.Rat).SetFrac(g.exactGap(3)); sigma == 1 && exact.Cmp(big.NewRat(25, 8)) != 0 {
			t.Errorf("the exponent at 3 is %s, want 25/8", exact)
		}
	}
}

// belowGap decides as the exact rational does, for words at and around the
// threshold: those are the ones that the floats leave undecided.
func TestBelowGapAtTheThreshold(t *testing.T) {
	s := newSourceT(t)
	for range 300 {
		g, err := newGaussian(math.Ldexp(1+float64(s.Uint64()>>11)*0x1p-53, int(s.Uint64n(45))-3))
		if err != nil {
			t.Fatal(err)
		}
		y, _ := s.discreteLaplace(g.t)
		lo, hi := g.gap(y)
		whole := math.Floor(lo)
		if !(hi < whole+1) {
			continue
		}
		num, den := g.exactGap(y)
		num.Sub(num, new(big.Int).Mul(big.NewInt(int64(whole)), den))
		at := new(big.Int).Lsh(num, 64)
		rest := new(big.Int)
		at.QuoRem(at, den, rest)
		w := at.Uint64()
		next := rest.Lsh(rest, 64).Quo(rest, den).Uint64()
		for _, c := range []struct {
			tape []uint64
			want bool
		}{
			{[]uint64{w - 1, 0}, true}, {[]uint64{w + 1, 0}, false},
			{[]uint64{w - 1<<14, 0}, true}, {[]uint64{w + 1<<14, 0}, false},
			{[]uint64{w, next - 1}, true}, {[]uint64{w, next + 1}, false},
		} {
			if w < 1<<20 || w > 1<<63+1<<62 || next == 0 || next == math.MaxUint64 {
				continue // the arithmetic of this test would wrap
			}
			tape := words(c.tape...)
			if got := tape.belowGap(g, y, whole, lo-whole, hi-whole); got != c.want || tape.Err() != nil {
				t.Fatalf("word %x of threshold %x: %v, %v", c.tape, w, got, tape.Err())
			}
		}
	}
}
