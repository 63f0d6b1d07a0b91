package expr

import (
	"fmt"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// parser turns the tree into events and collects every problem on the way.
type parser struct {
	file     string
	problems Problems
	events   int            // read so far
	depth    int            // of the event being read
	places   map[string]Pos // where each event and field stands
	free     string         // path of the field that is to be calibrated; its value is not read
}

func (p *parser) add(line, col int, path, hint, format string, args ...any) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, Problem{
			Pos: Pos{p.file, line, col}, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint,
		})
	}
}

// fields reads the fields of one mapping; whatever was not asked for by the
// time of done is unknown.
type fields struct {
	p     *parser
	at    *node
	path  string
	known []string
	holds bool // the node is a mapping without duplicates
}

// open checks that n is a mapping. what names it in problems.
func (p *parser) open(n *node, path, what, hint string) *fields {
	f := &fields{p: p, at: n, path: path, holds: n.shape == mapping}
	if !f.holds {
		if n.shape == scalar && n.null {
			p.add(n.line, n.col, path, hint, "%s has no fields", what)
		} else {
			p.add(n.line, n.col, path, hint, "%s must be a mapping of fields, not %s", what, n.shape)
		}
		return f
	}
	seen := make(map[string]int, len(n.entries))
	for _, e := range n.entries {
		if line, twice := seen[e.key]; twice {
			p.add(e.line, e.col, join(path, keyName(e.key)), "keep one", "is written twice, first on line %d", line)
		}
		seen[e.key] = e.line
	}
	return f
}

// take returns the value of a field, or nil.
func (f *fields) take(name string) *node {
	f.known = append(f.known, name)
	if !f.holds {
		return nil
	}
	v := f.at.get(name)
	if v != nil {
		f.p.places[join(f.path, name)] = Pos{f.p.file, v.line, v.col}
	}
	return v
}

// need is take for a field that must be there.
func (f *fields) need(name, hint string) *node {
	v := f.take(name)
	if v == nil && f.holds {
		f.p.add(f.at.line, f.at.col, join(f.path, name), hint, "is missing")
	}
	return v
}

func (f *fields) wrong(n *node, name, hint, format string, args ...any) {
	f.p.add(n.line, n.col, join(f.path, name), hint, format, args...)
}

// free reports whether a field is the one to be calibrated.
func (f *fields) free(name string) bool {
	return f.p.free != "" && f.p.free == join(f.path, name)
}

// check is what a number must satisfy; it returns what is wrong, or "".
type check func(x float64) string

func positive(x float64) string {
	if !(x > 0) {
		return "must be above 0"
	}
	return ""
}

func nonNegative(x float64) string {
	if !(x >= 0) {
		return "must not be negative"
	}
	return ""
}

func probability(x float64) string {
	if !(x > 0 && x <= 1) {
		return "must be above 0 and at most 1"
	}
	return ""
}

func delta(x float64) string {
	if !(x >= 0 && x < 1) {
		return "must be at least 0 and below 1"
	}
	return ""
}

// number reads a required number.
func (f *fields) number(name string, c check) float64 {
	if f.free(name) {
		f.take(name)
		return 1
	}
	x, _ := f.read(f.need(name, ""), name, c)
	return x
}

// optional reads a number that may be absent; 0 stands for absent.
func (f *fields) optional(name string, c check) float64 {
	if f.free(name) {
		f.take(name)
		return 1
	}
	x, _ := f.read(f.take(name), name, c)
	return x
}

func (f *fields) read(v *node, name string, c check) (x float64, ok bool) {
	if v == nil {
		return 0, false
	}
	if v.shape != scalar || v.word {
		f.wrong(v, name, "", "must be a number, not %s", what(v))
		return 0, false
	}
	x, wrong := parseFloat(v.text)
	if wrong == "" {
		wrong = c(x)
	}
	if wrong != "" {
		f.wrong(v, name, "", "%s", wrong)
		return 0, false
	}
	return x, true
}

// whole reads a required whole number of at least low.
func (f *fields) whole(name string, low int64) int64 {
	if f.free(name) {
		f.take(name)
		return max(low, 1)
	}
	return f.readWhole(f.need(name, ""), name, low)
}

// optionalWhole reads a whole number that may be absent; 0 stands for absent.
func (f *fields) optionalWhole(name string, low int64) int64 {
	if f.free(name) {
		f.take(name)
		return max(low, 1)
	}
	return f.readWhole(f.take(name), name, low)
}

func (f *fields) readWhole(v *node, name string, low int64) int64 {
	if v == nil {
		return 0
	}
	if v.shape != scalar || v.word {
		f.wrong(v, name, "", "must be a whole number, not %s", what(v))
		return 0
	}
	n, wrong := parseInt(v.text)
	if wrong == "" && n < low {
		wrong = fmt.Sprintf("must be at least %d", low)
	}
	if wrong != "" {
		f.wrong(v, name, "", "%s", wrong)
		return 0
	}
	return n
}

// atMost checks two counts against each other, unless one is to be calibrated
// or missing.
func (f *fields) atMost(small string, a int64, large string, b int64) {
	if a > b && b > 0 && !f.free(small) && !f.free(large) {
		v := f.at.get(small)
		f.wrong(v, small, "", "must be at most %s (%d > %d)", large, a, b)
	}
}

// event reads a required inner event.
func (f *fields) event(name string) privacy.Event {
	v := f.need(name, "such as event: {gaussian: {sigma: 1}}")
	if v == nil {
		return nil
	}
	return f.p.event(v, join(f.path, name))
}

// done refuses every field that was not asked for.
func (f *fields) done() {
	if !f.holds {
		return
	}
	for _, e := range f.at.entries {
		if len(f.p.problems) >= maxProblems {
			return
		}
		if !contains(f.known, e.key) {
			f.p.add(e.line, e.col, join(f.path, keyName(e.key)), hintFor(e.key, f.known),
				"unknown field; the fields are %s", strings.Join(f.known, ", "))
		}
	}
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// what names a value that is not a number.
func what(v *node) string {
	if v.word {
		return v.text
	}
	return v.shape.String()
}
