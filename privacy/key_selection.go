package privacy

import "github.com/dprelease/dprelease/internal/calculus/pld"

// KeySelection is a decision, for every key that some unit has, whether the key is
// published: a coin of its own, whose law depends on the number of units with that key
// alone, and which is (Eps, Delta)-differentially private when that number changes by
// one. The truncated geometric rule is the best such coin (P25). A kept key may come with a noisy number, whose law with the coin is what
// is private.
//
// # Contract
//
// Each unit has at most one key, and a key without units is never published. Where units
// have up to k keys, k runs of this event are charged. Proof: key_selection.proof.md.
type KeySelection struct{ Eps, Delta float64 }

func (KeySelection) kind() string { return "key_selection" }

var keySelectionKind = declare[KeySelection](Kind{
	About: "a private choice of keys: for each key a coin that is (eps, delta)-differentially private in the number of its units; " +
		"a unit has one key",
	Also:    []string{"partition_selection", "truncated_geometric"},
	Fields:  []Field{eps(), number("delta", "δ=", belowOne).most(1e-300, 0.5).also("δ")},
	ordered: true,
})

// coins is the guarantee of one coin, and how many coins a changed unit moves: its key gains
// or loses a unit, and under replace-one another key does, too.
func (e KeySelection) coins(rel Relation) (one Approx, times int64) {
	if rel == ReplaceOne {
		times++
	}
	return Approx(e), times + 1
}

func (e KeySelection) basic(rel Relation, _ string, k float64) (profile, *Unsupported) {
	one, times := e.coins(rel)
	return composeProfiles([]part{{approxProfile(one), times}}).group(k), nil
}

func (e KeySelection) renyi(rel Relation, here string) (renyiBound, *Unsupported) {
	one, times := e.coins(rel)
	return renyi(Repeat{times, one}, rel, here)
}

func (e KeySelection) pair(rel Relation, _ string) (lossPair, *Unsupported) {
	one, times := e.coins(rel)
	// The two coins of a replaced unit point in opposite directions: one key loses a unit,
	// the other gains it. Only their composition as any two such points is proven.
	return lossPair{mech: pld.Repeat(times, pld.Approx(one.Eps, one.Delta))}, nil
}
