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
	errEventLarge   = fmt.Errorf("event has more than %d nodes", MaxNodes)
	errEventDeep    = fmt.Errorf("event is nested more than %d deep", MaxDepth)
)

// FromEvent returns the message for an event tree.
func FromEvent(e privacy.Event) (*Event, error) {
	c := codec{nodes: MaxNodes}
	out := &Event{}
	if err := c.from(e, out.ProtoReflect(), 0); err != nil {
		return nil, err
	}
	return out, nil
}

// ToEvent returns the event tree of a message. The result is well formed (finite
// numbers, no missing inner event), which does not mean that it makes sense.
func ToEvent(e *Event) (privacy.Event, error) {
	if e == nil {
		return nil, errEventMissing
	}
	if err := Known(e); err != nil {
		return nil, err
	}
	c := codec{nodes: MaxNodes}
	return c.to(e.ProtoReflect(), 0)
}

// codec walks the declarations of events ([privacy.Kind]) beside their messages. A
// kind has the field of its name in the message Event, and a field of it has the name
// of the Go field in lower case with underscores. nodes is how many events are left.
type codec struct{ nodes int }

// enter counts an event.
func (c *codec) enter(depth int) error {
	if c.nodes--; c.nodes < 0 {
		return errEventLarge
	}
	if depth >= MaxDepth {
		return errEventDeep
	}
	return nil
}

func (c *codec) from(e privacy.Event, to protoreflect.Message, depth int) error {
	if err := c.enter(depth); err != nil {
		return err
	}
	if e == nil {
		return errEventMissing
	}
	k, ok := privacy.KindOf(e)
	if !ok {
		return fmt.Errorf("%T is no event: use the types of package privacy, by value", e)
	}
	at := to.Descriptor().Fields().ByName(protoreflect.Name(k.Name))
	if at == nil {
		return fmt.Errorf("event %q has no form in version 1 of the protocol", k.Name)
	}
	return c.fill(k.Fields, reflect.ValueOf(e), to.Mutable(at).Message(), depth+1)
}

// fill copies the fields of a record into its message.
func (c *codec) fill(fields []privacy.Field, record reflect.Value, to protoreflect.Message, depth int) error {
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
			err = c.fill(f.Fields, v, to.Mutable(at).Message(), depth)
		case privacy.Records:
			for j := 0; j < v.Len() && err == nil; j++ {
				err = c.fill(f.Fields, v.Index(j), to.Mutable(at).List().AppendMutable().Message(), depth)
			}
		case privacy.Inner:
			inner, _ := v.Interface().(privacy.Event)
			err = c.from(inner, to.Mutable(at).Message(), depth)
		case privacy.Inners:
			for j := 0; j < v.Len() && err == nil; j++ {
				inner, _ := v.Index(j).Interface().(privacy.Event)
				err = c.from(inner, to.Mutable(at).List().AppendMutable().Message(), depth)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *codec) to(from protoreflect.Message, depth int) (privacy.Event, error) {
	if err := c.enter(depth); err != nil {
		return nil, err
	}
	at := from.WhichOneof(from.Descriptor().Oneofs().Get(0))
	if at == nil {
		return nil, errEventMissing
	}
	k, ok := kindsByName[string(at.Name())]
	if !ok {
		return nil, errEventMissing
	}
	out := k.New()
	if err := c.read(k.Fields, from.Get(at).Message(), out, depth+1); err != nil {
		return nil, err
	}
	return out.Interface().(privacy.Event), nil
}

var kindsByName = func() map[string]*privacy.Kind {
	out := map[string]*privacy.Kind{}
	for _, k := range privacy.Kinds() {
		out[k.Name] = k
	}
	return out
}()

// read copies the fields of a message into a record.
func (c *codec) read(fields []privacy.Field, from protoreflect.Message, record reflect.Value, depth int) error {
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
			err = c.read(f.Fields, from.Get(at).Message(), v, depth)
		case privacy.Records:
			list := from.Get(at).List()
			v.Set(reflect.MakeSlice(v.Type(), list.Len(), list.Len()))
			for j := 0; j < list.Len() && err == nil; j++ {
				err = c.read(f.Fields, list.Get(j).Message(), v.Index(j), depth)
			}
		case privacy.Inner:
			if !from.Has(at) {
				return errEventMissing
			}
			err = c.inner(from.Get(at).Message(), v, depth)
		case privacy.Inners:
			list := from.Get(at).List()
			for j := 0; j < list.Len() && err == nil; j++ {
				v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
				err = c.inner(list.Get(j).Message(), v.Index(j), depth)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *codec) inner(from protoreflect.Message, into reflect.Value, depth int) error {
	e, err := c.to(from, depth)
	if err == nil {
		into.Set(reflect.ValueOf(e))
	}
	return err
}

// fieldOf is the field of a message that holds a field of an event.
func fieldOf(m protoreflect.Message, f *privacy.Field, record reflect.Type) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(protoreflect.Name(snake(f.GoName(record))))
}

// snake is "max_take" for MaxTake.
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
