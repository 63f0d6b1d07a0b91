package describe

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dprelease/dprelease/privacy"
)

// length bounds the line of an event, in characters.
const length = 400

// Event writes an event as one line for people, such as
// "poisson(0.01, gaussian(σ=1)) ×1000". Long expressions are cut with "…".
func Event(e privacy.Event) string {
	d := &describer{}
	d.event(e, 0)
	s := d.b.String()
	if utf8.RuneCountInString(s) > length {
		s = string([]rune(s)[:length]) + "…"
	}
	return s
}

type describer struct{ b strings.Builder }

func (d *describer) event(e privacy.Event, depth int) {
	if d.b.Len() > 4*length || depth >= privacy.MaxDepth {
		d.b.WriteString("…")
		return
	}
	switch e := e.(type) {
	case nil:
		d.b.WriteString("?")
	case privacy.Compose:
		for i, item := range e.Events {
			if i > 0 {
				d.b.WriteString(" + ")
			}
			if i == 8 && len(e.Events) > 10 {
				fmt.Fprintf(&d.b, "… (%d events)", len(e.Events))
				break
			}
			_, nested := item.(privacy.Compose)
			d.wrapped(item, nested, depth)
		}
	case privacy.Repeat:
		_, sum := e.Event.(privacy.Compose)
		_, again := e.Event.(privacy.Repeat)
		d.wrapped(e.Event, sum || again, depth)
		fmt.Fprintf(&d.b, " ×%d", e.N)
	default:
		k, ok := privacy.KindOf(e)
		if !ok {
			d.b.WriteString(privacy.Name(e))
			return
		}
		parts := []string{k.Head(e)}
		if parts[0] == "" {
			parts = shown(k.Fields, reflect.ValueOf(e))
		}
		inner := privacy.Children(e)
		if len(inner) > 0 {
			parts = append(parts, "")
		}
		d.b.WriteString(k.Name + "(" + strings.Join(parts, ", "))
		for _, c := range inner {
			d.event(c, depth+1)
		}
		d.b.WriteString(")")
	}
}

func (d *describer) wrapped(e privacy.Event, brackets bool, depth int) {
	if brackets {
		d.b.WriteString("(")
	}
	d.event(e, depth+1)
	if brackets {
		d.b.WriteString(")")
	}
}

// shown writes the fields that people see. It leaves out defaults.
func shown(fields []privacy.Field, record reflect.Value) (parts []string) {
	for i := range fields {
		f := &fields[i]
		v := f.In(record)
		if f.Hidden || f.Optional && v.IsZero() {
			continue
		}
		switch f.Shape {
		case privacy.Number:
			parts = append(parts, f.Sign+number(v.Float()))
		case privacy.Whole:
			parts = append(parts, f.Sign+strconv.FormatInt(v.Int(), 10))
		case privacy.Word:
			parts = append(parts, f.Sign+v.String())
		case privacy.Flag:
			parts = append(parts, f.Sign)
		case privacy.Record:
			parts = append(parts, shown(f.Fields, v)...)
		}
	}
	return parts
}

// number returns the shortest exact spelling, with an exponent only if people would write one.
func number(x float64) string {
	if a := math.Abs(x); a == 0 || a >= 1e-4 && a < 1e7 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	s := strconv.FormatFloat(x, 'e', -1, 64)
	mant, exp, _ := strings.Cut(s, "e")
	e, err := strconv.Atoi(exp)
	if err != nil {
		return s
	}
	return mant + "e" + strconv.Itoa(e)
}
