package expr

import (
	"math"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// kinds are the names of all events, in the order of the specification.
var kinds = []string{
	"gaussian", "laplace", "discrete_gaussian", "discrete_laplace", "pure", "approx", "zcdp", "randomized_response",
	"compose", "repeat", "poisson", "without_replacement", "with_replacement", "multistage", "shuffled", "last_iterate",
}

const eventHint = "such as {gaussian: {sigma: 1}}"

// event reads {kind: fields}. After a problem the result may be incomplete;
// it is never used then.
func (p *parser) event(n *node, path string) privacy.Event {
	if p.events++; p.events > MaxEvents {
		if p.events == MaxEvents+1 {
			p.add(n.line, n.col, path, "write equal events as repeat", "more than %d events in one expression", MaxEvents)
		}
		return nil
	}
	if len(p.problems) >= maxProblems {
		return nil
	}
	if p.depth++; p.depth > MaxDepth {
		p.add(n.line, n.col, path, "", "%s", tooDeep)
		return nil
	}
	defer func() { p.depth-- }()
	if n.shape == list {
		p.add(n.line, n.col, path, "write compose: [...]", "an event must be a mapping, not a list")
		return nil
	}
	if n.shape == scalar && contains(kinds, n.text) {
		p.add(n.line, n.col, path, eventHint, "the event %s has no fields", n.text)
		return nil
	}
	if n.shape == scalar || len(n.entries) == 0 {
		p.add(n.line, n.col, path, eventHint, "an event must be a mapping with one key, its kind")
		return nil
	}
	if len(n.entries) > 1 {
		names := make([]string, 0, len(n.entries))
		for _, e := range n.entries[:min(len(n.entries), 6)] {
			names = append(names, keyName(e.key))
		}
		p.add(n.entries[1].line, n.entries[1].col, path, "several events are written compose: [...]; fields belong inside the kind",
			"an event has exactly one key, its kind, and not %d: %s", len(n.entries), strings.Join(names, ", "))
		return nil
	}
	e := n.entries[0]
	path = join(path, keyName(e.key))
	if !contains(kinds, e.key) {
		p.add(e.line, e.col, path, hintFor(e.key, kinds), "unknown event; the events are %s", strings.Join(kinds, ", "))
		return nil
	}
	p.places[path] = Pos{p.file, e.line, e.col}
	if e.key == "compose" {
		return p.compose(e.value, path)
	}
	f := p.open(e.value, path, e.key, "")
	event := p.fieldsOf(e.key, f)
	f.done()
	return event
}

// fieldsOf reads the fields of an event; compose is the one event whose value
// is a list, and is read elsewhere.
func (p *parser) fieldsOf(kind string, f *fields) privacy.Event {
	switch kind {
	case "gaussian":
		return privacy.Gaussian{Sigma: f.number("sigma", positive), Sensitivity: f.sensitivity(positive)}
	case "laplace":
		return privacy.Laplace{Scale: f.number("scale", positive), Sensitivity: f.sensitivity(positive)}
	case "discrete_gaussian":
		return privacy.DiscreteGaussian{Sigma: f.number("sigma", positive), Sensitivity: f.sensitivity(positive),
			Coordinates: f.optionalWhole("coordinates", 1)}
	case "discrete_laplace":
		return privacy.DiscreteLaplace{Scale: f.number("scale", positive), Sensitivity: f.sensitivity(wholeStep)}
	case "pure":
		return privacy.Pure{Eps: f.number("eps", nonNegative)}
	case "approx":
		return privacy.Approx{Eps: f.number("eps", nonNegative), Delta: f.number("delta", delta)}
	case "zcdp":
		return privacy.ZCDP{Rho: f.number("rho", nonNegative)}
	case "randomized_response":
		k := f.whole("k", 2)
		if k > math.MaxInt32 {
			f.wrong(f.at.get("k"), "k", "", "must be at most %d", math.MaxInt32)
			k = 2
		}
		return privacy.RandomizedResponse{K: int(k), Eps0: f.number("eps0", nonNegative)}
	case "repeat":
		return privacy.Repeat{N: f.whole("n", 1), Event: f.event("event")}
	case "poisson":
		return privacy.Poisson{Rate: f.number("rate", probability), Event: f.event("event")}
	case "without_replacement":
		e := privacy.WithoutReplacement{Take: f.whole("n", 1), Of: f.whole("N", 1), Event: f.event("event")}
		f.atMost("n", e.Take, "N", e.Of)
		return e
	case "with_replacement":
		return privacy.WithReplacement{Take: f.whole("n", 1), Of: f.whole("N", 1), Event: f.event("event")}
	case "multistage":
		return privacy.Multistage{Stages: f.stages(), Event: f.event("event")}
	case "shuffled":
		return privacy.Shuffled{N: f.whole("n", 1), Event: f.event("event")}
	case "last_iterate":
		return lastIterate(f)
	}
	return nil
}

func (p *parser) compose(n *node, path string) privacy.Event {
	if n.shape != list || len(n.items) == 0 {
		p.add(n.line, n.col, path, "such as compose: [{pure: {eps: 1}}, {zcdp: {rho: 0.1}}]", "compose must be a list of at least one event")
		return nil
	}
	events := make([]privacy.Event, len(n.items))
	for i, item := range n.items {
		events[i] = p.event(item, path+"["+strconv.Itoa(i)+"]")
	}
	return privacy.Compose{Events: events}
}

// wholeStep is the check of a sensitivity on the integers.
func wholeStep(x float64) string {
	if !(x >= 1) || x != math.Trunc(x) || x > 1<<53 {
		return "must be a whole number of at least 1: the noise is on the integers"
	}
	return ""
}

// sensitivity reads {add-remove, replace-one}; replace-one alone leaves
// add-remove unknown (P1).
func (f *fields) sensitivity(c check) privacy.Sensitivity {
	v := f.take("sensitivity")
	if v == nil {
		return privacy.Sensitivity{}
	}
	if v.shape == scalar {
		// A bare number is refused even where the relation is known: half of the
		// literature would mean the one, half the other, a factor of 2 apart.
		f.wrong(v, "sensitivity", "write {add-remove: "+shorten(v.text, 20)+"} or {replace-one: "+shorten(v.text, 20)+"}; "+
			"where only add-remove is given, replace-one is twice that", "must say under which relation")
		return privacy.Sensitivity{}
	}
	s := f.p.open(v, join(f.path, "sensitivity"), "sensitivity", "write {add-remove: 1, replace-one: 2}")
	out := privacy.Sensitivity{AddRemove: s.optional("add-remove", c), ReplaceOne: s.optional("replace-one", c)}
	s.done()
	return out
}

func (f *fields) stages() []privacy.Stage {
	const hint = "such as stages: [{take: 2, of: 10}, {take: 5, of: 100}]"
	v := f.need("stages", hint)
	if v == nil {
		return nil
	}
	if v.shape != list || len(v.items) == 0 {
		f.wrong(v, "stages", hint, "must be a list of at least one stage")
		return nil
	}
	out := make([]privacy.Stage, len(v.items))
	for i, item := range v.items {
		s := f.p.open(item, join(f.path, "stages["+strconv.Itoa(i)+"]"), "a stage", "such as {take: 2, of: 10}")
		out[i] = privacy.Stage{Take: s.whole("take", 1), Of: s.whole("of", 1), MaxTake: s.optionalWhole("max_take", 1)}
		s.atMost("take", out[i].Take, "of", out[i].Of)
		s.atMost("take", out[i].Take, "max_take", out[i].MaxTake)
		s.done()
	}
	return out
}
