package privacy

import "math"

// maxGroups limits how many different events of a partition are compared in pairs.
const maxGroups = 32

// Parallel is the guarantee of releases that each see one group of a partition of
// the units (P11): groups[i] is what was run on group i.
//
// Under add-remove one unit touches one group: the worst group is charged. Under
// replace-one a unit may also leave one group and enter another, so that two
// groups change, each by one unit; the worst of both cases is charged. Where the
// column that makes the groups is public and immutable, units cannot move.
//
// # Contract
//
// The groups are disjoint and their list is public. Proof: parallel.proof.md.
func Parallel(groups []Event, rel Relation, delta float64, immutable bool) (Answer, error) {
	if !rel.Valid() {
		return Answer{}, wrong("relation", "must be add-remove or replace-one, there is no default")
	}
	if len(groups) == 0 {
		return Answer{}, wrong("groups", "must hold at least one event")
	}
	seen := map[string]int{}
	var kinds []Event
	for _, g := range groups {
		if err := Validate(g); err != nil {
			return Answer{}, err
		}
		k := key(g)
		if seen[k]++; seen[k] <= 2 { // two groups may hold the same event
			kinds = append(kinds, g)
		}
	}
	var worst Answer
	worst.Epsilon = math.Inf(-1)
	charge := func(e Event, r Relation) error {
		a, err := EpsilonAt(e, r, delta)
		if err != nil {
			return err
		}
		if a.Epsilon > worst.Epsilon {
			worst = a
		}
		return nil
	}
	for _, g := range kinds {
		if err := charge(g, rel); err != nil {
			return Answer{}, err
		}
	}
	if rel == ReplaceOne && !immutable && len(groups) > 1 {
		if len(seen) > maxGroups {
			return Answer{}, wrong("groups", "more than %d different events: the pairs are too many to compare", maxGroups)
		}
		for i := range kinds {
			for j := range i {
				if err := charge(Compose{[]Event{kinds[i], kinds[j]}}, AddRemove); err != nil {
					return Answer{}, err
				}
			}
		}
	}
	worst.Relation = rel
	return worst, nil
}
