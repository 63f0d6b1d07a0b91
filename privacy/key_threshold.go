package privacy

import (
	"math"

	"github.com/dprelease/dprelease/internal/calculus/pld"
)

// KeyThreshold is a choice of keys by their noisy numbers of units: a key that some unit has
// is published, with its noisy number, if that reaches a threshold (P25). With Sigma the event
// holds the noise. Without, it stands in one composition with the event of the noise, which
// covers all other keys.
//
// # Contract
//
// Each unit has at most k keys. The noise is drawn for each key alone, and the
// probability that one of k keys with a single unit each reaches the threshold is at most
// Delta. Where the noise stands beside the event, its sensitivities are those of 2k counts that change by
// one under replace-one, of k under add-remove. Proof: key_threshold.proof.md.
type KeyThreshold struct {
	Delta float64
	Sigma float64 // of discrete Gaussian noise, 0 where the noise stands beside the event
	Keys  int64   // k beside Sigma; 0 stands for 1
}

func (KeyThreshold) kind() string { return "key_threshold" }

var keyThresholdKind = declare[KeyThreshold](Kind{
	About: "a choice of the keys whose noisy number of units reaches a threshold; keys of a single unit reach it with probability at " +
		"most delta; the noise stands beside it, or is discrete Gaussian noise of sigma, and a unit has at most keys keys",
	Also: []string{"threshold", "tau_thresholding"},
	Fields: []Field{number("delta", "δ=", belowOne).most(1e-300, 0.5).also("δ"), number("sigma", "σ=", positive).optional(),
		number("keys", "keys=", atLeastOne).optional()},
	check: on(func(e KeyThreshold, wrong complain) {
		switch {
		case e.Keys != 0 && e.Sigma == 0:
			wrong("keys", "says nothing without sigma: the noise beside the event covers the keys of a unit")
		case e.Keys > 1<<40:
			wrong("keys", "must be at most 2^40")
		}
	}),
	ordered: true,
})

const thresholdGroup = "together with its noise it is proven for one unit that changes, not for several at once"

func (e KeyThreshold) basic(rel Relation, here string, k float64) (profile, *Unsupported) {
	if k != 1 {
		return profile{}, refuse(here, thresholdGroup)
	}
	if e.Sigma > 0 {
		return e.together(rel), nil
	}
	p := approxProfile(Approx{Delta: e.Delta})
	p.exact = false
	return p, nil
}

// moved returns the most keys that gain or lose a unit, and the most keys of a unit.
func (e KeyThreshold) moved(rel Relation) (all, keys int64) {
	if keys = max(1, e.Keys); rel == ReplaceOne {
		return 2 * keys, keys
	}
	return keys, keys
}

// noise is the event of the noise on so many numbers of units that change by one.
func (e KeyThreshold) noise(moved int64) DiscreteGaussian {
	return DiscreteGaussian{e.Sigma, Sensitivity{AddRemove: above(math.Sqrt(float64(moved)), 0)}, moved}
}

// together is the profile of noise and choice. A key that is new on one side has no number that changes on both: the more keys of
// a unit are new, the fewer numbers change.
func (e KeyThreshold) together(rel Relation) profile {
	type mix struct {
		shown float64 // the largest probability that one of the new keys is published
		old   profile // of the noise on the others
	}
	var mixes []mix
	all, keys := e.moved(rel)
	hidden := math.Log1p(-e.Delta)
	for first := int64(0); first <= keys; first = max(1, 2*first) { // so many new keys, or up to twice as many
		last := min(max(first, 2*first-1), keys)
		m := mix{shown: e.Delta, old: numbersProfile(e.noise(all - first))}
		if last < keys {
			m.shown = above(-math.Expm1(float64(last)/float64(keys)*hidden), 1e-14)
		}
		mixes = append(mixes, m)
	}
	at := func(eps float64) float64 {
		var worst float64
		x := eps + hidden
		x -= 4e-16 * (eps - hidden)
		for _, m := range mixes {
			worst = math.Max(worst, m.shown+(1-m.shown)*m.old.everywhere(x))
		}
		return above(worst, 1e-14)
	}
	return profile{at: at, pure: math.Inf(1), knee: math.Inf(1), cost: 8 * float64(len(mixes))}
}

// numbersProfile is the profile of noise on numbers of units. It compares the noise with rounded Gaussian noise as far out as is best.
func numbersProfile(g DiscreteGaussian) profile {
	if g.Coordinates == 0 {
		return gaussianProfile(0)
	}
	var near []closeness
	for _, reach := range []float64{6, 7, 8, 10, 15} {
		near = append(near, closeness{}.add(g, 1, reach))
	}
	s := g.Sensitivity.Under(AddRemove)
	return discreteProfile(ratioUp(s, g.Sigma), ratioUp(s, replacedSigma(g.Sigma)), near...)
}

// beside is the event whose noise stands beside it, which costs no less: each part its worst.
func (e KeyThreshold) beside() Compose {
	noise := e.noise(2 * max(1, e.Keys))
	noise.Sensitivity = Sensitivity{e.noise(max(1, e.Keys)).Sensitivity.AddRemove, noise.Sensitivity.AddRemove}
	return Compose{[]Event{noise, KeyThreshold{Delta: e.Delta}}}
}

func (e KeyThreshold) renyi(rel Relation, here string) (renyiBound, *Unsupported) {
	if e.Sigma > 0 {
		return renyi(e.beside(), rel, here)
	}
	return Approx{Delta: e.Delta}.renyi(rel, here)
}

func (e KeyThreshold) pair(rel Relation, here string) (lossPair, *Unsupported) {
	if e.Sigma > 0 {
		return distribution(e.beside(), rel, here, false)
	}
	return lossPair{mech: pld.Approx(0, e.Delta)}, nil
}
