package pld

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// contour is the profile of the T-fold composition of a continuous pair by a route of
// its own: no lattice, but the integral of e^(T·log M(z) - z·eps)/(z(z+1)) along
// Re z = θ, M(z) = E e^(zL) by the trapezoidal rule (which converges exponentially for
// these integrands).
type contour struct {
	z, log []complex128
	step   float64
}

func newContour(loss, weight []float64, T, theta, reach, step float64) contour {
	c := contour{step: step}
	for s := 0.0; s < reach; s += step {
		z := complex(theta, s)
		var m complex128
		for i, l := range loss {
			if weight[i] > 1e-40 {
				m += complex(weight[i], 0) * cmplx.Exp(z*complex(l, 0))
			}
		}
		c.z, c.log = append(c.z, z), append(c.log, complex(T, 0)*cmplx.Log(m))
	}
	return c
}

func (c contour) delta(eps float64) float64 {
	sum := 0.0
	for i, z := range c.z {
		v := real(cmplx.Exp(c.log[i]-z*complex(eps, 0)) / (z * (z + 1)))
		if i == 0 {
			v /= 2
		}
		sum += v
	}
	return sum * c.step / math.Pi
}

func (c contour) epsilon(delta, lo, hi float64) float64 {
	for range 45 {
		if mid := (lo + hi) / 2; c.delta(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// subsampled lists losses and weights of the Poisson-sampled Gaussian.
func subsampled(q, sigma float64, d direction) (loss, weight []float64) {
	const n = 1500
	lo, hi := -13*sigma, 13*sigma+1
	dx := (hi - lo) / n
	for i := 0; i <= n; i++ {
		x := lo + float64(i)*dx
		l := math.Log1p(q * math.Expm1((x-0.5)/(sigma*sigma)))
		f := math.Exp(-x*x/(2*sigma*sigma)) / (sigma * math.Sqrt(2*math.Pi)) * dx
		if d == forward {
			loss, weight = append(loss, l), append(weight, f*math.Exp(l))
		} else {
			loss, weight = append(loss, -l), append(weight, f)
		}
	}
	return loss, weight
}

func TestContour(t *testing.T) {
	for _, c := range tier.Some([]struct {
		q, sigma, T, delta, theta, lo, hi, reach, step float64
	}{
		{0.01, 1, 10000, 1e-6, 3.5, 6, 8, 10, 0.02},
		{1e-4, 0.5, 1e5, 1e-9, 2.5, 4, 6, 60, 0.05},
		{1e-4, 0.8, 1e5, 1e-9, 8, .2, 1, 900, 0.25},
	}, 3) {
		loss, weight := subsampled(c.q, c.sigma, forward)
		truth := newContour(loss, weight, c.T, c.theta, c.reach, c.step).epsilon(c.delta, c.lo, c.hi)
		again := newContour(loss, weight, c.T, c.theta*0.9, c.reach*1.2, c.step*0.8).epsilon(c.delta, c.lo, c.hi)
		if math.Abs(truth-again) > 1e-5*truth {
			t.Fatalf("%v: the contours disagree: %v and %v", c, truth, again)
		}
		iv, err := Epsilon(Repeat(int64(c.T), Poisson(c.q, Gaussian(c.sigma))), c.delta, Options{})
		t.Logf("%v: contour %v (%v), ours [%v, %v] %v", c, truth, again, iv.Lower, iv.Upper, err)
		if !(iv.Lower <= truth*(1+1e-9) && truth <= iv.Upper*(1+1e-9)) {
			t.Errorf("%v: [%v, %v] misses %v", c, iv.Lower, iv.Upper, truth)
		}
	}
}
