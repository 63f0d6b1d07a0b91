package privacy

import "github.com/dprelease/dprelease/internal/calculus/pld"

// KeyThreshold is a choice of keys by their noisy numbers of units: a key that some unit has
// is published, with its noisy number, if that reaches a threshold. The event stands in one
// composition with the event of the noise, which covers all other keys (P25).
//
// # Contract
//
// Each unit has at most k keys. The noise is drawn for each key alone, and the
// probability that one of k keys with a single unit each reaches the threshold is at most
// Delta. The noise's sensitivities are those of 2k counts that change by one under
// replace-one, of k under add-remove. Proof: key_threshold.proof.md.
type KeyThreshold struct{ Delta float64 }

func (KeyThreshold) event() {}

// Kind is "key_threshold".
func (KeyThreshold) Kind() string { return "key_threshold" }

var keyThresholdKind = declare[KeyThreshold](Kind{
	About: "a choice of the keys whose noisy number of units reaches a threshold; keys of a single unit reach it with probability at " +
		"most delta; the noise stands beside it",
	Also:    []string{"threshold", "tau_thresholding"},
	Fields:  []Field{number("delta", "δ=", belowOne).most(1e-300, 0.5).also("δ")},
	ordered: true,
})

const thresholdGroup = "together with its noise it is proven for one unit that changes, not for several at once"

func (e KeyThreshold) basic(_ Relation, here string, k float64) (profile, *Unsupported) {
	if k != 1 {
		return profile{}, refuse(here, thresholdGroup)
	}
	p := approxProfile(Approx{Delta: e.Delta})
	p.exact = false
	return p, nil
}

func (e KeyThreshold) renyi(rel Relation, here string) (renyiBound, *Unsupported) {
	return Approx{Delta: e.Delta}.renyi(rel, here)
}

func (e KeyThreshold) pair(Relation, string) (lossPair, *Unsupported) {
	return lossPair{mech: pld.Approx(0, e.Delta)}, nil
}
