package expr

import (
	"bytes"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy"
)

// Query is one question to the accountant: a relation, an event, and the wanted
// number.
type Query struct {
	Relation privacy.Relation
	// Event is the event in question. In a calibration its parameter has the value that
	// costs least; Parameter.Set gives it another value.
	Event privacy.Event
	// Given names the numbers that the question fixes.
	Given Given
	// Epsilon and Delta are the fixed numbers.
	Epsilon, Delta float64
	// Parameter is the goal of a calibration; nil otherwise.
	Parameter *Parameter
	// Methods are the methods to evaluate; none means all.
	Methods []string

	places map[string]Pos // of events and fields, by path
}

// QueryPos returns the place of a part of the question, such as
// "query.calibrate".
func (q *Query) QueryPos(path string) (Pos, bool) { return problem.Nearest(q.places, path) }

// Pos returns the place of an event or field, such as "compose[1].poisson.rate",
// or of the nearest thing around it.
func (q *Query) Pos(path string) (Pos, bool) { return problem.Nearest(q.places, "event."+path) }

// Given names the quantities that a question fixes, and so the one that it asks for.
type Given uint8

const (
	// GivenDelta asks for the smallest ε at δ.
	GivenDelta Given = iota + 1
	// GivenEpsilon asks for the smallest δ at ε.
	GivenEpsilon
	// GivenTarget asks for the parameter that meets (ε, δ).
	GivenTarget
)

// MethodNames are the methods of the accountant, as query.methods names them.
var MethodNames = []string{"basic", "rdp", "pld", "shuffle", "iterate"}

// ParseQuery reads {relation, event, query} written in YAML or JSON.
func ParseQuery(text []byte, file string) (*Query, Problems) {
	return parseQuery(newQueryParser(file), text)
}

// ParseQueryJSON is ParseQuery for a text that must be JSON.
func ParseQueryJSON(text []byte, file string) (*Query, Problems) {
	p := newQueryParser(file)
	if len(text) <= MaxBytes && !p.JSON(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) {
		return nil, p.told()
	}
	return parseQuery(p, text)
}

// newQueryParser returns a parser of questions, which quotes no text that is none.
func newQueryParser(file string) *parser {
	p := newParser(file)
	p.Keys = []string{"relation", "event", "query"}
	for _, others := range questionWords {
		p.Keys = append(p.Keys, others...)
	}
	return p
}

// questionWords are other words for the fields of a question.
var questionWords = map[string][]string{
	"relation": {"neighbouring", "neighboring_relation", "adjacency"},
	"event":    {"expression", "mechanism"},
	"query":    {"target", "ask"},
}

const asking = "one of {delta: 1e-6}, {epsilon: 1}, {calibrate: sigma, epsilon: 1, delta: 1e-6}"

func parseQuery(p *parser, text []byte) (*Query, Problems) {
	root := p.Document(text)
	if root == nil {
		return nil, p.told()
	}
	q := &Query{places: p.Places}
	f := p.open(lang.Place{At: root, Node: root}, "write relation, event and query")
	for name, others := range questionWords {
		f.also(name, others...)
	}
	q.Relation = p.relation(f)
	if event, ok := f.need("event", "such as event: {gaussian: {sigma: 1}}"); ok {
		q.Event = p.event(event, nil)
	}
	if ask, ok := f.need("query", asking); ok {
		p.ask(q, ask)
	}
	f.done()
	if q.Parameter != nil && len(p.Problems) == 0 {
		// The end of the range that costs least fits any other number.
		lo, hi := q.Parameter.Range(q.Event)
		if q.Parameter.Most {
			hi = lo
		}
		q.Event = q.Parameter.Set(q.Event, hi)
	}
	p.validate(q.Event, "event")
	if len(p.Problems) > 0 {
		return nil, p.told()
	}
	return q, nil
}

func (p *parser) relation(f *fields) privacy.Relation {
	const hint = "add-remove or replace-one; there is no default"
	v, ok := f.need("relation", hint)
	if !ok {
		return 0
	}
	r, err := privacy.ParseRelation(v.Node.Value)
	if err != nil || v.Node.Kind != yaml.ScalarNode {
		names := []string{privacy.AddRemove.String(), privacy.ReplaceOne.String()}
		also := map[string]string{"unbounded": names[0], "add": names[0], "remove": names[0], "zero-out": names[0],
			"bounded": names[1], "replace": names[1], "substitute": names[1], "change-one": names[1]}
		told := hintFor(v.Node.Value, "known relations", names, also)
		if !strings.HasPrefix(told, "did you mean") {
			told = hint
		}
		p.Wrong(v, told, "must be add-remove or replace-one")
		return 0
	}
	return r
}

func (p *parser) ask(q *Query, at lang.Place) {
	f := p.open(at, asking)
	if !f.ok {
		return
	}
	f.also("epsilon", "eps", "ε")
	f.also("delta", "δ")
	f.also("methods", "method")
	name, calibrated := f.take("calibrate")
	eps, hasEps := f.take("epsilon")
	dlt, hasDelta := f.take("delta")
	q.Methods = p.methods(f)
	if hasEps && p.Open(&eps) {
		q.Epsilon, _ = p.number(eps, func(x float64) string {
			switch {
			case calibrated && !(x > 0):
				return "must be above 0" // no release meets a target of 0
			case !(x >= 0):
				return "must not be negative"
			}
			return ""
		})
	}
	if hasDelta && p.Open(&dlt) {
		q.Delta, _ = p.number(dlt, func(x float64) string {
			if !(x >= 0 && x < 1) {
				return "must be at least 0 and below 1"
			}
			return ""
		})
	}
	switch {
	case calibrated:
		q.Given = GivenTarget
		for field, ok := range map[string]bool{"epsilon": hasEps, "delta": hasDelta} {
			if !ok {
				p.Wrong(lang.Place{Path: "query." + field, At: at.At}, "a calibration meets a target of both epsilon and delta", "is missing")
			}
		}
		p.calibrate(q, name)
	case hasEps && hasDelta:
		p.Wrong(at, "leave out the one that is asked for, or name what to calibrate", "gives both epsilon and delta")
	case hasEps:
		q.Given = GivenEpsilon
	case hasDelta:
		q.Given = GivenDelta
	default:
		p.Wrong(at, asking, "asks nothing")
	}
	f.done()
}

// methods reads which methods to evaluate.
func (p *parser) methods(f *fields) []string {
	at, ok := f.take("methods")
	if !ok || !p.Open(&at) {
		return nil
	}
	items, _ := p.items(at, "such as methods: [rdp]; leave it out for all", "at least one method")
	var out []string
	for _, m := range items {
		switch {
		case !p.Open(&m):
		case m.Node.Kind != yaml.ScalarNode || !slices.Contains(MethodNames, m.Node.Value):
			p.Wrong(m, hintFor(m.Node.Value, "known methods", MethodNames, map[string]string{"renyi": "rdp", "prv": "pld"}),
				"must be one of %s", strings.Join(MethodNames, ", "))
		case slices.Contains(out, m.Node.Value):
			p.Wrong(m, "keep one", "is given twice")
		default:
			out = append(out, m.Node.Value)
		}
	}
	return out
}

// calibrate finds the field to calibrate. It drops problems with the value of that
// field, because nobody uses it.
func (p *parser) calibrate(q *Query, at lang.Place) {
	if !p.Open(&at) {
		return
	}
	if at.Node.Kind != yaml.ScalarNode || at.Node.Value == "" {
		p.Wrong(at, "such as sigma, rate, n", "must be the name of a field")
		return
	}
	name := strings.TrimPrefix(at.Node.Value, "event.")
	c, wrong := resolve(name, p.candidates)
	if wrong != "" {
		p.Wrong(at, "", "%s", wrong)
		// A field that is missing because it is wanted is not a second problem.
		if m := matching(name, p.candidates); len(m) > 0 && m[0].missing {
			p.forget(m[0])
		}
		return
	}
	q.Parameter = &c.Parameter
	p.forget(c)
}

// forget drops the problems with a field, and with how the fields of its event fit
// together.
func (p *parser) forget(c candidate) {
	p.Problems = slices.DeleteFunc(p.Problems, func(problem Problem) bool { return problem.Path == "event."+c.Path })
	p.misfits = slices.DeleteFunc(p.misfits, func(m misfit) bool { return m.event == "event."+c.event })
}
