package rows

import (
	"slices"

	"github.com/dprelease/dprelease/internal/rows/formula"
)

// Lookup is a public table that adds columns to the rows of the private one. It is immutable. [ReadLookup] makes it.
type Lookup struct {
	on      formula.Column
	columns []lookupColumn
	texts   map[string]int32 // the line of each key
	numbers map[float64]int32
	digest  string
}

// lookupColumn holds the values of a column by line. The first value is that of line -1, which stands for missing.
type lookupColumn struct {
	formula.Column
	header  string
	numbers []float64
	codes   []int32
	dict    *texts
}

// On returns the column of the private table whose values are looked up.
func (l *Lookup) On() string { return l.on.Name }

// Columns returns the columns that the lookup adds: numbers, and categories with their domains.
func (l *Lookup) Columns() []formula.Column {
	var all []formula.Column
	for _, c := range l.columns {
		all = append(all, c.Column)
	}
	return all
}

// SHA256 returns the digest of the file's content in hexadecimal.
func (l *Lookup) SHA256() string { return l.digest }

func (l *Lookup) column(name string) *lookupColumn {
	i := slices.IndexFunc(l.columns, func(c lookupColumn) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &l.columns[i]
}

// lines returns the slot with the line of each row. All columns of a lookup share it.
func (e *Evaluator) lines(l *Lookup) *slot {
	if s, ok := e.lookups[l]; ok {
		return s
	}
	s, on, own := &slot{}, e.slot(l.on.Name), make([]int32, step)
	e.lookups[l] = s
	if l.on.Type == formula.Number {
		s.fill = func(b *block) {
			s.codes = own[:b.n]
			for i, x := range on.get(b).numbers {
				line, ok := l.numbers[x]
				if !ok {
					line = -1
				}
				s.codes[i] = line
			}
		}
		return s
	}
	found := parsedBy(func(text string) (line int32, ok bool) { line, ok = l.texts[text]; return line, ok }, -1)
	s.fill = func(b *block) {
		s.codes = own[:b.n]
		on.get(b)
		found.fill(s.codes, on.texts, on.codes)
	}
	return s
}

// lookup computes a column of a lookup.
func (e *Evaluator) lookup(s *slot, l *Lookup) func(b *block) {
	c, lines := l.column(s.Name), e.lines(l)
	if c.Type == formula.Number {
		own := make([]float64, step)
		return func(b *block) {
			s.numbers = own[:b.n]
			if s.into != nil {
				s.numbers = s.into.numbers[b.from : b.from+b.n]
			}
			for i, line := range lines.get(b).codes {
				s.numbers[i] = c.numbers[line+1]
			}
			s.clean = finite(s.numbers)
		}
	}
	own := make([]int32, step)
	return func(b *block) {
		s.codes, s.texts = own[:b.n], c.dict
		for i, line := range lines.get(b).codes {
			s.codes[i] = c.codes[line+1]
		}
	}
}
