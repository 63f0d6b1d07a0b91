package rows

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// LookupSpec names a public CSV file and what it adds.
type LookupSpec struct {
	Path string
	Key  string // the heading of the column with the keys
	// On is the column of the private table that holds the keys: a text or a number.
	On      formula.Column
	Columns []LookupColumn
}

// LookupColumn is a column that a lookup adds: a number or a text. The domain of a text, if none is declared, is the texts
// of the file in their order.
type LookupColumn struct {
	formula.Column
	Heading string // of the column in the file, if it is not the name
}

// Limits of a lookup.
const (
	MaxLookup         = 64 << 20 // bytes
	maxLookupProblems = 20
)

// ReadLookup reads a public table, or returns what is wrong at which line and column. Problems
// name places and what the job says, and quote nothing of the file: it may be the wrong one. // P33
func ReadLookup(spec LookupSpec) (*Lookup, problem.Problems) {
	r := &lookupReader{spec: spec}
	l := r.read()
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return l, nil
}

type lookupReader struct {
	spec     LookupSpec
	csv      *csv.Reader
	problems problem.Problems
}

func (r *lookupReader) wrong(line, column int, hint, format string, args ...any) {
	if len(r.problems) < maxLookupProblems {
		r.problems = append(r.problems, problem.Problem{Pos: problem.Pos{File: r.spec.Path, Line: line, Column: column},
			Step: problem.StepCheck, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

// open reads the file as a whole: a lookup is small.
func (r *lookupReader) open() (content []byte, ok bool) {
	content, err := file.Read(r.spec.Path, MaxLookup)
	switch {
	case errors.Is(err, file.ErrLarge):
		r.wrong(0, 0, "keep the columns and the keys that the job needs", "is larger than %d MB, the most that a lookup may be", MaxLookup>>20)
	case err != nil:
		r.wrong(0, 0, "", "cannot be opened: %v", errors.Unwrap(err))
	case len(bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\uFEFF")))) == 0:
		r.wrong(0, 0, "write a line with the headings, and one for each key", "is empty")
	case !utf8.Valid(content):
		line := 1
		for text := range bytes.Lines(content) {
			if !utf8.Valid(text) {
				break
			}
			line++
		}
		r.wrong(line, 1, "save the file as UTF-8 text", "is not UTF-8")
	}
	return content, len(r.problems) == 0
}

func (r *lookupReader) read() *Lookup {
	content, ok := r.open()
	if !ok {
		return nil
	}
	sum := sha256.Sum256(content)
	l := &Lookup{on: r.spec.On, digest: hex.EncodeToString(sum[:]), texts: map[string]int32{}, numbers: map[float64]int32{}}
	for _, c := range r.spec.Columns {
		own := lookupColumn{Column: c.Column, header: c.Heading, numbers: []float64{nan}, codes: []int32{-1}}
		if own.header == "" {
			own.header = c.Name
		}
		l.columns = append(l.columns, own)
	}
	r.csv = csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\uFEFF"))))
	r.csv.ReuseRecord = true
	headings, ok := r.record()
	if !ok {
		return nil
	}
	key, places, ok := r.headings(slices.Clone(headings), l)
	if !ok {
		return nil
	}
	codes := make([]map[string]int32, len(l.columns))
	for i, c := range l.columns {
		codes[i] = map[string]int32{}
		for j, text := range c.Domain {
			codes[i][text] = int32(j)
		}
	}
	first := map[int32]int{} // the line of each key in the file
	for line := int32(0); len(r.problems) < maxLookupProblems; line++ {
		record, ok := r.record()
		if !ok {
			break
		}
		r.key(l, record[key], key, line, first)
		for i := range l.columns {
			r.value(&l.columns[i], codes[i], r.spec.Columns[i].Domain != nil, record[places[i]], places[i])
		}
	}
	for i := range l.columns {
		l.columns[i].dict = newTexts(l.columns[i].Domain)
	}
	return l
}

// record reads the next line. It returns false at the end, and if the file is no CSV.
func (r *lookupReader) record() ([]string, bool) {
	record, err := r.csv.Read()
	if err == nil {
		return record, true
	}
	var at *csv.ParseError
	switch {
	case errors.As(err, &at) && errors.Is(at.Err, csv.ErrFieldCount):
		r.wrong(at.Line, 1, "put a value that holds a comma in quotes", "has %d fields, and the first line has %d", len(record),
			r.csv.FieldsPerRecord)
	case errors.As(err, &at):
		r.wrong(at.Line, max(at.Column, 1), "", "is not CSV: %v", at.Err)
	}
	return nil, false
}

// headings finds the columns in the first line.
func (r *lookupReader) headings(names []string, l *Lookup) (key int, places []int, ok bool) {
	find := func(name string) int {
		i := slices.Index(names, name)
		switch {
		case i < 0 && len(names) == 1 && strings.ContainsAny(names[0], ";\t|"):
			r.wrong(1, 1, "separate the fields with commas", "has no column %s", problem.Shown(name))
		case i < 0:
			r.wrong(1, 1, cmp.Or(near(name, names), "heading says what a column is called in the file"), "has no column %s", problem.Shown(name))
		case slices.Contains(names[i+1:], name):
			line, column := r.csv.FieldPos(i + 1 + slices.Index(names[i+1:], name))
			r.wrong(line, column, "", "has a second column %s", problem.Shown(name))
		}
		return i
	}
	key = find(r.spec.Key)
	for _, c := range l.columns {
		places = append(places, find(c.header))
	}
	return key, places, len(r.problems) == 0
}

func (r *lookupReader) key(l *Lookup, text string, at int, line int32, first map[int32]int) {
	fileLine, column := r.csv.FieldPos(at)
	first[line] = fileLine
	before, twice := l.texts[text]
	if r.spec.On.Type == formula.Number && text != "" {
		x, ok := formula.ParseNumber(text)
		if !ok {
			r.wrong(fileLine, column, numberHint(text), "the key is no number, and %s holds numbers", problem.Shown(r.spec.On.Name))
			return
		}
		before, twice = l.numbers[x]
		if !twice {
			l.numbers[x] = line
		}
	}
	switch {
	case text == "":
		r.wrong(fileLine, column, "leave the line out", "has no key")
	case twice:
		r.wrong(fileLine, column, "", "the key is given twice (first in line %d)", first[before])
	default:
		l.texts[strings.Clone(text)] = line
	}
}

// value adds a value to a column. An empty field is missing.
func (r *lookupReader) value(c *lookupColumn, codes map[string]int32, declared bool, text string, at int) {
	line, column := r.csv.FieldPos(at)
	if c.Type == formula.Number {
		x, ok := nan, text == ""
		if !ok {
			x, ok = formula.ParseNumber(text)
		}
		switch {
		case !ok:
			r.wrong(line, column, numberHint(text), "is no number, and %s holds numbers", problem.Shown(c.Name))
		case c.Lower != nil && x < *c.Lower, c.Upper != nil && x > *c.Upper:
			r.wrong(line, column, "", "is outside the bounds of %s", problem.Shown(c.Name))
		}
		c.numbers = append(c.numbers, x)
		return
	}
	code, ok := codes[text]
	switch {
	case text == "":
		code = -1
	case !ok && declared:
		r.wrong(line, column, problem.DidYouMean(text, c.Domain), "is not in the domain of %s", problem.Shown(c.Name))
	case !ok:
		text = strings.Clone(text)
		code = int32(len(c.Domain))
		codes[text] = code
		c.Domain = append(c.Domain, text)
	}
	c.codes = append(c.codes, code)
}

// near returns a hint where one of the names of the file is like the one that was asked
// for.
func near(name string, names []string) string {
	if problem.NearestWord(name, names) == "" {
		return ""
	}
	return "one of its headings is similar"
}

// numberHint explains the usual reasons why a text is no number.
func numberHint(text string) string {
	switch {
	case strings.ContainsAny(text, "'’ \u00a0\u202f"):
		return "write numbers without spaces and thousands separators"
	case strings.Contains(text, ","):
		return "write numbers without thousands separators, and with a point before the decimals"
	}
	return ""
}
