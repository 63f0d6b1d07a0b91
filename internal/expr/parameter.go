package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// freeFields says of each kind which fields can be calibrated, and of each field
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
	full := kind == nil || strings.HasPrefix(kind.text, "full-batch")
	return !(field == "steps" && !full || field == "epochs" && !cyclic)
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
