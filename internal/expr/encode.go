package expr

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/dprelease/dprelease/privacy"
)

// Encode writes an event as canonical JSON: fields in the order of their declaration,
// what was left to a default left out, the shortest numbers that read back the same.
// Equal events give equal bytes, and Parse reads the event back. What Parse would
// refuse is an error.
func Encode(e privacy.Event) ([]byte, error) {
	text, err := appendEvent(nil, e, 0)
	if err != nil {
		return nil, err
	}
	// The rules of what an event may hold are written once, and Parse knows them all.
	if _, problems := Parse(text, ""); problems != nil {
		return nil, fmt.Errorf("%s: %s", problems[0].Path, problems[0].Message)
	}
	return text, nil
}

func appendEvent(out []byte, e privacy.Event, depth int) ([]byte, error) {
	k, ok := privacy.KindOf(e)
	switch {
	case e == nil:
		return nil, errors.New("the event is missing")
	case !ok:
		return nil, fmt.Errorf("events of type %T cannot be written", e)
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

func appendFields(out []byte, fields []privacy.Field, record reflect.Value, depth int) (_ []byte, err error) {
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

func appendValue(out []byte, f *privacy.Field, v reflect.Value, depth int) (_ []byte, err error) {
	switch f.Shape {
	case privacy.Record:
		return appendFields(out, f.Fields, v, depth)
	case privacy.Inner:
		e, _ := v.Interface().(privacy.Event)
		return appendEvent(out, e, depth+1)
	case privacy.Inners, privacy.Records:
		out = append(out, '[')
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ',')
			}
			if f.Shape == privacy.Records {
				out, err = appendFields(out, f.Fields, v.Index(i), depth)
			} else {
				e, _ := v.Index(i).Interface().(privacy.Event)
				out, err = appendEvent(out, e, depth+1)
			}
			if err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	}
	b, err := json.Marshal(v.Interface()) // a number or a word; an error where it is not finite
	return append(out, b...), err
}
