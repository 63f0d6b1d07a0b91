package keys

import (
	"errors"
	"math"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Threshold adds noise to the number of units of each key and keeps the keys whose noisy number exceeds a threshold.
//
// # Contract
//
// Each unit is counted for at most k keys, once for each. The probability that one of k keys with a single unit each
// exceeds the threshold is at most the δ of the event's key_threshold. Proof: threshold.proof.md.
type Threshold struct {
	gaussian bool
	scale    float64
	keys     int64
	at       int64
	delta    float64
}

// NewThreshold prepares the rule for units with up to the given number of keys, with Laplace noise of the given scale, or
// Gaussian noise with that σ. It takes the lowest threshold that keys of single units pass with probability delta at most.
func NewThreshold(gaussian bool, scale float64, keys int64, delta float64) (*Threshold, error) {
	if !(scale >= noise.MinScale && scale <= 1<<40) || keys < 1 || keys > 1<<40 || !(delta > 1e-200 && delta < 1) {
		return nil, errors.New("keys: the rule needs noise of a scale that can be drawn, a number of keys, and a δ above 0")
	}
	r := &Threshold{gaussian: gaussian, scale: scale, keys: keys}
	// The probability falls with the threshold. Double, then halve.
	lo, hi := int64(0), int64(1) // too low, high enough
	for r.passes(hi) > delta {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; r.passes(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	r.at, r.delta = hi, r.passes(hi)
	return r, nil
}

// passes is at least the probability that one of k keys with one unit each exceeds a threshold of 1 or more.
func (r *Threshold) passes(at int64) float64 {
	p := r.tail(float64(at))
	return math.Min(1, -math.Expm1(float64(r.keys)*math.Log1p(-p))*(1+1e-12)+1e-300)
}

// tail is at least the probability that the noise is x or more, for a whole number x of at least 1, with a relative
// margin for rounding.
func (r *Threshold) tail(x float64) float64 {
	if !r.gaussian {
		return math.Exp(-x/r.scale) / (1 + math.Exp(-1/r.scale)) * (1 + 1e-12)
	}
	if x-0.5 < r.scale { // where the density is not convex, a crude bound
		return 0.5
	}
	return math.Erfc((x-0.5)/r.scale/math.Sqrt2) / 2 * (1 + 1e-11)
}

// Event is the noise on the vector of all numbers and the threshold.
func (r *Threshold) Event() privacy.Event {
	if r.gaussian {
		return privacy.KeyThreshold{Delta: r.delta, Sigma: r.scale, Keys: r.keys}
	}
	k := float64(r.keys)
	return privacy.Compose{Events: []privacy.Event{
		privacy.DiscreteLaplace{Scale: r.scale, Sensitivity: privacy.Sensitivity{AddRemove: k, ReplaceOne: 2 * k}},
		privacy.KeyThreshold{Delta: r.delta},
	}}
}

// Keep adds noise to each number of units and compares it with the threshold.
func (r *Threshold) Keep(src *noise.Source, units []int64, kept []bool) (err error) {
	for i, n := range units {
		kept[i] = n > 0 // a key that nobody has is never published
	}
	if r.gaussian {
		err = noise.AddDiscreteGaussian(src, units, r.scale)
	} else {
		err = noise.AddDiscreteLaplace(src, units, r.scale)
	}
	for i, noisy := range units {
		if kept[i] = kept[i] && noisy > r.at && err == nil; !kept[i] {
			units[i] = 0
		}
	}
	return err
}

// Counts is true.
func (r *Threshold) Counts() bool { return true }

// At is the threshold, which a noisy number must exceed.
func (r *Threshold) At() int64 { return r.at }

// Gaussian reports whether the noise is Gaussian, not Laplace.
func (r *Threshold) Gaussian() bool { return r.gaussian }

// Chance is the probability that the noise lifts a number of units above the threshold.
func (r *Threshold) Chance(units int64) float64 {
	if units <= 0 {
		return 0
	}
	x := float64(r.at - units + 1) // what the noise must reach
	switch {
	case r.gaussian:
		return math.Erfc((x-0.5)/r.scale/math.Sqrt2) / 2
	case x > 0:
		return math.Exp(-x/r.scale) / (1 + math.Exp(-1/r.scale))
	}
	return 1 - math.Exp((x-1)/r.scale)/(1+math.Exp(-1/r.scale))
}

// Deviation is the standard deviation of the noise.
func (r *Threshold) Deviation() float64 {
	if r.gaussian {
		return r.scale
	}
	return math.Sqrt2 * r.scale
}
