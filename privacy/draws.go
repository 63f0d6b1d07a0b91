package privacy

import (
	"math"
	"math/bits"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// basicDraw amplifies the profile of everything that was run on one draw (P4: compose,
// then amplify).
func basicDraw(s Sampling, rel Relation, here string) (profile, *Unsupported) {
	if u := drawable(s, rel, here); u != nil {
		return profile{}, u
	}
	inner := here + ".event"
	switch s := s.(type) {
	case Poisson:
		if rel == AddRemove {
			p, u := basic(s.Event, AddRemove, inner, 1)
			return p.sampled(s.Rate), u
		}
		e, shuffled := unshuffled(s.Event)
		r, u := basic(e, ReplaceOne, inner, 1)
		if u != nil {
			return profile{}, u
		}
		a, u := basic(e, AddRemove, inner, 1)
		if u != nil || shuffled {
			// Without a guarantee under add-remove the presence of the changed record
			// counts as published.
			return r.mixed(s.Rate), nil
		}
		return poissonReplace(s.Rate, a, r), nil
	case WithoutReplacement:
		p, u := basic(s.Event, ReplaceOne, inner, 1)
		p = p.sampled(amplify.Rate(s.Take, s.Of))
		// Under add-remove the true rate is below Take/Of.
		p.exact = p.exact && rel == ReplaceOne
		return p, u
	case WithReplacement:
		return withReplacement(s, inner)
	case Multistage:
		return multistage(s, inner)
	}
	return profile{}, refuse(here, "has no amplification rule")
}

// sampled is the rule of P3 for one inclusion probability.
func (p profile) sampled(q float64) profile {
	return profile{
		at:    amplify.Profile(q, p.delta),
		pure:  amplify.Epsilon(q, p.pure),
		knee:  amplify.Epsilon(q, p.knee),
		floor: amplify.Delta(q, p.floor),
		cost:  p.cost + 1,
		exact: p.exact,
	}
}

// poissonReplace is Poisson sampling under replace-one, from the profiles under
// both relations.
func poissonReplace(q float64, a, r profile) profile {
	mixed := r.mixed(q) // never more than the inner event under replace-one (P28)
	out := profile{
		at: func(eps float64) float64 {
			e := amplify.SampleEpsilon(q, eps)
			return math.Min(amplify.PoissonReplaceDelta(q, e, a.delta(e), r.delta(e)), mixed.delta(eps))
		},
		pure:  math.Min(amplify.PoissonReplacePure(q, a.pure, r.pure), mixed.pure),
		knee:  amplify.Epsilon(q, math.Max(a.knee, r.knee)),
		floor: amplify.PoissonReplaceDelta(q, math.Min(math.Max(a.knee, r.knee), math.MaxFloat64), a.floor, r.floor),
		cost:  a.cost + 2*r.cost + 2,
	}
	if mixed.knee < out.knee && mixed.floor <= out.floor {
		out.knee, out.floor = mixed.knee, mixed.floor
	}
	return out
}

// mixed is the profile of something that happens with public probability p.
func (p profile) mixed(q float64) profile {
	return profile{
		at:   func(eps float64) float64 { return amplify.Delta(q, p.delta(eps)) },
		pure: p.pure, knee: p.knee, floor: amplify.Delta(q, p.floor), cost: p.cost + 1,
	}
}

// withReplacement sums over how often the changed record was drawn.
func withReplacement(s WithReplacement, inner string) (profile, *Unsupported) {
	one, u := basic(s.Event, ReplaceOne, inner, 1)
	if u != nil {
		return profile{}, u
	}
	groups := map[int64]profile{1: one}
	group := func(k int64) profile {
		p, ok := groups[k]
		if !ok {
			if p, u = basic(s.Event, ReplaceOne, inner, float64(k)); u != nil {
				p = one.group(float64(k))
			}
			groups[k] = p
		}
		return p
	}
	q := amplify.WithReplacementRate(s.Take, s.Of)
	return profile{
		at: func(eps float64) float64 {
			e := amplify.SampleEpsilon(q, eps)
			last, d := int64(0), 0.0
			return amplify.WithReplacementDelta(s.Take, s.Of, e, func(k int64) float64 {
				if k = min(s.Take, coarser(k)); k != last {
					last, d = k, group(k).delta(e)
				}
				return d
			})
		},
		pure: amplify.Epsilon(q, group(s.Take).pure),
		knee: math.Inf(1),
		cost: 100 * one.cost,
	}, nil
}

// coarser rounds a group's size up to a grid of about 2 %: k changed units are a
// case of more changed units.
func coarser(k int64) int64 {
	if k <= 64 {
		return k
	}
	step := int64(1) << max(0, bits.Len64(uint64(k))-7)
	return (k + step - 1) / step * step
}

// multistage is the pointwise smallest of the forms of P5 that cover the design.
func multistage(s Multistage, inner string) (profile, *Unsupported) {
	d := design(s)
	one, u := basic(s.Event, ReplaceOne, inner, 1)
	if u != nil {
		return profile{}, u
	}
	unit, both := one, true
	many := profile{}
	if d.SwapsUnequalUnits() {
		// Samples of different sizes are compared: the mechanism must also be
		// private under add-remove, and up to m_1 records are replaced, added or
		// removed.
		a, u := basic(s.Event, AddRemove, inner, 1)
		if both = u == nil; both {
			unit = larger(one, a)
			many = unit.group(d.Group())
		}
	} else if many, u = basic(s.Event, ReplaceOne, inner, d.Group()); u != nil {
		many = one.group(d.Group())
	}
	pure := d.Conditioned(one.pure)
	if both {
		pure = math.Min(pure, d.Pure(unit.pure, true))
	}
	knee, floor := d.Conditioned(one.knee), d.ConditionedDelta(one.floor)
	if both {
		// The group form is flat earlier, and takes over where it is no higher.
		e, f := amplify.Epsilon(d.Inclusion(), many.knee), d.GroupDelta(many.knee, many.floor, unit.floor)
		if e < knee && f <= floor {
			knee, floor = e, f
		}
	}
	return profile{
		at: func(eps float64) float64 {
			e := amplify.SampleEpsilon(d.Last(), eps)
			best := d.ConditionedDelta(one.delta(e))
			if both {
				// Beyond the knee the group's share grows and nothing falls: what holds
				// at the knee holds for every larger ε.
				e := math.Min(amplify.SampleEpsilon(d.Inclusion(), eps), many.knee)
				best = math.Min(best, d.GroupDelta(e, many.delta(e), unit.delta(e)))
			}
			return best
		},
		pure: pure,
		knee: knee, floor: floor,
		cost: 2*one.cost + many.cost + 2,
	}, nil
}

// design is the numeric form of a multistage event's stages.
func design(m Multistage) amplify.Design {
	d := make(amplify.Design, len(m.Stages))
	for i, s := range m.Stages {
		d[i] = amplify.Stage(s)
	}
	return d
}

// drawable refuses, for every method, draws whose rule does not hold under rel or for the
// events inside them.
func drawable(s Sampling, rel Relation, here string) *Unsupported {
	if reason := oneRelation(s); reason != "" && rel != ReplaceOne {
		return refuse(here, reason)
	}
	switch s := s.(type) {
	case Poisson:
		e := s.Event
		if rel == ReplaceOne {
			// The number of reports is that of the sample on both sides (P28).
			e, _ = unshuffled(e)
		}
		if t, at := fixedSize(e, here+".event"); t != nil {
			return refuse(at, unknownSize)
		}
	case WithReplacement:
		return nestedSize(s.Event, here+".event", s.Take)
	case WithoutReplacement:
		return nestedSize(s.Event, here+".event", s.Take)
	case Multistage:
		if t, at := fixedSize(s.Event, here+".event"); t != nil {
			return refuse(at,
				"is about a fixed number of units, but runs on a multistage sample: nesting of the two is not proven, add a stage instead")
		}
	}
	return nil
}

// unshuffled replaces each shuffle by the event of one user, whose guarantee holds for any
// number of users, and says whether there was one. It holds under replace-one only, because
// the number of reports is seen.
func unshuffled(e Event) (Event, bool) {
	switch e := e.(type) {
	case Shuffled:
		return e.Event, true
	case Repeat:
		inner, found := unshuffled(e.Event)
		return Repeat{e.N, inner}, found
	case Compose:
		out := make([]Event, len(e.Events))
		any := false
		for i, p := range e.Events {
			inner, found := unshuffled(p)
			out[i], any = inner, any || found
		}
		if any {
			return Compose{out}, true
		}
	}
	return e, false
}

// fixedSize finds an event that is about a fixed number of units and is run
// directly on the sample at hand.
func fixedSize(e Event, at string) (Event, string) {
	for _, t := range terms(e, at) {
		switch s := t.event.(type) {
		case WithoutReplacement, WithReplacement, Multistage, Shuffled, LastIterate, RowsOfUnit:
			return s, t.path()
		case ByGroup:
			if inner, path := fixedSize(s.Event, t.path()+".event"); inner != nil {
				return inner, path
			}
		case Poisson:
			// The inner sample of a Poisson sample is checked when it is reached.
		}
	}
	return nil, ""
}

// nestedSize checks that draws inside a sample of n units say at most that.
func nestedSize(e Event, at string, n int64) *Unsupported {
	for _, t := range terms(e, at) {
		of := int64(0)
		switch s := t.event.(type) {
		case Shuffled:
			if s.N > n {
				return refuse(t.path(), "shuffles more reports than the sample around it holds")
			}
		case LastIterate:
			of = s.N
		case WithoutReplacement:
			of = s.Of
		case WithReplacement:
			of = s.Of
		case ByGroup:
			if inner, path := fixedSize(s.Event, t.path()+".event"); inner != nil {
				return refuse(path, "is about a fixed number of units, but runs on the groups of a sample, whose sizes are not fixed")
			}
		case RowsOfUnit:
			return refuse(t.path(), "is about all rows of a unit, and runs on a sample of units: nesting of the two is not proven")
		case Multistage:
			return refuse(t.path(), "is drawn inside another sample, which has no public frame")
		}
		if of != 0 && of != n {
			return refuse(t.path(), "runs on the sample around it, whose size is not this N")
		}
	}
	return nil
}
