package privacy

import (
	"math"
	"testing"
)

// The closeness of discrete Gaussian noise to a rounded Gaussian, against the exact masses.
func TestNearGaussian(t *testing.T) {
	for _, sigma := range []float64{3, 3.7, 5, 10, 40, 200} {
		for _, reach := range []float64{3, 6, 9} {
			c := nearGaussian(sigma, reach)
			s := replacedSigma(sigma)
			var z float64
			for k := math.Ceil(40 * sigma); k >= 1; k-- {
				z += 2 * math.Exp(-k*k/(2*sigma*sigma))
			}
			z++
			worst, tailD, tailG := 0.0, 0.0, 0.0
			for k := 0.0; k <= 12*sigma; k++ {
				p := math.Exp(-k*k/(2*sigma*sigma)) / z
				// The rounded mass by Simpson's rule on 64 panels: it does not cancel.
				const n = 64
				var g float64
				for i := 0; i <= n; i++ {
					w := 2.0 + 2*float64(i%2)
					if i == 0 || i == n {
						w = 1
					}
					x := (k - 0.5 + float64(i)/n) / s
					g += w * math.Exp(-x*x/2)
				}
				g /= 3 * n * s * math.Sqrt(2*math.Pi)
				twice := 2.0
				if k == 0 {
					twice = 1
				}
				if k <= reach*sigma {
					worst = math.Max(worst, math.Abs(math.Log(g/p)))
				} else {
					tailD, tailG = tailD+twice*p, tailG+twice*g
				}
			}
			if worst > c.ratio+1e-13 || tailD > c.tail || tailG > c.tail {
				t.Errorf("sigma %g, reach %g: ratio %.3g (bound %.3g), tails %.3g %.3g (bound %.3g)", sigma, reach, worst, c.ratio, tailD, tailG, c.tail)
			}
			if sigma <= 40 && c.ratio > 20*worst+1e-13 {
				t.Errorf("sigma %g, reach %g: the bound %.3g is far above the ratio %.3g", sigma, reach, c.ratio, worst)
			}
		}
	}
}

// One discrete Gaussian release: every method lies above the exact profile, and the smoothed ones hardly above it.
func TestDiscreteGaussianProfile(t *testing.T) {
	exact := func(sigma float64, shift int, eps float64) float64 {
		var z, d float64
		n := int(12*sigma) + shift
		for k := -n; k <= n; k++ {
			z += math.Exp(-float64(k*k) / (2 * sigma * sigma))
		}
		for k := -n; k <= n; k++ {
			p, q := math.Exp(-float64(k*k)/(2*sigma*sigma))/z, math.Exp(-float64((k-shift)*(k-shift))/(2*sigma*sigma))/z
			d += math.Max(0, q-math.Exp(eps)*p)
		}
		return d
	}
	for _, c := range []struct {
		sigma float64
		shift int
	}{{2, 1}, {4, 1}, {20, 7}, {20, 40}, {300, 300}} {
		e := DiscreteGaussian{Sigma: c.sigma, Sensitivity: Sensitivity{AddRemove: float64(c.shift)}}
		for _, eps := range []float64{0.1, 0.5, 1, 2} {
			a, err := DeltaAt(e, AddRemove, eps)
			if err != nil {
				t.Fatal(err)
			}
			truth := exact(c.sigma, c.shift, eps)
			for m, b := range a.Methods {
				if b.Delta < truth*(1-1e-9)-1e-15 {
					t.Errorf("%+v at %g: %s says %g, the truth is %g", c, eps, m, b.Delta, truth)
				}
			}
			if a.Delta > truth*1.02+1e-9 {
				t.Errorf("%+v at %g: charged %g, the truth is %g", c, eps, a.Delta, truth)
			}
		}
	}
}
