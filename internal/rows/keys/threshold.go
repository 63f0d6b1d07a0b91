package keys

import (
	"errors"
	"math"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/tails"
	"github.com/dprelease/dprelease/privacy"
)

// noiseLaw names a kind of noise.
type noiseLaw int

const (
	laplace noiseLaw = iota
	gaussian
	truncated // Laplace noise that is drawn again until it is at most the threshold, and no less than minus the threshold
)

// Threshold adds noise to the number of units of each key and keeps the keys whose noisy number exceeds a threshold.
//
// # Contract
//
// Each unit is counted for at most k keys, once for each. The probability that one of k keys with a single unit each
// exceeds the threshold is at most the δ of the event's key_threshold. With truncated noise the numbers of n and n + 1 units, hidden or
// shown, are (ε, δ)-indistinguishable by the event's ε and δ. Proof: threshold.proof.md.
type Threshold struct {
	law   noiseLaw
	scale float64
	keys  int64
	at    int64
	delta float64    // that one of k keys of single units passes; of truncated noise, that one passes
	tails *tails.Law // for chances and intervals
}

// NewThreshold prepares the rule for units with up to the given number of keys, with Laplace noise of the given scale, or
// Gaussian noise with that σ. It takes the lowest threshold that keys of single units pass with probability delta at most.
func NewThreshold(withGaussian bool, scale float64, keys int64, delta float64) (*Threshold, error) {
	r := &Threshold{scale: scale, keys: keys}
	if withGaussian {
		r.law = gaussian
	}
	return r.lowest(delta)
}

// NewTruncated prepares the rule with Laplace noise of the given scale that is drawn again until it does not exceed the threshold, up or
// down. It takes the lowest threshold that a key of a single unit passes with probability delta at most.
func NewTruncated(scale float64, keys int64, delta float64) (*Threshold, error) {
	return (&Threshold{law: truncated, scale: scale, keys: keys}).lowest(delta)
}

var errScale = errors.New("keys: the rule needs noise of a scale that can be drawn, a number of keys, and a δ above 0")

func (r *Threshold) lowest(delta float64) (*Threshold, error) {
	at, ok := int64(0), r.scale >= noise.MinScale && r.scale <= 1<<40 && r.keys >= 1 && r.keys <= 1<<40 && delta > 1e-200 && delta < 1
	if ok {
		at, ok = least(func(n int64) bool { return r.passes(n) <= delta })
	}
	if !ok {
		return nil, errScale
	}
	r.at, r.delta = at, r.passes(at)
	switch r.law {
	case laplace:
		r.tails = tails.Laplace(r.scale)
	case gaussian:
		r.tails = tails.Gaussian(r.scale)
	default:
		r.tails = tails.Truncated(r.scale, r.at)
	}
	return r, nil
}

// passes is at least the probability that one of k keys with one unit each exceeds a threshold of 1 or more.
func (r *Threshold) passes(at int64) float64 {
	if r.law == truncated { // the noise is the threshold itself
		return math.Min(1, math.Exp(-float64(at)/r.scale)*-math.Expm1(-1/r.scale)/tails.Weight(r.scale, at)*(1+1e-11)+1e-300)
	}
	p := r.tail(float64(at))
	return math.Min(1, -math.Expm1(float64(r.keys)*math.Log1p(-p))*(1+1e-12)+1e-300)
}

// tail is at least the probability that the noise is x or more, for a whole number x of at least 1, with a relative
// margin for rounding.
func (r *Threshold) tail(x float64) float64 {
	if r.law == laplace {
		return math.Exp(-x/r.scale) / (1 + math.Exp(-1/r.scale)) * (1 + 1e-12)
	}
	if x-0.5 < r.scale { // where the density is not convex, a crude bound
		return 0.5
	}
	return math.Erfc((x-0.5)/r.scale/math.Sqrt2) / 2 * (1 + 1e-11)
}

// Keys is the most keys of a unit.
func (r *Threshold) Keys() int64 { return r.keys }

// Event is the noise on the vector of all numbers and the threshold.
func (r *Threshold) Event() privacy.Event {
	switch r.law {
	case gaussian:
		return privacy.KeyThreshold{Delta: r.delta, Sigma: r.scale, Keys: r.keys}
	case truncated:
		one := privacy.KeySelection{Eps: math.Nextafter(1/r.scale, math.Inf(1)), Delta: r.delta}
		if r.keys == 1 {
			return one
		}
		return privacy.Repeat{N: r.keys, Event: one}
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
	switch r.law {
	case gaussian:
		err = noise.AddDiscreteGaussian(src, units, r.scale)
	case laplace:
		err = noise.AddDiscreteLaplace(src, units, r.scale)
	default:
		err = r.addTruncated(src, units)
	}
	for i, noisy := range units {
		if kept[i] = kept[i] && noisy > r.at && err == nil; !kept[i] {
			units[i] = 0
		}
	}
	return err
}

// addTruncated adds Laplace noise that is drawn again while it exceeds the threshold, up or down.
func (r *Threshold) addTruncated(src *noise.Source, units []int64) error {
	drawn := make([]int64, len(units))
	again := make([]int, len(units)) // the places that need a draw
	for i := range again {
		again[i] = i
	}
	for len(again) > 0 {
		drawn = drawn[:len(again)]
		clear(drawn)
		if err := noise.AddDiscreteLaplace(src, drawn, r.scale); err != nil {
			return err
		}
		left := again[:0]
		for i, z := range drawn {
			if -r.at <= z && z <= r.at {
				units[again[i]] += z
			} else {
				left = append(left, again[i])
			}
		}
		again = left
	}
	return nil
}

// Counts is true.
func (r *Threshold) Counts() bool { return true }

// At is the threshold, which a noisy number must exceed.
func (r *Threshold) At() int64 { return r.at }

// Law is the name of the noise.
func (r *Threshold) Law() string {
	return [...]string{"Laplace", "Gaussian", "truncated Laplace"}[r.law]
}

// Chance is the probability that the noise lifts a number of units above the threshold.
func (r *Threshold) Chance(units int64) float64 {
	if units <= 0 {
		return 0
	}
	return math.Exp(r.tails.Log(r.at - units + 1))
}

// Interval holds the number of units of a key that is shown with a noisy number, given that it exceeds above, with at least the
// probability level (tails.Law). Above is the threshold, or what the numbers of other keys raised it to (Selection.Above). // P41
func (r *Threshold) Interval(noisy, above int64, level float64) (low, high int64) {
	return r.tails.Interval(noisy, above, 1, level)
}

// Half is half of an interval that holds the noise, without any condition, with at least the probability level.
func (r *Threshold) Half(level float64) int64 { return r.tails.Half(level) }

// Deviation is the standard deviation of the noise.
func (r *Threshold) Deviation() float64 {
	switch r.law {
	case gaussian:
		return r.scale
	case truncated:
		return r.tails.Deviation()
	}
	return math.Sqrt2 * r.scale
}
