package privacy

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// SampleRelations says under which relations a mechanism must hold on the sample
// so that the population gets a guarantee under rel (P3).
func SampleRelations(s Sampling, rel Relation) ([]Relation, error) {
	if err := checkDraw(s, rel); err != nil {
		return nil, err
	}
	switch s := s.(type) {
	case Poisson:
		if rel == ReplaceOne {
			return []Relation{AddRemove, ReplaceOne}, nil
		}
		return []Relation{AddRemove}, nil
	case Multistage:
		if design(s).SwapsUnequalUnits() {
			return []Relation{AddRemove, ReplaceOne}, nil
		}
	case Rotation:
		return []Relation{rel}, nil
	}
	return []Relation{ReplaceOne}, nil
}

// SampleBudget inverts one draw. It returns the most that a mechanism may spend on the
// sample, under the relations of [SampleRelations], so that the population gets target.
// It ignores the event inside s. The answer is rounded down.
//
// # Contract
//
// Everything that is run on the draw shares this one budget (P4). Proof:
// amplify/sampling.proof.md, amplify/multistage.proof.md.
func SampleBudget(s Sampling, rel Relation, target Point) (Point, error) {
	if err := checkDraw(s, rel); err != nil {
		return Point{}, err
	}
	if !(target.Epsilon > 0) || math.IsInf(target.Epsilon, 1) {
		return Point{}, wrong("target.epsilon", "must be positive and finite (%g)", target.Epsilon)
	}
	if !(target.Delta >= 0 && target.Delta < 1) {
		return Point{}, wrong("target.delta", "must lie in [0, 1) (%g)", target.Delta)
	}
	switch s := s.(type) {
	case WithReplacement:
		return multisetBudget(s, target), nil
	case Multistage:
		return stagedBudget(design(s), target), nil
	case Rotation:
		return rotationBudget(s, target), nil
	}
	q := inclusion(s)
	return Point{amplify.SampleEpsilon(q, target.Epsilon), amplify.SampleDelta(q, target.Delta)}, nil
}

// inclusion is a bound on the probability that a unit is in a sample.
func inclusion(s Sampling) float64 {
	switch s := s.(type) {
	case Poisson:
		return s.Rate
	case WithoutReplacement:
		return amplify.Rate(s.Take, s.Of)
	case WithReplacement:
		return amplify.WithReplacementRate(s.Take, s.Of)
	case Multistage:
		return design(s).Inclusion()
	case Rotation:
		return s.Rate()
	}
	return 1
}

// stagedBudget takes the form of P5 that allows the most.
func stagedBudget(d amplify.Design, target Point) Point {
	if target.Delta == 0 {
		return Point{d.SamplePure(target.Epsilon, true), 0}
	}
	// Conditioning: the last stage amplifies epsilon, all stages amplify delta.
	best := Point{
		amplify.SampleEpsilon(d.Last(), target.Epsilon),
		amplify.SampleDelta(d.Inclusion(), target.Delta),
	}
	// Group form: m·ε_n at the group's share of delta.
	m := d.Group()
	e := amplify.SampleEpsilon(d.Inclusion(), target.Epsilon)
	one := e / m
	if math.FMA(one, m, -e) > 0 {
		one = math.Nextafter(one, 0)
	}
	if one > best.Epsilon {
		delta := amplify.Invert(target.Delta, 1, func(x float64) float64 {
			return d.GroupDelta(e, amplify.GroupDelta(m, e, func(float64) float64 { return x }), x)
		})
		if delta > 0 {
			best = Point{one, delta}
		}
	}
	return best
}

// multisetBudget spends half of delta on records that are drawn more than once.
func multisetBudget(s WithReplacement, target Point) Point {
	q := amplify.WithReplacementRate(s.Take, s.Of)
	// A hair below the target: the sum over k has no knee at which it could be met
	// to the last digit.
	e := amplify.SampleEpsilon(q, target.Epsilon*(1-1e-12))
	// k replaced members of an (x, d) mechanism are (k·x, d·Σ e^{ix})-private.
	forward := func(x, d float64) float64 {
		return amplify.WithReplacementDelta(s.Take, s.Of, e, func(k int64) float64 {
			kf := float64(k)
			g := amplify.GroupDelta(kf, amplify.GroupEpsilon(kf, x), func(float64) float64 { return d })
			return amplify.ApproxDelta(amplify.GroupEpsilon(kf, x), g, e)
		})
	}
	if target.Delta == 0 {
		return Point{amplify.Invert(target.Epsilon, e, func(x float64) float64 {
			return amplify.Epsilon(q, amplify.GroupEpsilon(float64(s.Take), x))
		}), 0}
	}
	x := amplify.Invert(target.Delta/2, e, func(x float64) float64 { return forward(x, 0) })
	return Point{x, amplify.Invert(target.Delta, target.Delta/q, func(d float64) float64 { return forward(x, d) })}
}

// Efficiency is q·ε_n/ε: the noise a sampled sum needs is 1/Efficiency times that
// of the full table (P3). It never exceeds 1.
func Efficiency(s Sampling, rel Relation, target Point) (float64, error) {
	b, err := SampleBudget(s, rel, target)
	if err != nil {
		return 0, err
	}
	return math.Min(1, inclusion(s)*(b.Epsilon/target.Epsilon)), nil
}

// checkDraw validates a draw without the event inside it.
func checkDraw(s Sampling, rel Relation) error {
	if s == nil {
		return wrong("", "sampling event is missing")
	}
	if !rel.Valid() {
		return wrong("relation", "must be add-remove or replace-one, there is no default")
	}
	if err := valid(s, s.kind()); err != nil {
		return err
	}
	if reason := oneRelation(s); reason != "" && rel != ReplaceOne {
		return wrong(s.kind(), "%s", reason)
	}
	return nil
}

// oneRelation explains why a draw is refused under add-remove, "" where it is not.
func oneRelation(s Sampling) string {
	switch s.(type) {
	case WithReplacement:
		return "sampling with replacement is proven under replace-one only"
	case Multistage:
		return "multistage sampling is proven for one record changed inside its ultimate unit, under replace-one only"
	}
	return ""
}

// WithoutSampling returns the event without its samples and shuffles: everybody is in every
// sample, and every report is seen with its sender. changed says that this is another
// event. It is for comparison and never charged.
func WithoutSampling(e Event) (_ Event, changed bool) {
	if r, ok := e.(Rotation); ok && r.size() > 1 {
		inner, _ := WithoutSampling(r.Event)
		return Repeat{r.size(), inner}, true // a unit is in as many waves as before
	}
	_, changed = e.(Sampling)
	if _, shuffled := e.(Shuffled); changed || shuffled {
		inner, _ := WithoutSampling(Children(e)[0])
		return inner, true
	}
	inner := slices.Clone(Children(e))
	for i, c := range inner {
		var below bool
		inner[i], below = WithoutSampling(c)
		changed = changed || below
	}
	return WithChildren(e, inner), changed
}
