package expr

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy"
)

// Parameter is one number of an expression that a calibration looks for.
type Parameter struct {
	Path  string // below the event: "repeat.event.poisson.rate"
	Kind  string // of the event it belongs to
	Field string // "rate"
	Whole bool   // only whole numbers are answers
	Most  bool   // the largest value that meets the target is wanted; else the smallest

	trail []int // which child to take at each step down
	field *privacy.Field
}

// candidate is a field of an expression that a calibration could look for.
type candidate struct {
	Parameter
	event   string // the path of its event
	missing bool
}

// newCandidate describes a field of the event at path, which may begin with "event.".
func newCandidate(kind string, f *privacy.Field, path string, trail []int, missing bool) candidate {
	path = strings.TrimPrefix(path, "event.")
	return candidate{Parameter{
		Path: path + "." + f.Name, Kind: kind, Field: f.Name, Whole: f.Shape == privacy.Whole, Most: f.Search.Most,
		trail: slices.Clone(trail), field: f,
	}, path, missing}
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
// must be the one in which the parameter was found.
func (p Parameter) Set(e privacy.Event, x float64) privacy.Event {
	return p.set(e, p.trail, p.Round(x))
}

func (p Parameter) set(e privacy.Event, trail []int, x float64) privacy.Event {
	if len(trail) > 0 {
		inner := slices.Clone(privacy.Children(e))
		inner[trail[0]] = p.set(inner[trail[0]], trail[1:], x)
		return privacy.WithChildren(e, inner)
	}
	out := reflect.New(reflect.TypeOf(e)).Elem()
	out.Set(reflect.ValueOf(e))
	if v := p.field.In(out); p.Whole {
		v.SetInt(wholeNumber(x))
	} else {
		v.SetFloat(x)
	}
	return out.Interface().(privacy.Event)
}

// wholeNumber converts without overflow; float64 holds every whole number up to 2^53.
func wholeNumber(x float64) int64 {
	switch {
	case !(x > 0):
		return 0
	case x >= math.MaxInt64/2:
		return math.MaxInt64 / 2
	}
	return int64(x)
}

// Range returns the range of the parameter in e. If even the end that costs
// least misses a target, no value meets it.
func (p Parameter) Range(e privacy.Event) (lo, hi float64) {
	for _, i := range p.trail {
		e = privacy.Children(e)[i]
	}
	return p.field.Search.Range(e)
}

// resolve finds the one candidate with a name or path, or says what is wrong.
func resolve(name string, all []candidate) (candidate, string) {
	match := matching(name, all)
	if len(match) == 0 && name == "steps" {
		match = matching("repeat.n", all) // notebooks call repeat.n so
	}
	if len(match) > 1 {
		open := slices.DeleteFunc(slices.Clone(match), func(c candidate) bool { return !c.missing })
		if len(open) == 1 {
			match = open
		}
	}
	switch {
	case len(match) == 1:
		return match[0], ""
	case len(match) > 1:
		return candidate{}, fmt.Sprintf("%s is ambiguous: it could be %s; write one of these paths", problem.Shorten(name, 80), paths(match))
	case len(all) == 0:
		return candidate{}, "nothing in this expression can be calibrated"
	}
	return candidate{}, fmt.Sprintf("no field %s in this expression can be calibrated; the candidates are %s", problem.Shown(name), paths(all))
}

// matching returns the candidates whose paths end with name.
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
		names = append(names, problem.Shorten(c.Path, 120))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("%d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}
