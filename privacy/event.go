package privacy

import "math/big"

// Event is an expression that says what was done to the data (P3). The set of events
// is closed. Each kind is declared once ([Kind]), and accounts for itself by the
// methods below that it has; a method of accounting that it does not have refuses it.
type Event interface {
	// kind is the event's name in specifications, such as "gaussian".
	kind() string
}

// bounded is an event with a privacy profile of its own, for k units that change at
// once (method "basic").
type bounded interface {
	basic(rel Relation, here string, k float64) (profile, *Unsupported)
}

// curved is an event with a Rényi curve (method "rdp").
type curved interface {
	renyi(rel Relation, here string) (renyiBound, *Unsupported)
}

// paired is an event with a pair of privacy-loss distributions (method "pld").
type paired interface {
	pair(rel Relation, here string) (lossPair, *Unsupported)
}

// concentrated is an event with a ρ of zero-concentrated differential privacy that is
// better than ε²/2 of its pure ε.
type concentrated interface {
	rho(rel Relation, here string) (*big.Rat, *Unsupported)
}

// Sampling is an event that draws a sample and runs its inner event on it. All
// that is released from one draw stands inside one Sampling event (P4).
type Sampling interface {
	Event
	// Inner returns the event that was run on the sample.
	Inner() Event
	// With returns the same draw with another inner event.
	With(inner Event) Event
}

// Selection is an event that a selection by the exponential mechanism causes.
type Selection interface {
	Event
	// Epsilon bounds the logarithms of the ratios of probabilities as the event says.
	Epsilon() float64
}

// Sensitivity is the largest move of a query between neighbours, under each relation.
// The zero value stands for 1 under add-remove and 2 under replace-one, as for a sum of
// values of norm at most 1. Where only AddRemove is given, ReplaceOne is twice that, so that
// nobody forgets the doubling; a query with a smaller one sets both. Nothing follows from
// ReplaceOne alone: replacing one value of [100, 101] by another moves a sum by 1, removing
// it by 101.
type Sensitivity struct {
	AddRemove  float64 `json:"add-remove,omitempty" event:"add-remove"`
	ReplaceOne float64 `json:"replace-one,omitempty" event:"replace-one"`
}

// Under returns the sensitivity under r, or 0 where it is not known: for an
// invalid relation, and under add-remove when only ReplaceOne was given.
func (s Sensitivity) Under(r Relation) float64 {
	if s == (Sensitivity{}) {
		s.AddRemove = 1
	}
	switch {
	case r == AddRemove:
		return s.AddRemove
	case r == ReplaceOne && s.ReplaceOne == 0:
		return 2 * s.AddRemove
	case r == ReplaceOne:
		return s.ReplaceOne
	}
	return 0
}
