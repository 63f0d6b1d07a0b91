package privacy

import (
	"math"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// claims gathers published figures for e. None of them is charged.
func claims(e Event, rel Relation, at Point, q query) []Claim {
	if m, ok := e.(Multistage); ok && rel == ReplaceOne {
		return theorem3(m, at, q)
	}
	return nil
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
