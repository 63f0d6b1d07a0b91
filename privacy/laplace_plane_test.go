package privacy

import (
	"math"
	"testing"
)

// planeMass is the mass of discrete Laplace noise on two coordinates.
func planeMass(scale float64, x, y int) float64 {
	r := math.Exp(-1 / scale)
	k := (1 - r) / (1 + r)
	return k * k * math.Pow(r, math.Abs(float64(x))+math.Abs(float64(y)))
}

// Poisson under replace-one on a query of two coordinates (groups, the ratio of
// the mean): whatever two values of L1 norm at most s take turns, in whatever
// direction, the charge is never below the truth, summed over the plane (P7). The
// charge for twice the noise is beaten: the search can find a violation.
func TestPoissonReplaceLaplaceInThePlane(t *testing.T) {
	const tail = 14
	for _, c := range []struct {
		s           int
		scale, rate float64
	}{{1, 1, 0.1}, {1, 0.5, 0.5}, {2, 1.5, 0.3}, {2, 1, 0.05}} {
		reach := c.s + int(tail*c.scale)
		beatenBelow := false
		for i := range 8 {
			eps := float64(i) * 2 * float64(c.s) / c.scale / 10
			worst := 0.0
			for _, v := range [][2]int{{c.s, 0}, {c.s - 1, 1}} {
				for x := -c.s; x <= c.s; x++ {
					for y := -c.s; y <= c.s; y++ {
						if math.Abs(float64(x))+math.Abs(float64(y)) <= float64(c.s) {
							w := [2]int{x, y}
							worst = math.Max(worst, math.Max(planeDelta(c.scale, c.rate, reach, v, w, eps), planeDelta(c.scale, c.rate, reach, w, v, eps)))
						}
					}
				}
			}
			if got := planeCharge(t, c.s, c.scale, c.rate, eps); got < worst-1e-9 {
				t.Errorf("s %d, scale %g, rate %g, ε %g: charged δ %g, true %g", c.s, c.scale, c.rate, eps, got, worst)
			}
			if planeCharge(t, c.s, c.scale*2, c.rate, eps) < worst-1e-9 {
				beatenBelow = true
			}
		}
		if !beatenBelow {
			t.Errorf("s %d, scale %g: half the charge was never beaten", c.s, c.scale)
		}
	}
}

func planeCharge(t *testing.T, s int, scale, rate, eps float64) float64 {
	t.Helper()
	a, err := DeltaAt(Poisson{Rate: rate, Event: DiscreteLaplace{Scale: scale, Sensitivity: Sensitivity{AddRemove: float64(s)}}}, ReplaceOne, eps)
	if err != nil {
		t.Fatal(err)
	}
	return a.Delta
}

// planeDelta is the hockey stick between the releases of two neighbours whose
// changed record is v and w, when all other records add up to 0.
func planeDelta(scale, rate float64, reach int, v, w [2]int, eps float64) float64 {
	e, sum := math.Exp(eps), 0.0
	for x := -reach; x <= reach; x++ {
		for y := -reach; y <= reach; y++ {
			rest := (1 - rate) * planeMass(scale, x, y)
			p := rest + rate*planeMass(scale, x-v[0], y-v[1])
			q := rest + rate*planeMass(scale, x-w[0], y-w[1])
			sum += math.Max(0, p-e*q)
		}
	}
	return sum
}
