package privacy

import (
	"fmt"
	"reflect"
	"strconv"
)

const (
	// leastRate is the smallest number that has all its digits: below it math.Log is
	// off by up to 36, on amd64.
	leastRate = 0x1p-1022

	maxDepth  = 100         // events inside events
	maxEvents = 1_000_000   // events in one expression
	maxRepeat = 1e12        // runs in one repeat
	maxRuns   = int64(1e15) // runs of one event, all repeats around it multiplied
)

// Error names the part of an expression that is wrong, and the remedy.
type Error struct {
	Path    string // "compose[1].poisson.rate"
	Message string
}

// Error is the path and the message.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// Validate checks an expression: every parameter in range, nothing missing,
// nested no deeper than a hundred events. The error is an [*Error] that names the
// sub-expression.
func Validate(e Event) error {
	v := validator{}
	return v.event(e, "", 1, 1)
}

type validator struct{ events int }

// join extends a location by a field or a kind.
func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func wrong(path, format string, args ...any) error {
	return &Error{Path: path, Message: fmt.Sprintf(format, args...)}
}

func (v *validator) event(e Event, at string, depth int, runs int64) error {
	if e == nil {
		return wrong(at, "event is missing")
	}
	if depth > maxDepth {
		return wrong(shorten(at), "nested more than %d events deep", maxDepth)
	}
	if v.events++; v.events > maxEvents {
		return wrong(shorten(at), "more than %d events in one expression", maxEvents)
	}
	here := join(at, e.kind())
	if err := valid(e, here); err != nil {
		return err
	}
	switch e := e.(type) {
	case Compose:
		for i, p := range e.Events {
			if err := v.event(p, here+"["+strconv.Itoa(i)+"]", depth+1, runs); err != nil {
				return err
			}
		}
		return nil
	case Repeat:
		if runs > maxRuns/e.N {
			return wrong(here+".n", "repeats multiply to more than %g runs", float64(maxRuns))
		}
		runs *= e.N
	case Poisson:
		if e.Rate < 1 { // at rate 1 everybody is in the sample: terms counts the runs inside
			runs = 1
		}
	case ByGroup, RowsOfUnit: // they may cost the same as their inner event: terms counts the runs inside
	default:
		runs = 1 // a draw or a shuffle is evaluated as a whole
	}
	for _, inner := range Children(e) {
		if err := v.event(inner, here+".event", depth+1, runs); err != nil {
			return err
		}
	}
	return nil
}

// valid checks the fields of one event and how they fit together.
func valid(e Event, here string) error {
	k, ok := KindOf(e)
	if !ok {
		return wrong(here, "unknown event %T: use the types of this package, by value", e)
	}
	if !k.loose {
		if err := validFields(k.Fields, reflect.ValueOf(e), here); err != nil {
			return err
		}
	}
	var first error
	if k.check != nil {
		k.check(e, func(field, format string, args ...any) {
			if first == nil {
				first = wrong(join(here, field), format, args...)
			}
		})
	}
	return first
}

func validFields(fields []Field, record reflect.Value, here string) error {
	for i := range fields {
		f := &fields[i]
		v := f.In(record)
		if f.Optional && v.IsZero() {
			continue
		}
		path := join(here, f.Name)
		var err error
		switch f.Shape {
		case Number:
			err = validNumber(f, path, v.Float())
		case Whole:
			err = validNumber(f, path, float64(v.Int()))
		case Record:
			err = validFields(f.Fields, v, path)
		case Records:
			for j := 0; j < v.Len() && err == nil; j++ {
				err = validFields(f.Fields, v.Index(j), path+"["+strconv.Itoa(j)+"]")
			}
			if v.Len() == 0 {
				err = wrong(path, "must hold at least one")
			}
		case Wholes:
			for j := 0; j < v.Len() && err == nil; j++ {
				err = validNumber(f, path+"["+strconv.Itoa(j)+"]", float64(v.Index(j).Int()))
			}
			if v.Len() == 0 {
				err = wrong(path, "must hold at least one")
			}
		case Inners:
			if v.Len() == 0 {
				err = wrong(here, "must hold at least one event")
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func validNumber(f *Field, path string, x float64) error {
	if message := f.Wrong(x); message != "" {
		return wrong(path, "%s (%g)", message, x)
	}
	return nil
}

// shorten keeps the path of a very deep expression readable.
func shorten(at string) string {
	if len(at) > 80 {
		return at[:40] + "…"
	}
	return at
}
