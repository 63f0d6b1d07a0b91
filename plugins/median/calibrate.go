package median

import (
	"fmt"
	"math"
)

// smoothing holds the parts of an (ε, δ) budget that is spent on one quantile: noise S/shift·Lap(1)
// with S the beta-smooth sensitivity.
type smoothing struct {
	shift  float64 // s: what moving the quantile by S costs
	dilate float64 // a: what changing the noise scale by e^±beta may cost
	beta   float64
}

// dilation bounds from above the δ that changing the scale of Laplace noise by a
// factor e^±beta, beta ≤ a, costs beside a (P13):
// (1 − e^−β)·exp(−(a+β)/(e^β − 1)).
func dilation(a, beta float64) float64 {
	// The exponent carries an error of some units in its last place and is at most
	// 750 where the result is not 0; the factor is a thousand times that (P17).
	return -math.Expm1(-beta) * math.Exp(-(a+beta)/math.Expm1(beta)) * (1 + 1e-9)
}

// exact is the largest beta ≤ a with dilation(a, beta) ≤ delta: the least smooth,
// hence smallest, sensitivity that the budget allows. dilation grows with beta.
func exact(a, delta float64) float64 {
	if dilation(a, a) <= delta {
		return a
	}
	lo, hi := 0.0, a
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if dilation(a, mid) <= delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// split divides ε into shift and dilate, which add up to less than it.
func split(epsilon, share float64) (shift, dilate float64) {
	shift = epsilon * share
	return shift, math.Nextafter(epsilon-shift, 0)
}

// minDelta keeps clear of numbers that have lost digits.
const minDelta = 1e-290

// calibrate chooses beta.
func (p params) calibrate(epsilon, delta float64) (smoothing, error) {
	if !(delta > 0) {
		return smoothing{}, fmt.Errorf("method: smooth-laplace needs a guarantee with a delta; use exponential for a pure epsilon")
	}
	if delta < minDelta {
		return smoothing{}, fmt.Errorf("guarantee: delta is too small for a smooth sensitivity; use method: exponential")
	}
	var c smoothing
	c.shift, c.dilate = split(epsilon, p.NoiseShare)
	if p.Calibration == published {
		c.beta = epsilon / (2 * math.Log(2/delta))
		if c.beta > c.dilate || dilation(c.dilate, c.beta) > delta {
			return c, fmt.Errorf("calibration: the published beta costs a delta of %.4g on the sample, more than the %.4g there is; "+
				"use calibration: exact",
				dilation(c.dilate, math.Min(c.beta, 700)), delta)
		}
	} else {
		c.beta = exact(c.dilate, delta)
	}
	if c.beta < minBeta {
		return c, fmt.Errorf("guarantee: epsilon or delta is too small for a smooth sensitivity; use method: exponential")
	}
	return c, nil
}
