package privacy

import (
	"math"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// Reuse is one draw of a sample that several jobs release from, each of them
// planned after the outputs of the earlier ones were seen. All of it is composed
// on the sample first and amplified once (P4), by basic composition, because the
// choices are adaptive (P10).
//
// # Contract
//
// Whatever step i does, it is (ε_i, δ_i)-private on the sample under every relation
// of [SampleRelations], for every history before it. Then the draw, together with
// whatever else is done to the data at the same time, adds at most
// Epsilon(Σ ε_i) and Σ Delta(Σ_{j<i} ε_j, δ_i) to a basic account. The draw is
// secret and stays it. Proof: reuse.proof.md.
type Reuse struct {
	sampling Sampling
	relation Relation
	rate     float64 // 0 where only pure steps have a proof
	sides    float64 // how many neighbours of a sample each step is compared with
}

// NewReuse is the accounting of one draw. The event inside s is ignored.
func NewReuse(s Sampling, rel Relation) (*Reuse, error) {
	if err := checkDraw(s, rel); err != nil {
		return nil, err
	}
	if _, panel := s.(Rotation); panel {
		return nil, wrong(s.kind(), "is planned as a whole, before its first wave")
	}
	r := &Reuse{sampling: s, relation: rel, sides: 1}
	switch s.(type) {
	case Poisson, WithoutReplacement:
		r.rate = inclusion(s)
	}
	if rel == ReplaceOne && r.rate < 1 {
		r.sides = 2
	}
	return r, nil
}

// Epsilon is the cost of a draw to the population, where the releases from it spend spent
// on the sample in all.
func (r *Reuse) Epsilon(spent float64) (float64, error) {
	switch {
	case !(spent >= 0) || math.IsInf(spent, 1):
		return 0, wrong("epsilon", "what is spent on a sample must be finite and not negative (%g)", spent)
	case spent == 0:
		return 0, nil
	case r.rate > 0:
		return amplify.Epsilon(r.rate, spent), nil
	}
	a, err := EpsilonWith(r.sampling.With(Pure{Eps: spent}), r.relation, 0, Options{Quick: true})
	return a.Epsilon, err
}

// deltaRate is the cost to the population of one unit of δ on the sample, in a step before
// which epsilon was spent.
func (r *Reuse) deltaRate(epsilon float64) float64 {
	return above(r.sides*amplify.Posterior(r.rate, epsilon), 4e-16)
}

// Delta is the cost to the population of a step with this δ on the sample, where earlier
// steps spent before on the sample.
func (r *Reuse) Delta(before, delta float64) (float64, error) {
	switch {
	case delta == 0:
		return 0, nil
	case !(delta > 0 && delta < 1) || !(before >= 0):
		return 0, wrong("delta", "must lie in [0, 1) (%g)", delta)
	case r.rate == 0:
		return 0, wrong(r.sampling.kind(),
			"is kept for pure releases only: what a delta of several jobs costs together is not proven for this design")
	}
	return math.Min(1, above(r.deltaRate(before)*delta, 4e-16)), nil
}

// Step returns the most that one more step may spend on the sample, where earlier steps
// spent before and this one may cost the population target. The answer is rounded down.
func (r *Reuse) Step(before float64, target Point) (Point, error) {
	if !(target.Epsilon > 0) || math.IsInf(target.Epsilon, 1) || !(target.Delta >= 0 && target.Delta < 1) {
		return Point{}, wrong("target", "epsilon must be positive and finite, delta must lie in [0, 1) (%g, %g)", target.Epsilon, target.Delta)
	}
	base, err := r.Epsilon(before)
	if err != nil {
		return Point{}, err
	}
	most, err := SampleBudget(r.sampling, r.relation, Point{Epsilon: base + target.Epsilon})
	if err != nil {
		return Point{}, err
	}
	step := Point{Epsilon: amplify.Invert(target.Epsilon, math.Max(most.Epsilon, target.Epsilon), func(e float64) float64 {
		all, failed := r.Epsilon(above(before+e, 4e-16))
		if failed != nil {
			return math.Inf(1)
		}
		return above(all-base, 4e-16)
	})}
	if target.Delta > 0 && r.rate > 0 {
		step.Delta = math.Min(target.Delta/r.deltaRate(before)*(1-1e-15), math.Nextafter(1, 0))
	}
	return step, nil
}
