package wire

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dprelease/dprelease/privacy"
)

var (
	errEventMissing = errors.New("event is missing")
	errEventForm    = errors.New("event does not have the form that this version of the protocol gives it")
	errEventLarge   = fmt.Errorf("event has more than %d nodes", MaxNodes)
	errEventDeep    = fmt.Errorf("event is nested more than %d deep", MaxDepth)
)

// FromEvent returns the message for an event tree in the form of a version of the
// protocol: its canonical bytes, or in version 1 a message for each kind.
func FromEvent(version int, e privacy.Event) (*Event, error) {
	nodes := MaxNodes
	if err := bounded(e, &nodes, 0); err != nil {
		return nil, err
	}
	if version > 1 {
		b, err := privacy.Canonical(e)
		if err != nil {
			return nil, err
		}
		return &Event{Kind: &Event_Canonical{Canonical: b}}, nil
	}
	out := &Event{}
	if err := fromEvent(e, out.ProtoReflect()); err != nil {
		return nil, err
	}
	return out, nil
}

// ToEvent returns the event tree of a message, which must have the form of that version
// of the protocol. The result is well formed (finite numbers, no missing inner event).
// It need not make sense.
func ToEvent(version int, m *Event) (e privacy.Event, err error) {
	if m == nil {
		return nil, errEventMissing
	}
	if err := Known(m); err != nil {
		return nil, err
	}
	canonical, ok := m.GetKind().(*Event_Canonical)
	switch {
	case ok != (version > 1):
		return nil, errEventForm
	case ok:
		e, err = privacy.FromCanonical(canonical.Canonical)
	default:
		e, err = toEvent(m.ProtoReflect())
	}
	if err != nil {
		return nil, err
	}
	nodes := MaxNodes
	return e, bounded(e, &nodes, 0)
}

// bounded returns an error for an event with more than *nodes nodes, or nested deeper
// than the protocol allows. It takes the nodes of e off.
func bounded(e privacy.Event, nodes *int, depth int) error {
	if *nodes--; *nodes < 0 {
		return errEventLarge
	}
	if depth >= MaxDepth {
		return errEventDeep
	}
	for _, inner := range privacy.Children(e) {
		if err := bounded(inner, nodes, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// The messages of version 1. The functions below walk the declarations of events
// ([privacy.Kind]) beside their messages. A kind has the field of its name in the message
// Event, and a field of it has the name of the Go field in lower case with underscores.

func fromEvent(e privacy.Event, to protoreflect.Message) error {
	if e == nil {
		return errEventMissing
	}
	k, ok := privacy.KindOf(e)
	if !ok {
		return fmt.Errorf("%T is no event: use the types of package privacy, by value", e)
	}
	at := to.Descriptor().Fields().ByName(protoreflect.Name(k.Name))
	if at == nil {
		return fmt.Errorf("event %q has no form in version 1 of the protocol: the plugin must speak version 2", k.Name)
	}
	return fill(k.Fields, reflect.ValueOf(e), to.Mutable(at).Message())
}

// fill copies the fields of a record into its message.
func fill(fields []privacy.Field, record reflect.Value, to protoreflect.Message) error {
	for i := range fields {
		f := &fields[i]
		at, v := fieldOf(to, f, record.Type()), f.In(record)
		if v.IsZero() && f.Shape != privacy.Inner {
			continue
		}
		var err error
		switch f.Shape {
		case privacy.Number:
			if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
				return errNotFinite
			}
			to.Set(at, protoreflect.ValueOfFloat64(v.Float()))
		case privacy.Whole:
			to.Set(at, protoreflect.ValueOfInt64(v.Int()))
		case privacy.Word:
			to.Set(at, protoreflect.ValueOfString(v.String()))
		case privacy.Record:
			err = fill(f.Fields, v, to.Mutable(at).Message())
		case privacy.Records:
			for j := 0; j < v.Len() && err == nil; j++ {
				err = fill(f.Fields, v.Index(j), to.Mutable(at).List().AppendMutable().Message())
			}
		case privacy.Inner:
			inner, _ := v.Interface().(privacy.Event)
			err = fromEvent(inner, to.Mutable(at).Message())
		case privacy.Inners:
			for j := 0; j < v.Len() && err == nil; j++ {
				inner, _ := v.Index(j).Interface().(privacy.Event)
				err = fromEvent(inner, to.Mutable(at).List().AppendMutable().Message())
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func toEvent(from protoreflect.Message) (privacy.Event, error) {
	at := from.WhichOneof(from.Descriptor().Oneofs().Get(0))
	if at == nil {
		return nil, errEventMissing
	}
	k, ok := privacy.KindNamed(string(at.Name()))
	if !ok {
		return nil, errEventMissing
	}
	out := k.New()
	if err := read(k.Fields, from.Get(at).Message(), out); err != nil {
		return nil, err
	}
	return out.Interface().(privacy.Event), nil
}

// read copies the fields of a message into a record.
func read(fields []privacy.Field, from protoreflect.Message, record reflect.Value) error {
	for i := range fields {
		f := &fields[i]
		at, v := fieldOf(from, f, record.Type()), f.In(record)
		if !from.Has(at) && f.Shape != privacy.Inner {
			continue
		}
		var err error
		switch f.Shape {
		case privacy.Number:
			x := from.Get(at).Float()
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return errNotFinite
			}
			v.SetFloat(x)
		case privacy.Whole:
			n := from.Get(at).Int()
			if v.Kind() == reflect.Int && (n < 0 || n > math.MaxInt32) {
				return fmt.Errorf("event holds an impossible number of %s", f.Name)
			}
			v.SetInt(n)
		case privacy.Word:
			v.SetString(from.Get(at).String())
		case privacy.Record:
			err = read(f.Fields, from.Get(at).Message(), v)
		case privacy.Records:
			list := from.Get(at).List()
			v.Set(reflect.MakeSlice(v.Type(), list.Len(), list.Len()))
			for j := 0; j < list.Len() && err == nil; j++ {
				err = read(f.Fields, list.Get(j).Message(), v.Index(j))
			}
		case privacy.Inner:
			if !from.Has(at) {
				return errEventMissing
			}
			err = readInner(from.Get(at).Message(), v)
		case privacy.Inners:
			list := from.Get(at).List()
			for j := 0; j < list.Len() && err == nil; j++ {
				v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
				err = readInner(list.Get(j).Message(), v.Index(j))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readInner(from protoreflect.Message, into reflect.Value) error {
	e, err := toEvent(from)
	if err == nil {
		into.Set(reflect.ValueOf(e))
	}
	return err
}

// fieldOf returns the field of a message for a field of an event.
func fieldOf(m protoreflect.Message, f *privacy.Field, record reflect.Type) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(protoreflect.Name(snake(f.GoName(record))))
}

// snake returns "max_take" for MaxTake.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
