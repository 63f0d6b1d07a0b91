package privacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// MaxDepth is the number of events that may stand inside one another in canonical form.
const MaxDepth = 100

// errCanonical says that bytes are no event in canonical form.
var errCanonical = errors.New("not an event in canonical form")

// Canonical returns the canonical bytes of an event: JSON without spaces, fields in the
// order of their declaration, optional fields left out where they have their zero value,
// and the shortest numbers that read back the same. Equal events have equal bytes and
// different events have different bytes, so that bytes can be compared, hashed and sent.
// specs/plugin-v1.md describes them.
func Canonical(e Event) ([]byte, error) { return appendEvent(nil, e, 0) }

// Equal reports whether two events have the same canonical bytes. An event that has none
// equals nothing.
func Equal(a, b Event) bool {
	x, err := Canonical(a)
	if err != nil {
		return false
	}
	y, err := Canonical(b)
	return err == nil && bytes.Equal(x, y)
}

// FromCanonical is the inverse of [Canonical]. It accepts the canonical bytes of one
// event and nothing else: no other spelling, order, number format, space or further byte.
// The event is well formed (its numbers are finite, no inner event is missing), which
// does not mean that it makes sense.
func FromCanonical(b []byte) (Event, error) {
	r := canonicalReader{rest: b}
	e := r.event(0)
	if r.bad || len(r.rest) > 0 {
		return nil, errCanonical
	}
	// The reader knows where fields stand. Whether every number and every omission is
	// the canonical one shows when the event is written again.
	if again, err := Canonical(e); err != nil || !bytes.Equal(again, b) {
		return nil, errCanonical
	}
	return e, nil
}

func appendEvent(out []byte, e Event, depth int) ([]byte, error) {
	k, ok := KindOf(e)
	switch {
	case e == nil:
		return nil, errors.New("the event is missing")
	case !ok:
		return nil, fmt.Errorf("%T is no event: use the types of package privacy, by value", e)
	case depth >= MaxDepth:
		return nil, fmt.Errorf("nested too deeply: at most %d events may stand inside one another", MaxDepth)
	}
	out = append(out, `{"`+k.Name+`":`...)
	var err error
	if k.Fields[0].Name == "" {
		out, err = appendValue(out, &k.Fields[0], k.Fields[0].In(reflect.ValueOf(e)), depth)
	} else {
		out, err = appendFields(out, k.Fields, reflect.ValueOf(e), depth)
	}
	return append(out, '}'), err
}

func appendFields(out []byte, fields []Field, record reflect.Value, depth int) (_ []byte, err error) {
	separator := byte('{')
	for i := range fields {
		f := &fields[i]
		v := f.In(record)
		if f.Optional && v.IsZero() {
			continue
		}
		out = append(append(append(out, separator, '"'), f.Name...), `":`...)
		separator = ','
		if out, err = appendValue(out, f, v, depth); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if separator == '{' {
		out = append(out, '{')
	}
	return append(out, '}'), nil
}

func appendValue(out []byte, f *Field, v reflect.Value, depth int) (_ []byte, err error) {
	switch f.Shape {
	case Record:
		return appendFields(out, f.Fields, v, depth)
	case Inner:
		e, _ := v.Interface().(Event)
		return appendEvent(out, e, depth+1)
	case Inners, Records:
		out = append(out, '[')
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ',')
			}
			if f.Shape == Records {
				out, err = appendFields(out, f.Fields, v.Index(i), depth)
			} else {
				e, _ := v.Index(i).Interface().(Event)
				out, err = appendEvent(out, e, depth+1)
			}
			if err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case Word:
		// The words of a declaration need no escapes, so that every text has one spelling.
		if !slices.Contains(f.Words, v.String()) {
			return nil, errors.New("unknown word")
		}
	}
	b, err := json.Marshal(v.Interface()) // an error where a number is not finite
	return append(out, b...), err
}

// canonicalReader reads canonical bytes. After the first thing that is not as it must be,
// bad is set and nothing more is read.
type canonicalReader struct {
	rest []byte
	bad  bool
}

// skip reports whether text comes next, and passes over it.
func (r *canonicalReader) skip(text string) bool {
	rest, ok := bytes.CutPrefix(r.rest, []byte(text))
	if ok && !r.bad {
		r.rest = rest
	}
	return ok && !r.bad
}

// must passes over text, which has to come next.
func (r *canonicalReader) must(text string) {
	if !r.skip(text) {
		r.bad = true
	}
}

// until returns the text before the next of the given bytes. It is an error where none follows.
func (r *canonicalReader) until(ends string) string {
	n := bytes.IndexAny(r.rest, ends)
	if n < 0 || r.bad {
		r.bad = true
		return ""
	}
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text
}

func (r *canonicalReader) event(depth int) Event {
	r.must(`{"`)
	k, ok := KindNamed(r.until(`"`))
	if r.bad || !ok || depth >= MaxDepth {
		r.bad = true
		return nil
	}
	r.must(`":`)
	e := k.New()
	if k.Fields[0].Name == "" {
		r.value(&k.Fields[0], k.Fields[0].In(e), depth)
	} else {
		r.fields(k.Fields, e, depth)
	}
	r.must(`}`)
	return e.Interface().(Event)
}

func (r *canonicalReader) fields(fields []Field, record reflect.Value, depth int) {
	r.must(`{`)
	separator := `"`
	for i := range fields {
		f := &fields[i]
		if r.skip(separator + f.Name + `":`) {
			separator = `,"`
			r.value(f, f.In(record), depth)
		} else if !f.Optional {
			r.bad = true
		}
	}
	r.must(`}`)
}

func (r *canonicalReader) value(f *Field, v reflect.Value, depth int) {
	const ends = ",]}"
	switch f.Shape {
	case Number:
		x, err := strconv.ParseFloat(r.until(ends), 64)
		r.bad = r.bad || err != nil
		v.SetFloat(x)
	case Whole:
		n, err := strconv.ParseInt(r.until(ends), 10, 64)
		r.bad = r.bad || err != nil || v.Kind() == reflect.Int && (n < 0 || n > math.MaxInt32)
		if !r.bad {
			v.SetInt(n)
		}
	case Word:
		r.must(`"`)
		v.SetString(r.until(`"`))
		r.must(`"`)
	case Flag:
		v.SetBool(r.until(ends) == "true")
	case Record:
		r.fields(f.Fields, v, depth)
	case Inner:
		if e := r.event(depth + 1); e != nil {
			v.Set(reflect.ValueOf(e))
		}
	case Inners, Records, Wholes:
		r.must(`[`)
		for !r.bad && !r.skip(`]`) {
			if v.Len() > 0 {
				r.must(`,`)
			}
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			if last := v.Index(v.Len() - 1); f.Shape == Records {
				r.fields(f.Fields, last, depth)
			} else if f.Shape == Wholes {
				n, err := strconv.ParseInt(r.until(ends), 10, 64)
				r.bad = r.bad || err != nil
				last.SetInt(n)
			} else if e := r.event(depth + 1); e != nil {
				last.Set(reflect.ValueOf(e))
			}
		}
	}
}
