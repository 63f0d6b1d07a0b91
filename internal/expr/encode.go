package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/dprelease/dprelease/privacy"
)

// Encode writes an event as canonical JSON: fields in the order of the
// specification, what was left to a default left out, the shortest numbers
// that read back the same. Equal events give equal bytes, and Parse reads the
// event back. What Parse would refuse is an error.
func Encode(e privacy.Event) ([]byte, error) {
	w := &writer{}
	w.event(e, "", 0)
	if w.err != nil {
		return nil, w.err
	}
	// The rules of what an event may hold are written once, in the parser.
	if _, problems := Parse(w.out, ""); problems != nil {
		first := problems[0]
		return nil, fmt.Errorf("%s: %s", first.Path, first.Message)
	}
	return w.out, nil
}

type writer struct {
	out []byte
	err error
}

func (w *writer) fail(path, format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%s: %s", shorten(path, 160), fmt.Sprintf(format, args...))
	}
}

// pair is one field; its value is a float64, an int64, a string, a
// privacy.Sensitivity, a []privacy.Stage or a privacy.Event.
type pair struct {
	name     string
	value    any
	optional bool // left out when zero
}

func (w *writer) event(e privacy.Event, path string, depth int) {
	if e == nil {
		w.fail(path, "the event is missing")
		return
	}
	if depth >= MaxDepth {
		w.fail(path, "%s", tooDeep)
		return
	}
	path = join(path, e.Kind())
	w.out = append(w.out, `{"`+e.Kind()+`":`...)
	if c, ok := e.(privacy.Compose); ok {
		w.out = append(w.out, '[')
		for i, item := range c.Events {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.event(item, path+"["+strconv.Itoa(i)+"]", depth+1)
		}
		w.out = append(w.out, "]}"...)
		return
	}
	pairs, ok := pairsOf(e)
	if !ok {
		w.fail(path, "events of type %T cannot be written", e)
		return
	}
	w.object(pairs, path, depth)
	w.out = append(w.out, '}')
}

func (w *writer) object(pairs []pair, path string, depth int) {
	w.out = append(w.out, '{')
	first := true
	for _, p := range pairs {
		if p.optional && isZero(p.value) {
			continue
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		w.out = append(w.out, '"')
		w.out = append(w.out, p.name...)
		w.out = append(w.out, `":`...)
		w.value(p.value, join(path, p.name), depth)
	}
	w.out = append(w.out, '}')
}

func (w *writer) value(v any, path string, depth int) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			w.fail(path, "must be a finite number")
			return
		}
		b, _ := json.Marshal(v) // finite: no error
		w.out = append(w.out, b...)
	case int64:
		w.out = strconv.AppendInt(w.out, v, 10)
	case string:
		b, _ := json.Marshal(v) // a string: no error
		w.out = append(w.out, b...)
	case privacy.Sensitivity:
		w.object([]pair{{"add-remove", v.AddRemove, true}, {"replace-one", v.ReplaceOne, true}}, path, depth)
	case []privacy.Stage:
		w.out = append(w.out, '[')
		for i, s := range v {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.object([]pair{{"take", s.Take, false}, {"of", s.Of, false}, {"max_take", s.MaxTake, true}}, path, depth)
		}
		w.out = append(w.out, ']')
	case privacy.Event:
		w.event(v, path, depth+1)
	case nil:
		w.fail(path, "the event is missing")
	}
}

func isZero(v any) bool {
	switch v := v.(type) {
	case float64:
		return v == 0
	case int64:
		return v == 0
	case privacy.Sensitivity:
		return v == privacy.Sensitivity{}
	}
	return false
}

func pairsOf(e privacy.Event) ([]pair, bool) {
	switch e := e.(type) {
	case privacy.Gaussian:
		return []pair{{"sigma", e.Sigma, false}, {"sensitivity", e.Sensitivity, true}}, true
	case privacy.Laplace:
		return []pair{{"scale", e.Scale, false}, {"sensitivity", e.Sensitivity, true}}, true
	case privacy.DiscreteGaussian:
		return []pair{{"sigma", e.Sigma, false}, {"sensitivity", e.Sensitivity, true}, {"coordinates", e.Coordinates, true}}, true
	case privacy.DiscreteLaplace:
		return []pair{{"scale", e.Scale, false}, {"sensitivity", e.Sensitivity, true}}, true
	case privacy.Pure:
		return []pair{{"eps", e.Eps, false}}, true
	case privacy.Approx:
		return []pair{{"eps", e.Eps, false}, {"delta", e.Delta, false}}, true
	case privacy.ZCDP:
		return []pair{{"rho", e.Rho, false}}, true
	case privacy.RandomizedResponse:
		return []pair{{"k", int64(e.K), false}, {"eps0", e.Eps0, false}}, true
	case privacy.Repeat:
		return []pair{{"n", e.N, false}, {"event", e.Event, false}}, true
	case privacy.Poisson:
		return []pair{{"rate", e.Rate, false}, {"event", e.Event, false}}, true
	case privacy.WithoutReplacement:
		return []pair{{"n", e.Take, false}, {"N", e.Of, false}, {"event", e.Event, false}}, true
	case privacy.WithReplacement:
		return []pair{{"n", e.Take, false}, {"N", e.Of, false}, {"event", e.Event, false}}, true
	case privacy.Multistage:
		return []pair{{"stages", e.Stages, false}, {"event", e.Event, false}}, true
	case privacy.Shuffled:
		return []pair{{"n", e.N, false}, {"event", e.Event, false}}, true
	case privacy.LastIterate:
		return []pair{{"kind", e.Variant, false}, {"sigma", e.Sigma, false}, {"sensitivity", e.Sensitivity, false},
			{"n", e.N, false}, {"step_size", e.StepSize, false}, {"smooth", e.Smooth, false},
			{"steps", e.Steps, true}, {"batch", e.Batch, true}, {"epochs", e.Epochs, true},
			{"strong_convexity", e.StrongConvexity, true}, {"diameter", e.Diameter, true},
			{"early", e.Early, true}, {"rounding", e.Rounding, true}}, true
	}
	return nil, false
}
