package keys

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/noise"
)

// Counts visits every key that occurs, once, with the number of units that have it. The order does not matter. The text
// needs to be valid only during the visit.
type Counts func(visit func(key string, units int64) error) error

// Key is a key that may be published.
type Key struct {
	Text  string
	Units int64 // the noisy number of units, 0 where the rule counts nothing
}

// Selection is the outcome of a rule. All of it may be published.
type Selection struct {
	Keys []Key // sorted by their texts, byte by byte
	Cut  bool  // more keys were kept than the limit allows
	next Key   // where Cut is set, of a rule that counts: the first key that the limit dropped
}

// Above returns the bound that the noisy number of a key had to exceed, given those of all others: the threshold of the rule, or the
// number of the first key that the limit dropped. Of two equal numbers the one with the smaller text stays.
func (s *Selection) Above(k Key, at int64) int64 {
	switch {
	case !s.Cut:
		return at
	case k.Text < s.next.Text:
		return max(at, s.next.Units-1)
	}
	return max(at, s.next.Units)
}

// Rank sorts the keys by their noisy numbers, the largest first. Equal numbers are sorted by their texts, which are public
// once the keys are: neither the rows' order nor a number without noise has a say.
//
// # Contract
//
// The order is a function of what may be published. Proof: select.proof.md.
func (s *Selection) Rank() { slices.SortFunc(s.Keys, byRank) }

func byRank(a, b Key) int {
	return cmp.Or(cmp.Compare(b.Units, a.Units), cmp.Compare(a.Text, b.Text))
}

// ErrNoise says that the host could not draw. It says nothing of the data.
var ErrNoise = errors.New("keys: noise could not be drawn")

// block is the number of keys that are decided on at once.
const block = 1 << 12

// Select lets a rule decide on every key. Where it keeps more than atMost, those with the largest noisy numbers stay, or a
// random choice of them where the rule counts nothing. Its memory grows with atMost and not with the number of keys.
//
// # Contract
//
// The number of units of each key is as the rule's event says, and no key comes twice. The result is a function of the
// rule's outcome and of randomness of its own. Proof: select.proof.md.
func Select(ctx context.Context, counts Counts, rule Rule, atMost int, src *noise.Source) (*Selection, error) {
	if atMost < 1 {
		return nil, errors.New("keys: a selection keeps at least one key")
	}
	s := selecting{rule: rule, atMost: atMost, src: src}
	err := counts(func(key string, units int64) error {
		s.texts, s.units = append(s.texts, strings.Clone(key)), append(s.units, units)
		if len(s.texts) < block {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.decide()
	})
	if err == nil {
		err = s.decide()
	}
	if err != nil {
		return nil, err
	}
	s.cutBack()
	out := &Selection{Cut: s.cut, next: s.next.Key, Keys: make([]Key, len(s.kept))}
	for i, k := range s.kept {
		out.Keys[i] = k.Key
	}
	slices.SortFunc(out.Keys, func(a, b Key) int { return cmp.Compare(a.Text, b.Text) })
	return out, nil
}

// selecting is a selection under way. It keeps fewer than twice as many keys as the limit allows.
type selecting struct {
	rule   Rule
	atMost int
	src    *noise.Source
	texts  []string
	units  []int64
	passed []bool
	kept   []rankedKey
	next   rankedKey // the first of those that were dropped
	cut    bool
}

// decide asks the rule about the keys of a block.
func (s *selecting) decide() error {
	s.passed = append(s.passed[:0], make([]bool, len(s.texts))...)
	if s.rule.Keep(s.src, s.units, s.passed) != nil {
		return ErrNoise
	}
	for i, ok := range s.passed {
		if !ok {
			continue
		}
		k := rankedKey{Key{s.texts[i], s.units[i]}, uint64(s.units[i])}
		if !s.rule.Counts() {
			k.rank = s.src.Uint64()
		}
		if s.kept = append(s.kept, k); len(s.kept)/2 >= s.atMost {
			s.cutBack()
		}
	}
	s.texts, s.units = s.texts[:0], s.units[:0]
	if s.src.Err() != nil {
		return ErrNoise
	}
	return nil
}

// rankedKey is a key and how much it counts when there are too many.
type rankedKey struct {
	Key
	rank uint64
}

// cutBack drops the lowest ranks beyond the limit; of equal ones, the last texts.
func (s *selecting) cutBack() {
	if len(s.kept) <= s.atMost {
		return
	}
	order := func(a, b rankedKey) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.Text, b.Text)) }
	slices.SortFunc(s.kept, order)
	if first := s.kept[s.atMost]; !s.cut || order(first, s.next) < 0 {
		s.next = first
	}
	clear(s.kept[s.atMost:])
	s.kept, s.cut = s.kept[:s.atMost], true
}
