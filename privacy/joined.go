package privacy

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	groups "github.com/dprelease/dprelease/internal/calculus/cluster"
)

// maxDistinct is the number of different draws that a Rényi curve adds up as they are. Of more, it
// joins those that are nearly equal, and charges the worst for each.
const maxDistinct = 96

// shape is an event as a member of a family: of two members, one that has no smaller
// parameter dominates the other (joined.proof.md).
type shape struct {
	family string
	at     []float64
	build  func(at []float64) Event
}

// shapeOf is the family of e; ok is false where no order is proven.
func shapeOf(e Event) (shape, bool) {
	if k, ok := KindOf(e); ok && k.ordered {
		return k.family(e), true
	}
	switch e := e.(type) {
	case Repeat:
		return around(fmt.Sprintf("repeat %d", e.N), nil, e.Event, func(_ []float64, in Event) Event { return Repeat{e.N, in} })
	case Poisson:
		return around("poisson", []float64{e.Rate}, e.Event, func(at []float64, in Event) Event { return Poisson{at[0], in} })
	case WithoutReplacement:
		if e.Of >= 1<<53 {
			return shape{}, false
		}
		return around("without replacement", []float64{float64(e.Take), -float64(e.Of)}, e.Event, func(at []float64, in Event) Event {
			of := int64(-at[1])
			return WithoutReplacement{min(int64(at[0]), of), of, in}
		})
	case ByGroup:
		return around("by group", nil, e.Event, func(_ []float64, in Event) Event { return ByGroup{Event: in} })
	case Shuffled:
		if e.N >= 1<<53 {
			return shape{}, false
		}
		// The local randomizer must be the same one: a family of one.
		return shape{"shuffled " + key(e.Event), []float64{-float64(e.N)},
			func(at []float64) Event { return Shuffled{int64(-at[0]), e.Event} }}, true
	case Compose:
		return composedShape(e)
	}
	return shape{}, false
}

// family is the family of an event whose kind is ordered: the fields that can be
// calibrated are its parameters, and the others are the same for the whole family.
func (k *Kind) family(e Event) shape {
	fixed := k.New()
	fixed.Set(reflect.ValueOf(e))
	var free []*Field
	var at []float64
	sign := func(f *Field) float64 {
		if f.Search.Most {
			return 1
		}
		return -1
	}
	for i := range k.Fields {
		if f := &k.Fields[i]; f.Search != nil {
			free, at = append(free, f), append(at, sign(f)*f.In(fixed).Float())
			f.In(fixed).SetZero()
		}
	}
	return shape{key(fixed.Interface().(Event)), at, func(at []float64) Event {
		out := k.New()
		out.Set(fixed)
		for i, f := range free {
			f.In(out).SetFloat(sign(f) * at[i])
		}
		return out.Interface().(Event)
	}}
}

// around is the family of a draw around an event.
func around(kind string, at []float64, inner Event, build func(at []float64, inner Event) Event) (shape, bool) {
	in, ok := shapeOf(inner)
	if !ok {
		return in, false
	}
	own := len(at)
	return shape{kind + "(" + in.family + ")", append(slices.Clone(at), in.at...),
		func(at []float64) Event { return build(at[:own], in.build(at[own:])) }}, true
}

func composedShape(c Compose) (shape, bool) {
	out := shape{family: "compose("}
	var parts []shape
	for _, e := range c.Events {
		s, ok := shapeOf(e)
		if !ok {
			return s, false
		}
		out.family += s.family + ","
		out.at = append(out.at, s.at...)
		parts = append(parts, s)
	}
	out.family += ")"
	out.build = func(at []float64) Event {
		events := make([]Event, len(parts))
		for i, s := range parts {
			events[i] = s.build(at[:len(s.at)])
			at = at[len(s.at):]
		}
		return Compose{events}
	}
	return out, true
}

// worst joins the terms of a composition that is too long. Each group of nearly equal terms
// runs as often as before, with parameters that dominate all of the group. joined says that
// this happened: the result is no longer attained.
func worst(ts []term, maxPlain int) (out []term, joined bool, u *Unsupported) {
	var cheap, plain, costly, apart []term
	for _, t := range ts {
		switch t.event.(type) {
		case Shuffled:
			costly = append(costly, t)
		case Sampling, ZCDP, LastIterate, ByGroup:
			plain = append(plain, t)
		default:
			// Noise on its own costs little, and Gaussians and pure events add up exactly.
			cheap = append(cheap, t)
		}
	}
	if len(plain) <= maxPlain && len(costly) <= maxCostly {
		return ts, false, nil
	}
	plain, left, u := joinTerms(plain, maxPlain)
	if u != nil {
		return nil, false, u
	}
	costly, apart, u = joinTerms(costly, maxCostly)
	if u != nil {
		return nil, false, u
	}
	costly = append(costly, apart...)
	if len(costly) > maxCostly {
		return nil, false, refuse(costly[maxCostly].path(), fmt.Sprintf("more than %d different parts whose rule is a long sum", maxCostly))
	}
	return slices.Concat(cheap, plain, left, costly), true, nil
}

// maxCostly is the number of different events that a composition may hold whose profile is
// itself a long sum.
const maxCostly = 12

// joinTerms joins terms to at most limit. It returns those without a family apart.
func joinTerms(ts []term, limit int) (joined, apart []term, u *Unsupported) {
	if len(ts) <= limit {
		return ts, nil, nil
	}
	var shapes []shape
	var of []term
	var items []groups.Item
	for _, t := range ts {
		s, ok := shapeOf(t.event)
		if !ok {
			apart = append(apart, t)
			continue
		}
		shapes, of = append(shapes, s), append(of, t)
		items = append(items, groups.Item{Family: s.family, At: s.at, Weight: float64(t.runs)})
	}
	for _, g := range groups.Groups(items, limit) {
		t := of[g[0]]
		if len(g) > 1 {
			at := slices.Clone(items[g[0]].At)
			t.runs = 0
			for _, i := range g {
				for x, v := range items[i].At {
					at[x] = math.Max(at[x], v)
				}
				if t.runs > maxRuns-of[i].runs {
					return nil, nil, refuse(of[i].path(), "too many runs in all")
				}
				t.runs += of[i].runs
			}
			t.event = shapes[g[0]].build(at)
		}
		joined = append(joined, t)
	}
	return joined, apart, nil
}
