package privacy

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// OfMany returns what e does to a group of m units that change at once: the persons of one household, say. It refuses an
// event for which it knows nothing better than the group privacy of a point, [Point.OfMany].
//
// # Contract
//
// e holds under rel. A group has at most m units, and a neighbour has those of one group more or less (add-remove), or has
// them changed (replace-one). The result, evaluated under rel, holds for every such neighbour. Proof: many.proof.md.
func OfMany(e Event, rel Relation, m int64) (Event, error) {
	return ofMany(e, rel, m, func(draw Event) (Event, error) { return RowsOfUnit{Rows: m, Event: draw}, nil })
}

// OfSteps is OfMany for all tables that lie up to m steps from neighbour to neighbour apart: one unit may go and another
// come. It refuses draws, because the two are drawn apart.
//
// # Contract
//
// e holds under rel. The result, evaluated under rel, holds for all such tables. Proof: many.proof.md.
func OfSteps(e Event, rel Relation, m int64) (Event, error) {
	return ofMany(e, rel, m, func(draw Event) (Event, error) {
		return nil, fmt.Errorf("nothing is known about several steps for %s", draw.kind())
	})
}

func ofMany(e Event, rel Relation, m int64, draw func(Event) (Event, error)) (Event, error) {
	if m == 1 || e == nil {
		return e, nil
	}
	switch e := e.(type) {
	case Compose:
		parts := make([]Event, len(e.Events))
		for i, part := range e.Events {
			var err error
			if parts[i], err = ofMany(part, rel, m, draw); err != nil {
				return nil, err
			}
		}
		return Compose{parts}, nil
	case Repeat:
		inner, err := ofMany(e.Event, rel, m, draw)
		return Repeat{e.N, inner}, err
	case Pure:
		return Pure{amplify.GroupEpsilon(float64(m), e.Eps)}, nil
	case BoundedRange:
		return BoundedRange{Eps: amplify.GroupEpsilon(float64(m), e.Eps), Parts: e.Parts, Come: amplify.GroupEpsilon(float64(m), e.Come)}, nil
	case Poisson, WithoutReplacement:
		return draw(e)
	}
	return Moved(e, rel, m, nil)
}

// Moved returns noise for tables that lie up to so many steps from neighbour to neighbour apart. By, where given, maps the
// sensitivity of e under rel to a bound on how far its query moves between such tables, which may be less than a sensitivity
// for each step.
//
// # Contract
//
// e holds under rel. By bounds the distance in the norm of e's sensitivity, and errs by less than 1e-15 of it. Proof:
// many.proof.md.
func Moved(e Event, rel Relation, steps int64, by func(s float64) float64) (Event, error) {
	was, noise := sensitivityOf(e)
	if !noise || unknownShift(e, rel, "") != nil || steps < 1 {
		return nil, fmt.Errorf("nothing is known about a change of several units for %s", e.kind())
	}
	s := amplify.GroupEpsilon(float64(steps), was.Under(rel)) // a product, rounded up
	if by != nil {
		s = math.Min(s, above(by(was.Under(rel)), 1e-15))
	}
	now := func(s float64) Sensitivity {
		if rel == AddRemove {
			return Sensitivity{AddRemove: s}
		}
		return Sensitivity{ReplaceOne: s}
	}
	switch e := e.(type) {
	case Gaussian:
		return Gaussian{e.Sigma, now(s)}, nil
	case Laplace:
		return Laplace{e.Scale, now(s)}, nil
	case DiscreteGaussian:
		most := math.Min(float64(steps)*math.Max(1, float64(e.Coordinates)), 1<<52)
		return DiscreteGaussian{e.Sigma, now(s), int64(most)}, nil
	case DiscreteLaplace:
		return DiscreteLaplace{e.Scale, now(math.Max(1, math.Floor(s)))}, nil // whole numbers move by whole numbers
	}
	return nil, fmt.Errorf("%s is no noise", e.kind())
}

// OfMany returns what an (ε, δ) guarantee for one unit is worth to m that change at once: (mε, δ·(1 + e^ε + … + e^{(m−1)ε})),
// rounded up. A δ of 1 promises nothing.
func (p Point) OfMany(m int64) Point {
	if m <= 1 {
		return p
	}
	eps := amplify.GroupEpsilon(float64(m), p.Epsilon)
	if p.Delta == 0 {
		return Point{Epsilon: eps}
	}
	return Point{Epsilon: eps, Delta: amplify.GroupDelta(float64(m), eps, func(float64) float64 { return p.Delta })}
}
