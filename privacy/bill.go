package privacy

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/privacy/rational"
)

// Bill is a tree of what is done to the data, with the δ at which each part is priced. Whoever proposes a bill says
// how a δ is divided; whoever keeps the account prices the bill itself and believes nothing else of it. // P38
type Bill struct {
	Event Event    // of a leaf; nil where there are parts, or nothing
	Draw  Sampling // that all parts are run on, its inner event being ignored; nil where they are run on the data
	Parts []Bill
	Delta float64
}

// BySplit is the method that prices what the parts of a bill cost one by one: each at its own δ by whichever method is
// best for it alone, composed, and then amplified once.
const BySplit = "split"

// Nothing reports whether a bill has no event at all.
func (b Bill) Nothing() bool { return b.Event == nil && len(b.Parts) == 0 }

// Tree returns the event of all that the bill lists, nil for nothing.
func (b Bill) Tree() Event {
	switch {
	case b.Nothing():
		return nil
	case b.Event != nil:
		return b.Event
	}
	events := make([]Event, len(b.Parts))
	for i, p := range b.Parts {
		events[i] = p.Tree()
	}
	return b.drawn(Together(events))
}

func (b Bill) drawn(e Event) Event {
	if b.Draw == nil {
		return e
	}
	return b.Draw.With(e)
}

// Together is the event of everything that was run on the same data. It writes equal events once, with how often they
// ran; the order does not matter to any guarantee.
func Together(events []Event) Event {
	var kinds []Event
	times := map[string]int64{}
	for _, e := range events {
		k := fmt.Sprintf("%#v", e)
		if times[k]++; times[k] == 1 {
			kinds = append(kinds, e)
		}
	}
	for i, e := range kinds {
		if n := times[fmt.Sprintf("%#v", e)]; n > 1 {
			kinds[i] = Repeat{N: n, Event: e}
		}
	}
	if len(kinds) == 1 {
		return kinds[0]
	}
	return Compose{Events: kinds}
}

// Price evaluates the smallest ε that the bill is known to guarantee at its δ: by every method for its whole tree, or
// by the prices of its parts.
//
// # Contract
//
// Everything that was done to the data is in the bill, and everything done with one draw is under one Draw (P4). The
// δ of the parts are a proposal: the price holds whatever they are. Proof: bill.proof.md.
func (b Bill) Price(rel Relation) (Answer, error) {
	k := b.key(rel)
	if p, ok := prices.get(k); ok {
		return p.answer.copied(), p.err
	}
	a, err := b.price(rel)
	if k != "" {
		prices.put(k, priced{a, err})
	}
	return a.copied(), err
}

// Known returns the price of a bill if this process computed it already.
func (b Bill) Known(rel Relation) (a Answer, err error, ok bool) {
	p, ok := prices.get(b.key(rel))
	return p.answer.copied(), p.err, ok
}

func (b Bill) price(rel Relation) (Answer, error) {
	if b.Nothing() {
		return Answer{Relation: rel, Methods: map[string]Bound{}}, nil
	}
	a, err := whole(b.Tree(), rel, b.Delta)
	if len(b.Parts) == 0 {
		return a, err
	}
	split, ok := b.split(rel)
	if !ok {
		return a, err
	}
	if a = a.copied(); a.Methods == nil {
		a = Answer{Relation: rel, Methods: map[string]Bound{}}
	}
	a.Methods[BySplit] = Point{Epsilon: split, Delta: b.Delta}
	if err != nil || split < a.Epsilon {
		a.Epsilon, a.Delta, a.Upper, a.Method = split, b.Delta, split, BySplit
		a.Lower = math.Min(a.Lower, a.Upper)
	}
	return a, nil
}

// split prices a bill by its parts. ok is false where that has no finite ε at the bill's δ.
func (b Bill) split(rel Relation) (eps float64, ok bool) {
	under := []Relation{rel}
	if b.Draw != nil {
		var err error
		if under, err = SampleRelations(b.Draw, rel); err != nil {
			return 0, false
		}
	}
	shares := make([]Event, len(b.Parts))
	sum, spent := new(big.Rat), new(big.Rat)
	for i, p := range b.Parts {
		worst := 0.0
		for _, r := range under {
			a, err := p.Price(r)
			if err != nil || math.IsInf(a.Epsilon, 0) || math.IsNaN(a.Epsilon) {
				return 0, false
			}
			worst = math.Max(worst, a.Epsilon)
		}
		shares[i] = Approx{Eps: worst, Delta: p.Delta}
		sum.Add(sum, new(big.Rat).SetFloat64(worst))
		spent.Add(spent, new(big.Rat).SetFloat64(p.Delta))
	}
	eps = math.Inf(1)
	if a, err := whole(b.drawn(Together(shares)), rel, b.Delta); err == nil {
		eps = a.Epsilon
	}
	if b.Draw == nil && spent.Cmp(new(big.Rat).SetFloat64(b.Delta)) <= 0 {
		eps = math.Min(eps, rational.Up(sum)) // the sum itself, without the rounding of an accountant
	}
	return eps, !math.IsInf(eps, 1)
}

// whole is EpsilonAt, computed once in a process.
func whole(e Event, rel Relation, delta float64) (Answer, error) {
	k, ok := keyOf(e, rel, delta)
	if p, found := prices.get(k); ok && found {
		return p.answer.copied(), p.err
	}
	a, err := EpsilonAt(e, rel, delta)
	if ok {
		prices.put(k, priced{a, err})
	}
	return a.copied(), err
}

// Most returns the price of a bill under the worst of some relations.
func (b Bill) Most(under []Relation) (Point, error) {
	worst := Point{Delta: b.Delta}
	for _, rel := range under {
		a, err := b.Price(rel)
		if err != nil {
			return Point{}, err
		}
		worst.Epsilon = math.Max(worst.Epsilon, a.Epsilon)
	}
	return worst, nil
}

// priced is the outcome of a price.
type priced struct {
	answer Answer
	err    error
}

// memory holds prices that were computed in this process. It is safe for concurrent use.
type memory struct {
	mu sync.Mutex
	of map[string]priced
}

// mostPrices bounds the memory: it begins anew when it is full.
const mostPrices = 4096

var prices memory

func (m *memory) get(key string) (priced, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.of[key]
	return p, ok && key != ""
}

func (m *memory) put(key string, p priced) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil || len(m.of) >= mostPrices {
		m.of = map[string]priced{}
	}
	m.of[key] = p
}

// keyOf names a price. ok is false for an event that cannot be written down.
func keyOf(e Event, rel Relation, delta float64) (key string, ok bool) {
	text, err := Canonical(e)
	return fmt.Sprintf("%d %x %s", rel, delta, text), err == nil
}

// key names the price of a bill, "" where an event cannot be written down.
func (b Bill) key(rel Relation) string {
	text, ok := b.appendText(fmt.Appendf(nil, "bill %d ", rel))
	if !ok {
		return ""
	}
	return string(text)
}

// appendText writes a bill down.
func (b Bill) appendText(out []byte) ([]byte, bool) {
	out = fmt.Appendf(out, "(%x ", b.Delta)
	written := b.Event
	if written == nil && b.Draw != nil {
		written = b.Draw.With(Pure{Eps: 1})
	}
	if written != nil {
		text, err := Canonical(written)
		if err != nil {
			return nil, false
		}
		out = append(out, text...)
	}
	if b.Event == nil {
		for _, p := range b.Parts {
			var ok bool
			if out, ok = p.appendText(out); !ok {
				return nil, false
			}
		}
	}
	return append(out, ')'), true
}

// copied is an answer that its caller may change.
func (a Answer) copied() Answer {
	a.Methods = maps.Clone(a.Methods)
	a.Unsupported, a.Claimed, a.Warnings = slices.Clone(a.Unsupported), slices.Clone(a.Claimed), slices.Clone(a.Warnings)
	return a
}
