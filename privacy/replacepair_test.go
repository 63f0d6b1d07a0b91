package privacy

import (
	"math"
	"testing"
)

// Poisson sampling under replace-one with Laplace noise: the pair (+1, −1) on one coordinate is not beaten by values on the same side
// of 0, nor by shifts spread over two coordinates. g is max_S [L_v − αL_w − βL_0] of pld/poissonreplace.proof.md.
func TestLaplaceReplacePair(t *testing.T) {
	density := func(x, m float64) float64 { return math.Exp(-math.Abs(x-m)) / 2 }
	line := func(a, w, al, be float64) float64 {
		const h = .01
		var s float64
		for x := -20 + h/2; x < 24; x += h {
			s += math.Max(0, density(x, a)-al*density(x, w)-be*density(x, 0))
		}
		return s * h
	}
	plane := func(v, w [2]float64, al, be float64) float64 {
		const h = .1
		var s float64
		for x := -10 + h/2; x < 14; x += h {
			p, q, r := density(x, v[0]), density(x, w[0]), density(x, 0)
			for y := -10 + h/2; y < 14; y += h {
				s += math.Max(0, p*density(y, v[1])-al*q*density(y, w[1])-be*r*density(y, 0))
			}
		}
		return s * h * h
	}
	n := 0
	for _, a := range []float64{.3, 1, 3} {
		for _, q := range []float64{.05, .4, .9} {
			for _, eps := range []float64{.1, .5, 1.2} {
				al := math.Exp(eps)
				be := (1 - q) * (al - 1) / q
				worst := line(a, -a, al, be)
				for k := 0; k <= 4; k++ {
					n++
					if g := line(float64(k)*a/4, a, al, be); g > worst+1e-4 {
						t.Errorf("a=%g q=%g ε=%g: same side %g gives %g, the pair %g", a, q, eps, float64(k)*a/4, g, worst)
					}
				}
				for _, vw := range [][2][2]float64{{{a, 0}, {0, a}}, {{a, 0}, {-a / 2, a / 2}}, {{a / 2, a / 2}, {-a / 2, -a / 2}}, {{a / 2, a / 2}, {-a, 0}}} {
					n++
					if g := plane(vw[0], vw[1], al, be); g > worst+2e-3 {
						t.Errorf("a=%g q=%g ε=%g: %v gives %g, the pair %g", a, q, eps, vw, g, worst)
					}
				}
			}
		}
	}
	t.Log("points compared:", n)
}
