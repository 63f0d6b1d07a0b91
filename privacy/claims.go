package privacy

import (
	"math"

	"github.com/dprelease/dprelease/privacy/amplify"
	"github.com/dprelease/dprelease/privacy/shuffle"
)

// claims gathers published figures for e. None of them is charged.
func claims(e Event, rel Relation, at Point, q query) []Claim {
	switch e := e.(type) {
	case Multistage:
		if rel == ReplaceOne {
			return theorem3(e, at, q)
		}
	case Shuffled:
		return closedClones(e, rel, at, q)
	}
	return nil
}

const closedSource = "Hiding among the clones, closed form"

// closedClones is the closed form of "Hiding among the clones", for display.
func closedClones(e Shuffled, rel Relation, at Point, q query) []Claim {
	l, u := localReport(e, rel, "shuffled")
	if u != nil || q != epsilonQuery || at.Delta == 0 {
		return nil
	}
	eps, err := shuffle.ClosedForm(l.n, l.eps0, at.Delta)
	if err != nil || math.IsInf(eps, 1) || math.IsNaN(eps) {
		return nil
	}
	return []Claim{{
		Source:  closedSource,
		Epsilon: eps, Delta: at.Delta,
		Why: "a closed form that is shown for comparison; the charged bound is computed numerically",
	}}
}

// compared adds how a claim stands to the bound that is charged.
func compared(cs []Claim, charged float64) []Claim {
	for i, c := range cs {
		if c.Source != closedSource {
			continue
		}
		if c.Epsilon >= charged {
			cs[i].Why = "no smaller than the numeric bound that is charged"
		} else {
			cs[i].Why = "smaller than the charged bound, which counts no more than 1e9 users and rounds outward; " +
				"only what is proven in this program is charged"
		}
	}
	return cs
}

// theorem3 is "Privacy Amplification for Episodic Training Methods", Theorem 3.
func theorem3(m Multistage, at Point, q query) []Claim {
	one, u := basic(m.Event, ReplaceOne, "", 1)
	if u != nil {
		return nil
	}
	d := design(m)
	eta := d.Inclusion()
	p := one.sampled(eta)
	c := Claim{
		Source:  "Privacy Amplification for Episodic Training Methods, Theorem 3",
		Epsilon: at.Epsilon, Delta: at.Delta,
		Why: "not sound when more than one record is drawn below a first-stage unit: the output can reveal which unit was drawn",
	}
	if d.PublishedSound() {
		c.Why = "here only one record changes with the draw, and the charged forms say the same"
	}
	if q == deltaQuery {
		c.Delta = p.delta(at.Epsilon)
		return []Claim{c}
	}
	if c.Epsilon = p.epsilon(at.Delta).upper; at.Delta == 0 {
		c.Epsilon = amplify.Epsilon(eta, one.pure)
	}
	if math.IsInf(c.Epsilon, 1) {
		return nil
	}
	return []Claim{c}
}
