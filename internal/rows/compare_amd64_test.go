package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// What the processor does four at a time is what it does one at a time, for numbers of
// every kind and for lengths that are no multiple of 64.
func TestCompareAVX(t *testing.T) {
	if !hasAVX {
		t.Log("this processor has no AVX: the plain loops are all there is")
		return
	}
	r := rand.New(rand.NewPCG(5, 6))
	draw := func() float64 {
		special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324, -5e-324, math.MaxFloat64, 1}
		if i := r.IntN(2 * len(special)); i < len(special) {
			return special[i]
		}
		return math.Float64frombits(r.Uint64())
	}
	for n := range 300 {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			if x[i], y[i] = draw(), draw(); r.IntN(4) == 0 {
				y[i] = x[i]
			}
		}
		for name, pair := range map[string][2]func(w []uint64, x, y []float64){"<": {numbersLess, less[float64]}, "<=": {numbersLessEqual, lessEqual[float64]}} {
			fast, plain := make([]uint64, words(n)), make([]uint64, words(n))
			pair[0](fast, x, y)
			pair[1](plain, x, y)
			if !slices.Equal(fast, plain) {
				t.Fatalf("%d numbers %s: %x, want %x", n, name, fast, plain)
			}
			for i := range x {
				want := x[i] < y[i] || name == "<=" && x[i] == y[i]
				if plain[i/64]>>(i%64)&1 != bit(want) {
					t.Fatalf("%v %s %v is not %v", x[i], name, y[i], want)
				}
			}
		}
		for _, bounds := range [][2]float64{{draw(), draw()}, {math.Inf(-1), 1}, {-1, math.Inf(1)}, {0, 0}} {
			fast, plain := make([]uint64, words(n)), make([]uint64, words(n))
			numbersBetween(fast, x, &bounds)
			between(plain, x, &bounds)
			if !slices.Equal(fast, plain) {
				t.Fatalf("%d numbers between %v: %x, want %x", n, bounds, fast, plain)
			}
			for i, v := range x {
				if want := bounds[0] <= v && v <= bounds[1]; plain[i/64]>>(i%64)&1 != bit(want) {
					t.Fatalf("%v between %v is not %v", v, bounds, want)
				}
			}
		}
	}
}
