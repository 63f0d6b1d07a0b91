package expr

import (
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// Query is one question to the accountant: a relation, an event, and which
// number is wanted.
type Query struct {
	Relation privacy.Relation
	// Event is what was done. In a calibration the wanted number is at the end
	// of its range that costs least; Parameter.Set gives it another value.
	Event privacy.Event
	// Given says which numbers the question fixes.
	Given Given
	// Epsilon and Delta are the fixed numbers.
	Epsilon, Delta float64
	// Parameter is what a calibration looks for; nil otherwise.
	Parameter *Parameter
	// Methods are the methods to evaluate; none stands for all.
	Methods []string

	places map[string]Pos // of events and fields, by path
}

// QueryPos says where a part of the question stands, such as
// "query.calibrate".
func (q *Query) QueryPos(path string) (Pos, bool) { return nearestPlace(q.places, path) }

// Given says what a question fixes and, by that, what it asks.
type Given uint8

const (
	// GivenDelta asks for the smallest ε at δ.
	GivenDelta Given = iota + 1
	// GivenEpsilon asks for the smallest δ at ε.
	GivenEpsilon
	// GivenTarget asks for the parameter that meets (ε, δ).
	GivenTarget
)

// Pos says where the event or field of a path such as "compose[1].poisson.rate"
// stands, or the nearest thing around it.
func (q *Query) Pos(path string) (Pos, bool) {
	return nearestPlace(q.places, join("event", path))
}

// nearestPlace looks for a path, and then for what is around it.
func nearestPlace(places map[string]Pos, path string) (Pos, bool) {
	for ; path != ""; path = parent(path) {
		if p, ok := places[path]; ok {
			return p, true
		}
	}
	return Pos{}, false
}

func parent(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

// ParseQuery reads {relation, event, query} written in YAML or JSON.
func ParseQuery(text []byte, file string) (*Query, Problems) {
	root, err := readTree(text)
	return parseQuery(root, err, file)
}

// ParseQueryJSON is ParseQuery for a text that must be JSON.
func ParseQueryJSON(text []byte, file string) (*Query, Problems) {
	if len(text) > MaxBytes {
		return ParseQuery(text, file)
	}
	root, err := readJSON(text)
	return parseQuery(root, err, file)
}

func parseQuery(root *node, err *syntaxError, file string) (*Query, Problems) {
	p := &parser{file: file, places: map[string]Pos{}}
	if err != nil {
		return nil, p.syntax(err)
	}
	q := &Query{places: p.places}
	f := p.open(root, "", "a query", "write relation, event and query")
	q.Relation = f.relation()
	event := f.need("event", "such as event: {gaussian: {sigma: 1}}")
	if ask := f.need("query", "one of {delta: 1e-6}, {epsilon: 1}, {calibrate: sigma, epsilon: 1, delta: 1e-6}"); ask != nil {
		p.ask(q, ask, event)
	}
	if event != nil {
		q.Event = p.event(event, "event")
	}
	f.done()
	if q.Parameter != nil && len(p.problems) == 0 {
		// The end of the range that costs least is valid beside any other number.
		lo, hi := q.Parameter.Range(q.Event)
		if q.Parameter.Most {
			hi = lo
		}
		q.Event = q.Parameter.Set(q.Event, hi)
	}
	p.validate(q.Event, "event")
	if len(p.problems) > 0 {
		return nil, p.problems.sorted()
	}
	return q, nil
}

func (f *fields) relation() privacy.Relation {
	const hint = "add-remove or replace-one; there is no default"
	v := f.need("relation", hint)
	if v == nil {
		return 0
	}
	names := []string{privacy.AddRemove.String(), privacy.ReplaceOne.String()}
	if v.shape != scalar || !contains(names, v.text) {
		h := hintFor(v.text, names)
		if h == "" {
			h = hint
		}
		f.wrong(v, "relation", h, "must be add-remove or replace-one")
		return 0
	}
	r, _ := privacy.ParseRelation(v.text) // one of the two names
	return r
}

func (p *parser) ask(q *Query, n, event *node) {
	f := p.open(n, "query", "query", "one of {delta: 1e-6}, {epsilon: 1}, {calibrate: sigma, epsilon: 1, delta: 1e-6}")
	if !f.holds {
		return
	}
	name := f.take("calibrate")
	eps, dlt := f.take("epsilon"), f.take("delta")
	q.Methods = f.methods()
	least := nonNegative
	if name != nil {
		least = positive // a target of 0 is met by nothing that was ever released
	}
	q.Epsilon, _ = f.read(eps, "epsilon", least)
	q.Delta, _ = f.read(dlt, "delta", delta)
	switch {
	case name != nil:
		q.Given = GivenTarget
		for i, v := range []*node{eps, dlt} {
			if v == nil {
				field := []string{"epsilon", "delta"}[i]
				p.add(n.line, n.col, "query."+field, "a calibration meets a target of both epsilon and delta", "is missing")
			}
		}
		p.calibrate(f, q, name, event)
	case eps != nil && dlt != nil:
		p.add(n.line, n.col, "query", "leave out the one that is asked for, or name what to calibrate", "gives both epsilon and delta")
	case eps != nil:
		q.Given = GivenEpsilon
	case dlt != nil:
		q.Given = GivenDelta
	default:
		p.add(n.line, n.col, "query", "one of {delta: 1e-6}, {epsilon: 1}, {calibrate: sigma, epsilon: 1, delta: 1e-6}", "asks nothing")
	}
	f.done()
}

// MethodNames are the methods of the accountant, as query.methods names them.
var MethodNames = []string{"basic", "rdp", "pld", "shuffle", "iterate"}

// methods reads which methods to evaluate.
func (f *fields) methods() []string {
	v := f.take("methods")
	if v == nil {
		return nil
	}
	if v.shape != list || len(v.items) == 0 {
		f.wrong(v, "methods", "such as methods: [rdp]; leave it out for all", "must be a list of at least one method")
		return nil
	}
	var out []string
	for i, m := range v.items {
		path := "methods[" + strconv.Itoa(i) + "]"
		switch {
		case m.shape != scalar || !contains(MethodNames, m.text):
			f.wrong(m, path, hintFor(m.text, MethodNames), "must be one of %s", strings.Join(MethodNames, ", "))
		case contains(out, m.text):
			f.wrong(m, path, "keep one", "is written twice")
		default:
			out = append(out, m.text)
		}
	}
	return out
}

func (p *parser) calibrate(f *fields, q *Query, name, event *node) {
	if name.shape != scalar || name.text == "" {
		f.wrong(name, "calibrate", "such as sigma, rate, n", "must be the name of a field")
		return
	}
	all := candidates(event, "", nil, 0)
	param, wrong := resolve(name.text, all)
	if wrong != "" {
		f.wrong(name, "calibrate", "", "%s", wrong)
		// The field is unknown: one that is missing because it is wanted should
		// not be told as a second problem.
		if m := matching(name.text, all); len(m) > 0 && m[0].missing {
			p.free = join("event", m[0].Path)
		}
		return
	}
	q.Parameter = &param
	p.free = join("event", param.Path)
}
