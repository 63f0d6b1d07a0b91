package tails

import (
	"math"
	"testing"
)

// The law of a normal and a Laplace variable together, whatever their scales are, is that of the sum over the normal one by Simpson's rule.
func TestLogBeyond(t *testing.T) {
	for _, s := range []float64{0.5, 3} {
		for _, ratio := range []float64{0.2, 1, 5, 20, 33, 36, 36.5, 37, 37.5, 38, 39, 60, 1e3, 1e6} {
			for _, x := range []float64{0, 0.1, 1, 2.2, 3, 5} {
				b, sum, steps := s/ratio, 0.0, 20000
				from, to := s*x-12*s, s*x+12*s // of the normal variable
				for i := range steps + 1 {
					v := from + (to-from)*float64(i)/float64(steps)
					over, weight := s*x-v, float64(2+2*(i%2)) // the Laplace variable must exceed this
					if i == 0 || i == steps {
						weight = 1
					}
					tail := math.Exp(-math.Abs(over)/b) / 2
					if over < 0 {
						tail = 1 - tail
					}
					sum += weight * tail * math.Exp(-v*v/(2*s*s))
				}
				want := math.Log(sum * (to - from) / float64(3*steps) / (s * math.Sqrt(2*math.Pi)))
				if got := LogBeyond(s*x, s, b); math.Abs(got-want) > 2e-3 {
					t.Errorf("s %v, s/b %v, %v s: %v, want %v", s, ratio, x, got, want)
				}
			}
		}
	}
}
