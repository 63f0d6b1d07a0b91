package privacy

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/calculus/pld"
)

// Rotation is a panel that rotates: every unit is allotted to a set of waves at random, by
// itself, and Event is run in each wave on the units that are in it (P34). Where In is set,
// the sets are all sets of In waves, all alike. Else Patterns lists them.
//
// # Contract
//
// The allotment was drawn once, each unit by itself, with chances that are public and that
// no data decide. It stays secret for good. Event is everything that is released in one
// wave, whatever was seen of earlier waves; it is the same in every wave. Under replace-one
// the groups may have fixed sizes. Proof: rotation.proof.md.
type Rotation struct {
	Waves    int64
	In       int64
	Patterns []Pattern
	Event    Event
}

// Pattern is a set of waves in which a unit may be. Its chance is Weight over the weights of
// all patterns; a Weight of 0 stands for 1.
type Pattern struct {
	Waves  []int64
	Weight int64
}

func (Rotation) kind() string { return "rotation" }

// Inner returns the event that is run in each wave.
func (e Rotation) Inner() Event { return e.Event }

// With returns the same panel with another event in each wave.
func (e Rotation) With(inner Event) Event { e.Event = inner; return e }

// Limits of a rotation.
const (
	MaxWaves    = 10_000
	MaxPatterns = 1000
	maxWeight   = 1e6
)

var rotationKind = declare[Rotation](Kind{
	About: "each unit is in some of the waves, chosen at random for it alone and kept secret; event is run in each wave",
	Also:  []string{"rotating_panel", "random_allocation"},
	Fields: []Field{
		number("waves", "", fromOneTo(MaxWaves)).also("t", "steps"),
		number("in", "", fromOneTo(MaxWaves)).optional().also("k", "take"),
		{Name: "patterns", Optional: true, Example: "such as patterns: [{waves: [1, 2]}, {waves: [3, 4]}]", Fields: []Field{
			{Name: "waves", Example: "such as waves: [1, 2]", check: fromOneTo(MaxWaves)},
			number("weight", "", fromOneTo(maxWeight)).optional(),
		}},
		inside(),
	},
	check: on(func(e Rotation, wrong complain) {
		switch {
		case e.In == 0 && len(e.Patterns) == 0:
			wrong("in", "is missing: say in how many waves a unit is, or list the patterns")
		case e.In > 0 && len(e.Patterns) > 0:
			wrong("patterns", "cannot stand beside in")
		case e.In > e.Waves:
			wrong("in", "must be at most waves (%d > %d)", e.In, e.Waves)
		case len(e.Patterns) > MaxPatterns:
			wrong("patterns", "must be at most %d", MaxPatterns)
		}
		for i, p := range e.Patterns {
			last := int64(0)
			for _, w := range p.Waves {
				if w <= last || w > e.Waves {
					wrong(fmt.Sprintf("patterns[%d].waves", i), "must be different waves from 1 to %d, in their order", e.Waves)
					break
				}
				last = w
			}
		}
	}),
	head: func(x Event) string {
		e, _ := x.(Rotation)
		if e.In > 0 {
			return fmt.Sprintf("%d of %d waves", e.In, e.Waves)
		}
		return fmt.Sprintf("%d patterns in %d waves", len(e.Patterns), e.Waves)
	},
})

// upTo checks whole numbers from 1 on.
func fromOneTo(most float64) func(x float64) string {
	return func(x float64) string {
		if !(x >= 1 && x <= most) {
			return fmt.Sprintf("must lie between 1 and %g", most)
		}
		return ""
	}
}

// size returns the largest number of waves that a unit may be in.
func (e Rotation) size() int64 {
	most := e.In
	for _, p := range e.Patterns {
		most = max(most, int64(len(p.Waves)))
	}
	return most
}

// Chance returns how likely a unit is in a wave, the first of which is 1.
func (e Rotation) Chance(wave int64) *big.Rat {
	if e.In > 0 {
		return big.NewRat(e.In, e.Waves)
	}
	var in, all int64
	for _, p := range e.Patterns {
		w := max(p.Weight, 1)
		all += w
		if slices.Contains(p.Waves, wave) {
			in += w
		}
	}
	return big.NewRat(in, all)
}

// Rate returns the largest chance of a wave, rounded up.
func (e Rotation) Rate() float64 {
	best := new(big.Rat)
	for w := int64(1); w <= e.Waves; w++ {
		if c := e.Chance(w); c.Cmp(best) > 0 {
			best = c
		}
		if e.In > 0 {
			break // all are alike
		}
	}
	return ratUp(best)
}

// known returns what a unit pays whose waves are known: the most waves that it may be in. The
// rotation never costs more, under either relation.
func (e Rotation) known() Event { return Repeat{e.size(), e.Event} }

// steady refuses events about a fixed number of units.
func (e Rotation) steady(here string) *Unsupported {
	if t, at := fixedSize(e.Event, here+".event"); t != nil {
		return refuse(at, unknownSize)
	}
	return nil
}

// basic returns the profile of known waves.
func (e Rotation) basic(rel Relation, here string, k float64) (profile, *Unsupported) {
	if u := e.steady(here); u != nil {
		return profile{}, u
	}
	p, u := basic(e.known(), rel, here+".event", 1)
	p.exact = false
	return p.group(k), u
}

// renyi returns the curve of known waves.
func (e Rotation) renyi(rel Relation, here string) (renyiBound, *Unsupported) {
	if u := e.steady(here); u != nil {
		return renyiBound{}, u
	}
	b, u := renyi(e.known(), rel, here+".event")
	b.mirror = false
	return b, u
}

// rho returns that of known waves: ρ is not amplified (P28).
func (e Rotation) rho(rel Relation, here string) (*big.Rat, *Unsupported) {
	if u := e.steady(here); u != nil {
		return nil, u
	}
	return rho(e.known(), rel, here+".event")
}

// pair builds that of the allotment under add-remove. Under replace-one only the cost of known
// waves is proven, with groups of fixed sizes or without.
func (e Rotation) pair(rel Relation, here string) (lossPair, *Unsupported) {
	if u := e.steady(here); u != nil {
		return lossPair{}, u
	}
	if rel == ReplaceOne {
		p, u := distribution(e.known(), rel, here+".event", true)
		return lossPair{mech: p.mech}, u
	}
	p, u := distribution(e.Event, rel, here+".event", true)
	if u != nil {
		return lossPair{}, u
	}
	out := lossPair{attained: p.attained && !p.alone}
	if e.In > 0 {
		// The waves fall at random into In groups, and the unit is in one wave of each:
		// that is a set of In waves, all alike. Telling the groups costs something.
		short, more := e.Waves/e.In, e.Waves%e.In
		out.mech = pld.Compose(
			pld.Repeat(e.In-more, pld.OneOf(pld.Part{Weight: 1, Count: short, Mechanism: p.mech})),
			pld.Repeat(more, pld.OneOf(pld.Part{Weight: 1, Count: short + 1, Mechanism: p.mech})))
		out.attained = out.attained && (e.In == 1 || e.In == e.Waves)
		return out, nil
	}
	// Patterns that share a wave are told apart: to which class the unit's pattern
	// belongs counts as published.
	var classes []pld.Part
	for _, class := range e.classes() {
		var parts []pld.Part
		all := int64(0)
		for _, p0 := range class {
			all += p0.Weight
			parts = append(parts, pld.Part{Weight: float64(p0.Weight), Count: 1, Mechanism: pld.Repeat(int64(len(p0.Waves)), p.mech)})
		}
		classes = append(classes, pld.Part{Weight: float64(all), Count: 1, Mechanism: pld.OneOf(parts...)})
	}
	out.attained = out.attained && len(classes) == 1
	out.mech = pld.Known(classes...)
	return out, nil
}

// classes divides the patterns into classes of patterns that share no wave: each pattern, in
// the order of its waves, goes to the first class in which it fits.
func (e Rotation) classes() (out [][]Pattern) {
	sorted := make([]Pattern, 0, len(e.Patterns))
	for _, p := range e.Patterns {
		sorted = append(sorted, Pattern{p.Waves, max(p.Weight, 1)})
	}
	slices.SortStableFunc(sorted, func(a, b Pattern) int { return slices.Compare(a.Waves, b.Waves) })
	var taken []map[int64]bool
	var last *Pattern
	for _, p := range sorted {
		if last != nil && slices.Equal(last.Waves, p.Waves) {
			last.Weight += p.Weight // one pattern, written twice
			continue
		}
		c := slices.IndexFunc(taken, func(t map[int64]bool) bool {
			return !slices.ContainsFunc(p.Waves, func(w int64) bool { return t[w] })
		})
		if c < 0 {
			c = len(out)
			out, taken = append(out, nil), append(taken, map[int64]bool{})
		}
		out[c] = append(out[c], p)
		last = &out[c][len(out[c])-1]
		for _, w := range p.Waves {
			taken[c][w] = true
		}
	}
	return out
}

// rotationBudget returns what each wave may spend if the unit's waves are known.
func rotationBudget(e Rotation, target Point) Point {
	n := float64(e.size())
	p := Point{target.Epsilon / n, target.Delta / n}
	if math.FMA(p.Epsilon, n, -target.Epsilon) > 0 {
		p.Epsilon = math.Nextafter(p.Epsilon, 0)
	}
	if math.FMA(p.Delta, n, -target.Delta) > 0 {
		p.Delta = math.Nextafter(p.Delta, 0)
	}
	return p
}
