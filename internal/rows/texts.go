package rows

import (
	"slices"
	"unsafe"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
)

// texts is a dictionary. Its address stands for its content: perText and pair keep their results as long as it is the same.
type texts struct {
	all []string
	id  uint64
}

func newTexts(all []string) *texts { return &texts{all, table.NewDictID()} }

// sameTexts returns have if that is still the dictionary of v, else a new one.
func sameTexts(have *texts, v *table.Values) *texts {
	if have != nil && have.id == v.DictID && len(have.all) == len(v.Dict) && unsafe.SliceData(have.all) == unsafe.SliceData(v.Dict) {
		return have
	}
	return &texts{v.Dict, v.DictID}
}

// perText computes a value for each entry of a dictionary. The value of entry i is at i+1; that of missing is at 0.
type perText[T any] struct {
	of      *texts
	values  []T
	missing T
	value   func(text string) T
}

// parsedBy makes a perText whose values parse reads. What it cannot read is missing.
func parsedBy[T any](parse func(text string) (T, bool), missing T) *perText[T] {
	return &perText[T]{missing: missing, value: func(text string) T {
		if v, ok := parse(text); ok {
			return v
		}
		return missing
	}}
}

// wholesOf makes a perText that reads dates or timestamps.
func wholesOf(t formula.Type) *perText[int64] {
	if t == formula.Timestamp {
		return parsedBy(formula.ParseTimestamp, none)
	}
	return parsedBy(formula.ParseDate, none)
}

// fill sets the value of each row.
func (p *perText[T]) fill(dst []T, t *texts, codes []int32) {
	of := p.get(t)
	for i, c := range codes {
		dst[i] = of[c+1]
	}
}

func (p *perText[T]) get(t *texts) []T {
	if p.of != t {
		p.of = t
		p.values = append(p.values[:0], p.missing)
		for _, text := range t.all {
			p.values = append(p.values, p.value(text))
		}
	}
	return p.values
}

// pair compares or joins two dictionaries.
type pair struct {
	left, right   *texts
	ranks, others []int32 // the places of their entries in the order of all texts, after one -1 for missing
	joined        *texts  // the entries of left, then those of right
}

func (p *pair) is(left, right *texts) bool {
	if p.left == left && p.right == right {
		return true
	}
	*p = pair{left: left, right: right}
	return false
}

// rank makes two dictionaries comparable: equal texts get equal ranks, and a text that is smaller byte by byte gets a
// smaller rank.
func (p *pair) rank(left, right *texts) (ranks, others []int32) {
	if p.is(left, right) && p.ranks != nil {
		return p.ranks, p.others
	}
	all := slices.Concat(left.all, right.all)
	slices.Sort(all)
	all = slices.Compact(all)
	place := make(map[string]int32, len(all))
	for i, text := range all {
		place[text] = int32(i)
	}
	of := func(t *texts) []int32 {
		out := []int32{-1}
		for _, text := range t.all {
			out = append(out, place[text])
		}
		return out
	}
	p.ranks, p.others = of(left), of(right)
	return p.ranks, p.others
}

// join returns a dictionary with the texts of both.
func (p *pair) join(left, right *texts) *texts {
	if p.is(left, right) && p.joined != nil {
		return p.joined
	}
	p.joined = newTexts(slices.Concat(left.all, right.all))
	return p.joined
}
