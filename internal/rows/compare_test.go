package rows

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCompare compares numbers of every kind, and lengths that are no multiple of 64.
func TestCompare(t *testing.T) {
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
		for name, do := range map[string]func(w []uint64, x, y []float64){"<": less[float64], "<=": lessEqual} {
			got := make([]uint64, words(n))
			do(got, x, y)
			for i := range x {
				want := x[i] < y[i] || name == "<=" && x[i] == y[i]
				if got[i/64]>>(i%64)&1 != bit(want) {
					t.Fatalf("%v %s %v is not %v", x[i], name, y[i], want)
				}
			}
		}
	}
}
