package expr

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// Parameter is one number of an expression that a calibration looks for.
type Parameter struct {
	Path  string // below the event: "repeat.event.poisson.rate"
	Kind  string // of the event it belongs to
	Field string // "rate", or "stages[0].take"
	Whole bool   // only whole numbers are answers
	Most  bool   // the largest value that meets the target is wanted; else the smallest

	trail []int // index at each step down: an item of compose, or -1
}

// free says of each kind which fields can be calibrated, and of each field
// whether it is a whole number and whether more of it costs more.
var freeFields = map[string][]Parameter{
	"gaussian":            {{Field: "sigma"}},
	"laplace":             {{Field: "scale"}},
	"discrete_gaussian":   {{Field: "sigma"}},
	"discrete_laplace":    {{Field: "scale"}},
	"pure":                {{Field: "eps", Most: true}},
	"approx":              {{Field: "eps", Most: true}, {Field: "delta", Most: true}},
	"zcdp":                {{Field: "rho", Most: true}},
	"randomized_response": {{Field: "eps0", Most: true}},
	"repeat":              {{Field: "n", Whole: true, Most: true}},
	"poisson":             {{Field: "rate", Most: true}},
	"without_replacement": {{Field: "n", Whole: true, Most: true}, {Field: "N", Whole: true}},
	"with_replacement":    {{Field: "n", Whole: true, Most: true}, {Field: "N", Whole: true}},
	"shuffled":            {{Field: "n", Whole: true}},
	"last_iterate":        {{Field: "sigma"}, {Field: "steps", Whole: true, Most: true}, {Field: "epochs", Whole: true, Most: true}, {Field: "sensitivity", Most: true}},
}

// candidate is a field of this expression that could be meant.
type candidate struct {
	Parameter
	missing bool
}

// candidates lists every field of the tree that can be calibrated, written or
// not.
func candidates(n *node, path string, trail []int, depth int) []candidate {
	if n == nil || n.shape != mapping || len(n.entries) != 1 || depth > MaxDepth {
		return nil
	}
	kind, body := n.entries[0].key, n.entries[0].value
	path = join(path, keyName(kind))
	var out []candidate
	for _, p := range freeFields[kind] {
		p.Kind, p.Path, p.trail = kind, join(path, p.Field), slices.Clone(trail)
		if kind == "last_iterate" && !usesField(body, p.Field) {
			continue
		}
		out = append(out, candidate{p, body.get(p.Field) == nil})
	}
	if kind == "compose" {
		for i, item := range body.items {
			out = append(out, candidates(item, path+"["+strconv.Itoa(i)+"]", append(trail, i), depth+1)...)
		}
		return out
	}
	if inner := body.get("event"); inner != nil {
		out = append(out, candidates(inner, join(path, "event"), append(trail, -1), depth+1)...)
	}
	return out
}

// usesField keeps steps from being a candidate of cyclic passes.
func usesField(body *node, field string) bool {
	kind := body.get("kind")
	cyclic := kind != nil && strings.HasPrefix(kind.text, "cyclic")
	return !(field == "steps" && cyclic || field == "epochs" && !cyclic)
}

// resolve finds the one parameter that a name or path means; what is wrong
// otherwise.
func resolve(name string, all []candidate) (Parameter, string) {
	name = strings.TrimPrefix(name, "event.")
	match := matching(name, all)
	if len(match) == 0 && name == "steps" {
		match = matching("repeat.n", all) // what repeat.n is called in notebooks
	}
	if len(match) > 1 {
		var open []candidate
		for _, c := range match {
			if c.missing {
				open = append(open, c)
			}
		}
		if len(open) == 1 {
			match = open
		}
	}
	switch len(match) {
	case 1:
		return match[0].Parameter, ""
	case 0:
		if len(all) == 0 {
			return Parameter{}, "nothing in this expression can be calibrated"
		}
		return Parameter{}, fmt.Sprintf("no field %s in this expression can be calibrated; the candidates are %s",
			strconv.Quote(shorten(name, 80)), paths(all))
	}
	return Parameter{}, fmt.Sprintf("%s is ambiguous: it could be %s; write one of these paths", shorten(name, 80), paths(match))
}

// matching keeps the candidates whose path ends in name, at a boundary.
func matching(name string, all []candidate) []candidate {
	var out []candidate
	for _, c := range all {
		if c.Path == name {
			return []candidate{c}
		}
		if strings.HasSuffix(c.Path, "."+name) {
			out = append(out, c)
		}
	}
	return out
}

func paths(list []candidate) string {
	const most = 8
	var names []string
	for _, c := range list[:min(len(list), most)] {
		names = append(names, shorten(c.Path, 120))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("%d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}

// Round returns the nearest admissible value on the safe side of x: fewer
// steps, more noise.
func (p Parameter) Round(x float64) float64 {
	switch {
	case !p.Whole:
		return x
	case p.Most:
		return math.Floor(x)
	}
	return math.Ceil(x)
}

// Set returns the expression with the parameter set to Round(x). The event
// must be the one that the parameter was resolved in.
func (p Parameter) Set(e privacy.Event, x float64) privacy.Event {
	return set(e, p.trail, p.Field, p.Round(x))
}

// wholeNumber converts without overflow; float64 holds every whole number up
// to 2^53.
func wholeNumber(x float64) int64 {
	switch {
	case !(x > 0):
		return 0
	case x >= 1<<62:
		return 1 << 62
	}
	return int64(x)
}

func set(e privacy.Event, trail []int, field string, x float64) privacy.Event {
	if len(trail) == 0 {
		return setField(e, field, x)
	}
	rest := trail[1:]
	switch v := e.(type) {
	case privacy.Compose:
		events := slices.Clone(v.Events)
		events[trail[0]] = set(events[trail[0]], rest, field, x)
		return privacy.Compose{Events: events}
	case privacy.Repeat:
		v.Event = set(v.Event, rest, field, x)
		return v
	case privacy.Shuffled:
		v.Event = set(v.Event, rest, field, x)
		return v
	case privacy.Sampling:
		return v.With(set(v.Inner(), rest, field, x))
	}
	return e
}

func setField(e privacy.Event, field string, x float64) privacy.Event {
	switch v := e.(type) {
	case privacy.Gaussian:
		v.Sigma = x
		return v
	case privacy.Laplace:
		v.Scale = x
		return v
	case privacy.DiscreteGaussian:
		v.Sigma = x
		return v
	case privacy.DiscreteLaplace:
		v.Scale = x
		return v
	case privacy.Pure:
		v.Eps = x
		return v
	case privacy.ZCDP:
		v.Rho = x
		return v
	case privacy.RandomizedResponse:
		v.Eps0 = x
		return v
	case privacy.Approx:
		if field == "delta" {
			v.Delta = x
		} else {
			v.Eps = x
		}
		return v
	case privacy.Repeat:
		v.N = wholeNumber(x)
		return v
	case privacy.Shuffled:
		v.N = wholeNumber(x)
		return v
	case privacy.Poisson:
		v.Rate = x
		return v
	case privacy.WithoutReplacement:
		if field == "N" {
			v.Of = wholeNumber(x)
		} else {
			v.Take = wholeNumber(x)
		}
		return v
	case privacy.WithReplacement:
		if field == "N" {
			v.Of = wholeNumber(x)
		} else {
			v.Take = wholeNumber(x)
		}
		return v
	case privacy.LastIterate:
		switch field {
		case "sigma":
			v.Sigma = x
		case "steps":
			v.Steps = wholeNumber(x)
		case "epochs":
			v.Epochs = wholeNumber(x)
		case "sensitivity":
			v.Sensitivity = x
		}
		return v
	}
	return e
}

// Range returns the values that make sense for the parameter in e. A target
// that even the cheaper end misses cannot be met.
func (p Parameter) Range(e privacy.Event) (lo, hi float64) {
	at := find(e, p.trail)
	switch p.Field {
	case "rate":
		return 1e-12, 1
	case "sigma", "scale":
		return 1e-6, 1e9
	case "eps", "eps0":
		return 1e-12, 1e4
	case "rho":
		return 1e-18, 1e6
	case "delta":
		return 1e-300, 0.5
	case "sensitivity":
		return 1e-9, 1e9
	case "n":
		if v, ok := at.(privacy.WithoutReplacement); ok {
			return 1, float64(v.Of)
		}
		if _, ok := at.(privacy.Shuffled); ok {
			return 1, 1e9
		}
		return 1, 1e12
	case "N":
		if v, ok := at.(privacy.WithoutReplacement); ok {
			return float64(v.Take), 1e15
		}
		return 1, 1e15
	}
	return 1, 1e12
}

func find(e privacy.Event, trail []int) privacy.Event {
	for _, i := range trail {
		switch v := e.(type) {
		case privacy.Compose:
			e = v.Events[i]
		case privacy.Repeat:
			e = v.Event
		case privacy.Shuffled:
			e = v.Event
		case privacy.Sampling:
			e = v.Inner()
		}
	}
	return e
}
