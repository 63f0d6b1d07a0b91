package noise

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

func TestSmoothLaplaceTape(t *testing.T) {
	// Sign 1 (minus). Whole part: 1/2 won, 1/3 lost (true), 1/2 lost: 1. Then
	// u = 1/4, a fresh 1/2 ≥ 1/4 ends at k = 1: taken. E = 1.25.
	// 10 − 8·1.25 = 0 exactly where the following bits are 0; the interval
	// [1.25, 1.25 + 2^-64] rounds to 0 on the lattice of 1.
	s := words(choice(1, 2), choice(0, 2), choice(1, 3), choice(1, 2), 1<<62, 1<<63)
	if x, err := SmoothLaplace(s, 10, 8, 1); x != 0 || err != nil {
		t.Errorf("got %g, %v", x, err)
	}
	// The same E with a plus, 0.25 + 1·1.25 = 1.5: on the lattice of 1 that is a
	// tie, so another word is drawn, and 0 is not enough: the tie is at the lower
	// end, which rounds up whatever follows.
	s = words(choice(0, 2), choice(0, 2), choice(1, 3), choice(1, 2), 1<<62, 1<<63)
	if x, err := SmoothLaplace(s, 0.25, 1, 1); x != 2 || err != nil {
		t.Errorf("got %g, %v", x, err)
	}
	// With a minus, −(0.25 + E) reaches −1.5 from above: undecided until a bit
	// of E that is not zero: then it is below −1.5 and rounds to −2.
	s = words(choice(1, 2), choice(0, 2), choice(1, 3), choice(1, 2), 1<<62, 1<<63, 0, 0, 1)
	if x, err := SmoothLaplace(s, -0.25, 1, 1); x != -2 || err != nil || s.pos != 72 {
		t.Errorf("got %g, %v after %d bytes", x, err, s.pos)
	}
}

// A tie between the two lazily drawn uniforms draws on in both.
func TestFreshBelowDrawsOnAfterATie(t *testing.T) {
	u := lazyUniform{5}
	s := words(5, 9, 8)
	if !s.freshBelow(&u) || len(u) != 2 || u[1] != 9 {
		t.Errorf("u is %v", u)
	}
}

func TestSmoothLaplaceFit(t *testing.T) {
	n := tier.Of(3_000, 30_000)
	s := newSourceT(t)
	for _, c := range []struct{ value, scale, granularity float64 }{
		{0, 1, 1}, {0.3, 1, 0.5}, {-7.77, 3.3, 0.25}, {1e6, 0.1, 0x1p-6}, {0, 1, 4}, {5e8, 1e9, 0x1p26},
	} {
		// Cells are single lattice points around the value, and both tails.
		const half = 20
		cdf := func(x float64) float64 {
			z := (x - c.value) / c.scale
			if z < 0 {
				return math.Exp(z) / 2
			}
			return 1 - math.Exp(-z)/2
		}
		centre := math.Round(c.value / c.granularity)
		counts, probs := make([]int, 2*half+3), make([]float64, 2*half+3)
		for i := range probs {
			j := centre + float64(i-half-1)
			lo, hi := cdf((j-0.5)*c.granularity), cdf((j+0.5)*c.granularity)
			if i == 0 {
				lo = 0
			}
			if i == len(probs)-1 {
				hi = 1
			}
			probs[i] = hi - lo
		}
		for range n {
			x, err := SmoothLaplace(s, c.value, c.scale, c.granularity)
			if err != nil {
				t.Fatal(err)
			}
			j := x / c.granularity
			if j != math.Trunc(j) {
				t.Fatalf("%g is off the lattice of %g", x, c.granularity)
			}
			counts[int(max(-half-1, min(half+1, j-centre)))+half+1]++
		}
		noisetest.CheckCells(t, "smooth Laplace", n, counts, probs)
	}
}

// The fraction that the exponential's bits give: uniform in E's distribution
// function, in 256 cells.
func TestExponentialFit(t *testing.T) {
	const n, cells = 200_000, 256
	s := newSourceT(t)
	counts, probs := make([]int, cells), make([]float64, cells)
	for range n {
		e := s.exponential()
		f := float64(e.whole) + float64(e.frac.Uint64())*0x1p-64
		if e.prec > 64 {
			continue // a tie of two 64-bit words: not within 2^-64·n
		}
		counts[min(cells-1, int(-math.Expm1(-f)*cells))]++
	}
	for i := range probs {
		probs[i] = 1.0 / cells
	}
	noisetest.CheckCells(t, "exponential", n, counts, probs)
}

func TestSmoothLaplaceExtremes(t *testing.T) {
	s := newSourceT(t)
	for _, c := range [][3]float64{
		{math.MaxFloat64, math.MaxFloat64, 1}, {-math.MaxFloat64, 1e300, 0x1p1000},
		{5e-324, 5e-324, 0x1p-1074}, {1, 1e-300, 1}, {1e300, 1e-300, 0x1p-1074}, {0, 1e-300, 0x1p1023},
	} {
		for range 20 {
			x, err := SmoothLaplace(s, c[0], c[1], c[2])
			if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
				t.Fatalf("%v gives %g, %v", c, x, err)
			}
		}
	}
	if x, err := SmoothLaplace(s, 3, 1e-300, 1); x != 3 || err != nil {
		t.Errorf("got %g, %v", x, err)
	}
	for _, c := range [][3]float64{
		{math.NaN(), 1, 1}, {math.Inf(1), 1, 1}, {0, 0, 1}, {0, -1, 1}, {0, math.NaN(), 1}, {0, math.Inf(1), 1},
		{0, 1, 0}, {0, 1, 3}, {0, 1, -1}, {0, 1, math.NaN()}, {0, 1, math.Inf(1)},
	} {
		if _, err := SmoothLaplace(s, c[0], c[1], c[2]); err == nil {
			t.Errorf("%v is accepted", c)
		}
	}
}

func BenchmarkSmoothLaplace(b *testing.B) {
	s := newSourceT(b)
	for b.Loop() {
		if _, err := SmoothLaplace(s, 12345.678, 9.87, 0x1p-20); err != nil {
			b.Fatal(err)
		}
	}
}
