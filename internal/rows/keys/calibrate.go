package keys

import (
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/privacy"
)

// Want holds the demands on a selection.
type Want struct {
	Target    privacy.Point      // the guarantee that the selection must keep to,
	Relations []privacy.Relation // under each of these
	Keys      int64              // the most keys that a unit is counted for
	Counts    bool               // noisy numbers of units are wanted as well
	_         struct{}
}

// ErrDelta says that no key can be published without a δ.
var ErrDelta = errors.New("a choice of unknown keys needs a guarantee with a delta: without one no key that a single unit " +
	"has may ever appear")

// Calibrate returns the rule that meets the guarantee and under which the smallest groups have an even chance to appear:
// the truncated geometric rule, or Laplace noise, truncated or not, or Gaussian noise, and a threshold.
//
// # Contract
//
// Under each of the relations, the rule's event costs at most the target. Proof: calibrate.proof.md.
func Calibrate(w Want) (Rule, error) {
	t := w.Target
	switch {
	case !(t.Epsilon > 0) || math.IsInf(t.Epsilon, 1) || w.Keys < 1 || len(w.Relations) == 0:
		return nil, errors.New("keys: a selection needs a positive ε, a number of keys, and a relation")
	case !(t.Delta > 0 && t.Delta < 1):
		return nil, ErrDelta
	}
	rules := []func(Want) (Rule, error){geometricRule, laplaceRule, gaussianRule, truncatedRule}
	if w.Counts {
		rules = rules[1:]
	}
	var best Rule
	var size int64
	for _, rule := range rules {
		r, err := rule(w)
		if err != nil || !w.meets(r.Event()) {
			continue
		}
		if n, ok := Size(r, 0.5); ok && (best == nil || n < size) {
			best, size = r, n
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no rule keeps a key of fewer than %d units within epsilon %g and delta %g", maxSize, t.Epsilon, t.Delta)
	}
	return best, nil
}

// meets reports whether an event keeps to the target under every relation.
func (w Want) meets(e privacy.Event) bool {
	for _, rel := range w.Relations {
		a, err := privacy.DeltaWith(e, rel, w.Target.Epsilon, privacy.Options{Methods: []string{"basic"}, Quick: true})
		if err != nil || a.Delta > w.Target.Delta {
			return false
		}
	}
	return true
}

// moved returns how many numbers of units a changed unit moves.
func (w Want) moved() float64 {
	for _, rel := range w.Relations {
		if rel == privacy.ReplaceOne {
			return 2 * float64(w.Keys)
		}
	}
	return float64(w.Keys)
}

// slack is taken off a δ before it is shared, so that what rounding adds to the parts fits.
const slack = 1 - 1e-10

// scale returns the scale of Laplace noise that spends the whole of ε.
func (w Want) scale() float64 { return w.moved() / w.Target.Epsilon * (1 + 1e-15) }

// share returns the δ of each key that changes: together they spend the whole of δ.
func (w Want) share() float64 { return -math.Expm1(math.Log1p(-w.Target.Delta*slack) / w.moved()) }

// geometricRule shares the guarantee equally among the keys that change.
func geometricRule(w Want) (Rule, error) {
	return NewGeometric(math.Nextafter(w.Target.Epsilon/w.moved(), 0), w.share(), w.Keys)
}

// laplaceRule leaves the whole of δ to the threshold.
func laplaceRule(w Want) (Rule, error) {
	return NewThreshold(false, w.scale(), w.Keys, w.Target.Delta*slack)
}

// truncatedRule shares the guarantee equally among the keys that change, as geometricRule does, for noisy numbers.
func truncatedRule(w Want) (Rule, error) {
	return NewTruncated(w.scale(), w.Keys, w.share())
}

// gaussianRule lets the threshold spend nearly all of δ, and finds the least noise that fits beside it: a unit whose keys are all new
// has no others that the noise must hide, so that most of δ is spent once (P25).
func gaussianRule(w Want) (Rule, error) {
	var best *Threshold
	for _, share := range []float64{1, 0.999, 0.99, 0.95, 0.9, 0.8, 0.6, 0.4} {
		rule := func(sigma float64) (*Threshold, error) {
			return NewThreshold(true, sigma, w.Keys, w.Target.Delta*slack*share)
		}
		sigma := leastSigma(math.Sqrt(w.moved()), func(x float64) bool {
			r, err := rule(x)
			return err == nil && w.meets(r.Event())
		})
		r, err := rule(sigma)
		if err == nil && w.meets(r.Event()) && (best == nil || r.at < best.at || r.at == best.at && r.scale < best.scale) {
			best = r
		}
	}
	if best == nil {
		return nil, errScale
	}
	return best, nil
}

// leastSigma is the smallest σ found that fits, from a first guess on; it is too large to be drawn where none does.
func leastSigma(guess float64, fits func(sigma float64) bool) float64 {
	lo, hi := 0.0, guess
	for !fits(hi) {
		if lo, hi = hi, 2*hi; hi > 1<<41 {
			return hi
		}
	}
	for hi-lo > 1e-7*hi {
		if mid := lo + (hi-lo)/2; fits(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
