package median

import (
	"math"
	"math/rand/v2"
	"testing"
)

// trueDelta integrates max(0, p − e^ε·q) for Laplace laws of the given centres and
// scales. Between the centres the log ratio is linear, so that 40,000 steps over 40
// scales leave an error far below the δ that is compared.
func trueDelta(epsilon, f, scale, g, other float64) float64 {
	wide := math.Max(scale, other)
	from, to := math.Min(f, g)-40*wide, math.Max(f, g)+40*wide
	step := (to - from) / 40000
	sum := 0.0
	for x := from + step/2; x < to; x += step {
		p := math.Exp(-math.Abs(x-f)/scale) / (2 * scale)
		q := math.Exp(-math.Abs(x-g)/other) / (2 * other)
		sum += step * math.Max(0, p-math.Exp(epsilon)*q)
	}
	return sum
}

// The whole mechanism on pairs of neighbouring tables: the laws of what is released
// are within (ε, δ) in both directions. A third of the noise would not be: the pairs
// are hard enough to tell.
func TestTrueDeltaOnNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	r := rank{num: 1, den: 2, value: 0.5}
	for _, c := range []struct{ epsilon, delta float64 }{{0.5, 0.01}, {1, 1e-3}, {4, 0.05}, {12, 1e-4}} {
		how, err := params{Calibration: "exact", NoiseShare: 0.5}.calibrate(c.epsilon, c.delta)
		if err != nil {
			t.Fatal(err)
		}
		broken := 0.0
		for range 40 {
			// Values that pile up at one bound have the S that grows fastest.
			x := make([]float64, 1+rng.IntN(12))
			for i := range x {
				x[i] = []float64{0, 0, 0, 1, rng.Float64()}[rng.IntN(5)]
			}
			a := sortedTable(x, 0, 1)
			sa := a.smoothSensitivity(r.place(len(x)), how.beta, floorOf(a))
			y := append([]float64(nil), x...)
			y[0] = float64(rng.IntN(2))
			b := sortedTable(y, 0, 1)
			sb := b.smoothSensitivity(r.place(len(y)), how.beta, floorOf(b))
			f, g := a.at(r.place(len(x))), b.at(r.place(len(y)))
			d := math.Max(trueDelta(c.epsilon, f, sa/how.shift, g, sb/how.shift), trueDelta(c.epsilon, g, sb/how.shift, f, sa/how.shift))
			if d > c.delta*(1+1e-3) {
				t.Errorf("ε=%g δ=%g: %v → %v costs %v", c.epsilon, c.delta, x, y, d)
			}
			third := 3 * how.shift
			broken = math.Max(broken, trueDelta(c.epsilon, f, sa/third, g, sb/third))
		}
		if broken <= c.delta {
			t.Errorf("ε=%g δ=%g: a third of the noise costs %v at most", c.epsilon, c.delta, broken)
		}
	}
}
