package privacy

import "fmt"

// Relation is the neighbouring relation of a guarantee (P1). The zero value is
// invalid: there is no default, and the two relations are never mixed.
type Relation uint8

const (
	// AddRemove relates two data sets when one has one privacy unit more than
	// the other. The number of units is secret.
	AddRemove Relation = iota + 1
	// ReplaceOne relates two data sets when one unit was changed. The number of
	// units is public.
	ReplaceOne
)

// ParseRelation reads "add-remove" or "replace-one".
func ParseRelation(s string) (Relation, error) {
	switch s {
	case "add-remove":
		return AddRemove, nil
	case "replace-one":
		return ReplaceOne, nil
	case "":
		return 0, fmt.Errorf("relation is missing: say add-remove or replace-one, there is no default")
	}
	return 0, fmt.Errorf("unknown relation %q: say add-remove or replace-one", s)
}

// String returns the relation's name in specifications.
func (r Relation) String() string {
	switch r {
	case AddRemove:
		return "add-remove"
	case ReplaceOne:
		return "replace-one"
	}
	return "invalid-relation"
}

// Valid reports whether r is one of the two relations.
func (r Relation) Valid() bool { return r == AddRemove || r == ReplaceOne }

// MarshalText writes the relation's name; an invalid relation is an error.
func (r Relation) MarshalText() ([]byte, error) {
	if !r.Valid() {
		return nil, fmt.Errorf("invalid relation %d", uint8(r))
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads the relation's name.
func (r *Relation) UnmarshalText(b []byte) error {
	v, err := ParseRelation(string(b))
	if err != nil {
		return err
	}
	*r = v
	return nil
}

// Point is one (ε, δ) pair of a guarantee's profile.
type Point struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}
