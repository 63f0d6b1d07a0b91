package noise

import (
	"errors"
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// laplaceLaw is the exact mass function of the discrete Laplace distribution.
func laplaceLaw(scale float64) func(int64) float64 {
	return func(x int64) float64 {
		return math.Tanh(1/(2*scale)) * math.Exp(-math.Abs(float64(x))/scale)
	}
}

// one is a single draw.
func one(s *Source, add func(*Source, []int64, float64) error, scale float64) (int64, error) {
	dst := make([]int64, 1)
	err := add(s, dst, scale)
	return dst[0], err
}

func TestDiscreteLaplaceTape(t *testing.T) {
	// Scale 5/2 is n/2^k = 5/2^1: u is uniform in [0, 5).
	// u = 3; the coin e^{−3/5} draws in [0, 5): 4 ≥ 3 ends it at k = 1: true.
	// v: coin 1/2 shows 1 at k = 2: false, so v = 0 is over... k even is false.
	// y = floor((3 + 5·0)/2) = 1. Sign 1: −1.
	s := words(choice(3, 5), choice(4, 5), choice(1, 2), choice(1, 2))
	if x, err := one(s, AddDiscreteLaplace, 2.5); x != -1 || err != nil {
		t.Errorf("got %d, %v", x, err)
	}
	// u = 4; coins 0 < 4 (k=1), 1 < 4 and 1/2 lost (k=2, false): again u = 2;
	// 2 ≥ 2: true. v: 1/2 won, 1/3 lost at k = 3: true, v = 1; 1/2 lost: stop.
	// y = floor((2 + 5)/2) = 3, sign 0: 3.
	s = words(choice(4, 5), choice(0, 5), choice(1, 5), choice(1, 2),
		choice(2, 5), choice(2, 5), choice(0, 2), choice(2, 3), choice(1, 2), choice(0, 2))
	if x, err := one(s, AddDiscreteLaplace, 2.5); x != 3 || err != nil {
		t.Errorf("got %d, %v", x, err)
	}
	if s.Uint64(); !errors.Is(s.Err(), ErrTape) {
		t.Error("the draw left bits of the tape unread")
	}
}

func TestDiscreteLaplaceExplored(t *testing.T) {
	for _, c := range tier.Some([]struct{ scale, maxRest float64 }{
		{0.25, 0.1}, {1, 0.1}, {2, 0.1}, {0.5, 0.1}, {1.5, 0.2},
	}, 3) {
		mass, rest := explore(2e-7, func(s *Source) int64 {
			x, err := one(s, AddDiscreteLaplace, c.scale)
			if err != nil {
				t.Fatal(err)
			}
			return x
		})
		noisetest.CheckExplored(t, "discrete Laplace", mass, rest, c.maxRest, laplaceLaw(c.scale))
	}
}

// binned counts draws in [−width, width], with both tails as cells of their own.
func binned(t *testing.T, n int, width int64, draw func([]int64) error) []int {
	t.Helper()
	dst := make([]int64, n)
	if err := draw(dst); err != nil {
		t.Fatal(err)
	}
	counts := make([]int, 2*width+3)
	for _, x := range dst {
		counts[min(max(x, -width-1), width+1)+width+1]++
	}
	return counts
}

func binnedLaw(width int64, law func(int64) float64) []float64 {
	probs := make([]float64, 2*width+3)
	sum := 0.0
	for x := -width; x <= width; x++ {
		probs[x+width+1] = law(x)
		sum += law(x)
	}
	probs[0], probs[2*width+2] = (1-sum)/2, (1-sum)/2
	return probs
}

func TestDiscreteLaplaceFit(t *testing.T) {
	const n = 400_000
	s := newSourceT(t)
	for _, scale := range []float64{0x1p-3, 0.3, 1, math.Pi, 10, 33.25} {
		width := int64(8*scale) + 3
		counts := binned(t, n, width, func(dst []int64) error { return AddDiscreteLaplace(s, dst, scale) })
		noisetest.CheckCells(t, "discrete Laplace", n, counts, binnedLaw(width, laplaceLaw(scale)))
	}
}

// Quantiles of the large scales: below the j-th of 64 equally likely values of
// |x|, and the tail beyond 20 scales, which must be as thin as e^{−20}.
func TestDiscreteLaplaceLargeScales(t *testing.T) {
	const n, cells = 300_000, 64
	s := newSourceT(t)
	for _, scale := range []float64{1e6, 0x1p40, 0x1.fffffffffffffp39, 12345.678} {
		dst := make([]int64, n)
		if err := AddDiscreteLaplace(s, dst, scale); err != nil {
			t.Fatal(err)
		}
		counts, probs := make([]int, cells), make([]float64, cells)
		// P(|x| ≥ y) = 2·e^{−y/t}/(1 + e^{−1/t}) for y ≥ 1.
		above := func(y float64) float64 {
			if y <= 0 {
				return 1
			}
			return 2 * math.Exp(-y/scale) / (1 + math.Exp(-1/scale))
		}
		edges := make([]float64, cells+1)
		for j := range edges {
			edges[j] = math.Ceil(-scale * math.Log1p(-float64(j)/cells))
		}
		edges[cells] = math.Inf(1)
		for j := range probs {
			probs[j] = above(edges[j]) - above(edges[j+1])
		}
		negative, positive, far := 0, 0, 0
		for _, x := range dst {
			y := math.Abs(float64(x))
			for j := range probs {
				if y < edges[j+1] {
					counts[j]++
					break
				}
			}
			if x < 0 {
				negative++
			} else if x > 0 {
				positive++
			}
			if y > 20*scale {
				far++
			}
		}
		noisetest.CheckCells(t, "|discrete Laplace|", n, counts, probs)
		zero := math.Tanh(1 / (2 * scale))
		noisetest.CheckCells(t, "sign", n, []int{negative, positive}, []float64{(1 - zero) / 2, (1 - zero) / 2})
		// 300,000·e^{−20} = 6e-4 expected: three or more have chance 4e-11.
		if far > 2 {
			t.Errorf("%d of %d draws beyond 20 scales", far, n)
		}
	}
}

func TestDiscreteLaplaceTinyScales(t *testing.T) {
	s := newSourceT(t)
	dst := make([]int64, 10_000)
	// P(x ≠ 0) < 2·e^{−1/t} ≤ 2·e^{−1024}.
	for _, scale := range []float64{0x1p-20, 0x1.fp-20, 0x1.23456789abcdep-11, MinScale} {
		if err := AddDiscreteLaplace(s, dst, scale); err != nil {
			t.Fatal(err)
		}
		for _, x := range dst {
			if x != 0 {
				t.Fatalf("scale %g drew %d", scale, x)
			}
		}
	}
}

func TestLaplaceScalesAreExact(t *testing.T) {
	for x, want := range map[float64]dyadic{
		1: {1, 0}, 3: {3, 0}, 2.5: {5, 1}, 0.1: {3602879701896397, 55}, 0x1p40: {1 << 40, 0},
		0x1p-20: {1, 20}, 0x1.0000000000001p40: {1<<52 + 1, 12}, MaxScale: {MaxScale, 0},
	} {
		if got, err := exactScale("scale", x); err != nil || got != want {
			t.Errorf("%g is %+v, %v; want %+v", x, got, err, want)
		}
	}
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), MinScale / 2, 2 * MaxScale} {
		if _, err := exactScale("scale", x); err == nil {
			t.Errorf("scale %g is accepted", x)
		}
	}
}

func TestAddOverflow(t *testing.T) {
	s := newSourceT(t)
	for _, add := range []func(*Source, []int64, float64) error{AddDiscreteLaplace, AddDiscreteGaussian} {
		for _, edge := range []int64{math.MaxInt64, math.MinInt64} {
			dst := make([]int64, 200) // each overflows with chance near 1/2
			for i := range dst {
				dst[i] = edge
			}
			if err := add(s, dst, 1e6); !errors.Is(err, ErrOverflow) {
				t.Errorf("overflow gives %v", err)
			}
			for _, x := range dst {
				if x != 0 {
					t.Fatal("an overflow leaves values behind")
				}
			}
		}
		if err := add(s, []int64{1}, math.NaN()); err == nil {
			t.Error("a NaN scale is accepted")
		}
	}
	// A geometric part so long that the draw itself leaves int64: u = 0 (accepted
	// at once, as no coin of 0/n shows), then v > 2^13 at scale 2^50.
	turns := 0
	long := newScript(func(n uint64) uint64 {
		if n == MaxScale {
			return 0
		}
		if turns++; n == 2 && turns > 40_000 {
			return 1
		}
		return b2u(n == 3) // 1/2 won, 1/3 lost: true, again and again
	})
	if _, err := one(long, AddDiscreteLaplace, MaxScale); !errors.Is(err, ErrOverflow) {
		t.Errorf("a draw beyond int64 gives %v", err)
	}
}

// Both at least 1e6 draws a second a core at 1e6 steps (issue 2).
func BenchmarkDiscreteLaplace(b *testing.B) {
	benchmarkVector(b, AddDiscreteLaplace)
}

func BenchmarkDiscreteGaussian(b *testing.B) {
	benchmarkVector(b, AddDiscreteGaussian)
}

func benchmarkVector(b *testing.B, add func(*Source, []int64, float64) error) {
	s := newSourceT(b)
	dst := make([]int64, 1000)
	for b.Loop() {
		clear(dst)
		if err := add(s, dst, 1e6); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "draws/s")
}

func BenchmarkUint64(b *testing.B) {
	s := newSourceT(b)
	for b.Loop() {
		s.Uint64()
	}
}
