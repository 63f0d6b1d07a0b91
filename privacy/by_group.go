package privacy

import (
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/calculus/pld"
	"github.com/dprelease/dprelease/internal/calculus/rdp"
)

// ByGroup is Event run on each of several groups of disjoint rows, with randomness of
// its own in each. Under add-remove one group changes. Under replace-one either one
// group has a row replaced, or one group loses a row and another gains one: the answer
// is the worse of the two (P11, P22).
//
// # Contract
//
// Each unit has its row in at most one group, and that row alone decides in which. The
// groups are public. What runs on a group causes Event, and costs no group more than
// that. Fixed is set only where neighbours never differ in the group of a unit (P27).
// Proof: by_group.proof.md.
type ByGroup struct {
	Event Event
	// Fixed says that the unit that changes keeps its group. It counts for nothing inside
	// a sample of fixed size, where a unit of any group takes the place of another.
	Fixed bool
}

func (ByGroup) kind() string { return "by_group" }

var byGroupKind = declare[ByGroup](Kind{
	About: "event on each group of disjoint rows; each unit has its row in at most one group, and keeps its group only if fixed",
	Also:  []string{"parallel", "partition", "partitioned", "per_group"},
	Fields: []Field{
		{Name: "fixed", Optional: true, Sign: "fixed", Example: "write fixed: true, or leave it out"},
		inside(),
	},
})

// alike is a ByGroup that costs the same as Event, by every method. changed says that
// Event only dominates the event on one group.
type alike struct {
	Event   Event
	changed bool
}

func (alike) kind() string { return "by_group" }

// grouped replaces each ByGroup of e that costs the same as another event. The others stay:
// their neighbours may change the group of a unit.
func grouped(e Event, rel Relation) Event { return regroup(e, rel, true) }

// regroup is grouped; kept says that the neighbours at hand keep a fixed group.
func regroup(e Event, rel Relation, kept bool) Event {
	switch x := e.(type) {
	case ByGroup:
		inner := regroup(x.Event, rel, kept)
		if rel == AddRemove || x.Fixed && kept {
			return alike{Event: inner}
		}
		if joint, changed, ok := acrossTwo(inner); ok {
			return alike{joint, changed}
		}
		return ByGroup{Event: inner}
	case Compose:
		out := make([]Event, len(x.Events))
		for i, p := range x.Events {
			out[i] = regroup(p, rel, kept)
		}
		return Compose{out}
	case Repeat:
		x.Event = regroup(x.Event, rel, kept)
		return x
	case Poisson:
		x.Event = regroup(x.Event, rel, kept)
		return x
	case Sampling: // of fixed size: any unit takes the place of another (P27)
		return x.With(regroup(x.Inner(), ReplaceOne, false))
	}
	return e
}

// acrossTwo is an event, run group by group, as one on all groups together. Gaussian noise is
// noise on the vector of all groups: a unit that changes its group moves that by √2 times what it
// moves one group. Selections of two groups have together the sum of their ranges.
func acrossTwo(e Event) (joint Event, changed, ok bool) {
	switch x := e.(type) {
	case Gaussian:
		s, ok := across(x.Sensitivity)
		changed = s != x.Sensitivity
		x.Sensitivity = s
		return x, changed, ok
	case DiscreteGaussian:
		s, ok := across(x.Sensitivity)
		x.Sensitivity, x.Coordinates = s, 2*max(1, x.Coordinates)
		return x, true, ok && x.Coordinates > 0
	case BoundedRange:
		return x.across()
	case alike:
		return acrossTwo(x.Event)
	case Repeat:
		inner, changed, ok := acrossTwo(x.Event)
		return Repeat{x.N, inner}, changed, ok
	case Compose:
		out := Compose{make([]Event, len(x.Events))}
		for i, p := range x.Events {
			one, different, ok := acrossTwo(p)
			if !ok {
				return nil, false, false
			}
			out.Events[i], changed = one, changed || different
		}
		return out, changed, true
	}
	return nil, false, false
}

// across is the L2 sensitivity of the vector of all groups.
func across(s Sensitivity) (Sensitivity, bool) {
	once := s.Under(AddRemove)
	moved := math.Nextafter(math.Sqrt2*once, math.Inf(1))
	if moved > s.Under(ReplaceOne) {
		s = Sensitivity{once, moved}
	}
	return s, once > 0
}

// basic is the larger of the two profiles.
func (e ByGroup) basic(rel Relation, here string, k float64) (profile, *Unsupported) {
	inner := here + ".event"
	p, u := basic(e.Event, rel, inner, 1)
	if u != nil || rel == AddRemove {
		return p.group(k), u
	}
	twice := terms(e.Event, inner)
	for i := range twice {
		twice[i].runs *= 2
	}
	two, u := basicTerms(within(twice, AddRemove), 1)
	if u != nil {
		return profile{}, u
	}
	// k units may change any groups, so this takes k steps of one unit each.
	return larger(p, two).group(k), nil
}

// renyi is the larger of the two curves at every order.
func (e ByGroup) renyi(rel Relation, here string) (renyiBound, *Unsupported) {
	inner := here + ".event"
	one, u := renyi(e.Event, rel, inner)
	if u != nil || rel == AddRemove {
		return one, u
	}
	a, u := renyi(e.Event, AddRemove, inner)
	if u != nil {
		return renyiBound{}, u
	}
	two := rdp.Repeat(2, a.curve)
	return renyiBound{
		curve:  func(alpha float64) float64 { return math.Max(one.curve(alpha), two(alpha)) },
		lost:   math.Max(one.lost, above(2*a.lost, 1e-15)),
		mirror: one.mirror && a.mirror,
	}, nil
}

// pair has the larger of the two profiles.
func (e ByGroup) pair(rel Relation, here string) (lossPair, *Unsupported) {
	inner := here + ".event"
	one, u := distribution(e.Event, rel, inner, true)
	if u != nil || rel == AddRemove {
		return one, u
	}
	a, u := distribution(e.Event, AddRemove, inner, true)
	if u != nil {
		return lossPair{}, u
	}
	out := lossPair{mech: pld.Larger(one.mech, pld.Compose(a.mech, pld.Reverse(a.mech))), witness: one.witness}
	if one.attained && !one.alone {
		out.witness = one.mech
	}
	return out, nil
}

// rho is the larger of the two costs.
func (e ByGroup) rho(rel Relation, here string) (*big.Rat, *Unsupported) {
	inner := here + ".event"
	one, u := rho(e.Event, rel, inner)
	if u != nil || rel == AddRemove {
		return one, u
	}
	two, u := rho(e.Event, AddRemove, inner)
	if u != nil {
		return nil, u
	}
	if two.Add(two, two).Cmp(one) > 0 {
		return two, nil
	}
	return one, nil
}
