package privacy

import (
	"math"
	"reflect"
	"slices"
	"strings"
)

// Kind declares one kind of event, once: its fields, what they may hold, what others call
// them, and how a person reads them. All code that reads, writes, checks, sends or searches
// events walks this declaration. The methods of the event, beside it, account for it.
type Kind struct {
	Name   string   // in specifications, such as "gaussian"
	About  string   // what was done to the data
	Also   []string // what other libraries and papers call it
	Fields []Field  // in the order of the canonical form; one field without a name is the whole value

	typ reflect.Type
	// check finds what the fields do not say alone.
	check func(e Event, wrong complain)
	// loose says that an event is valid where check finds nothing, whatever the checks
	// of its fields say: those and written are for what a person writes.
	loose   bool
	written func(e Event, wrong complain)
	// head returns the text that people read before the inner event, instead of the fields.
	head func(e Event) string
	// ordered says that of two events which agree in every field that is not
	// calibrated, the one whose calibrated fields all cost more dominates the other
	// (joined.proof.md).
	ordered bool
}

// complain reports that a field, named by its path below the event, is wrong.
type complain = func(field, format string, args ...any)

// Shape is the type of value that a field holds.
type Shape int

// The shapes of a field.
const (
	Number  Shape = iota + 1 // float64
	Whole                    // int64 or int
	Word                     // string
	Flag                     // bool
	Record                   // a struct with fields of its own
	Records                  // a list of them
	Inner                    // an event
	Inners                   // a list of events
	Wholes                   // a list of int64
)

// Field is one field of a kind of event, or of a record inside one.
type Field struct {
	Name     string   // in specifications, such as "sigma"
	Also     []string // what other libraries and papers call it
	Shape    Shape
	Optional bool     // it may be absent, which the zero value stands for
	Sign     string   // stands before the value where a person reads it, such as "σ="
	Hidden   bool     // people are not shown it
	Example  string   // what to write
	Words    []string // the words that a Word may be
	Fields   []Field  // of a Record, or of each of the Records
	// Search directs the calibration of the field, nil where there is none.
	Search *Search
	// Needed says whether an event whose earlier fields are set needs the field; nil
	// where Optional says it all.
	Needed func(e Event) Need

	check func(x float64) string
	index int
}

// Need says whether an event has a field.
type Need int

// An event must have a field, may have it, or must not.
const (
	Required Need = iota + 1
	Allowed
	Unused
)

// Search directs a calibration to the value of a field.
type Search struct {
	// Most says that the largest value that meets the target is wanted, else the
	// smallest.
	Most bool
	// Range returns the values that make sense in e.
	Range func(e Event) (lo, hi float64)
}

// kinds are all kinds of events, in the order of the specification.
var kinds = []*Kind{
	gaussianKind, laplaceKind, discreteGaussianKind, discreteLaplaceKind,
	pureKind, approxKind, zcdpKind, boundedRangeKind, keySelectionKind, keyThresholdKind, responseKind,
	composeKind, repeatKind, poissonKind, withoutReplacementKind, withReplacementKind, multistageKind,
	byGroupKind, rowsOfUnitKind, rotationKind, shuffledKind, lastIterateKind,
}

var kindsByType = func() map[reflect.Type]*Kind {
	out := make(map[reflect.Type]*Kind, len(kinds))
	for _, k := range kinds {
		out[k.typ] = k
	}
	return out
}()

var kindsByName = func() map[string]*Kind {
	out := make(map[string]*Kind, len(kinds))
	for _, k := range kinds {
		out[k.Name] = k
	}
	return out
}()

// KindNamed returns the declaration of the kind of that name.
func KindNamed(name string) (k *Kind, ok bool) {
	k, ok = kindsByName[name]
	return k, ok
}

// Kinds returns the declarations of all kinds of events, in the order of the
// specification.
func Kinds() []*Kind { return slices.Clone(kinds) }

// KindOf returns the declaration of e; ok is false for a missing event and for a type
// that is not of this package.
func KindOf(e Event) (k *Kind, ok bool) {
	k, ok = kindsByType[reflect.TypeOf(e)]
	return k, ok
}

// Name returns the event's name in specifications, such as "gaussian".
func Name(e Event) string { return e.kind() }

// declare binds a declaration to the Go type of its events. The written name of a
// field is the name of the Go field in lower case, or its tag.
func declare[E Event](k Kind) *Kind {
	var e E
	k.Name, k.typ = e.kind(), reflect.TypeOf(e)
	bind(k.Fields, k.typ)
	return &k
}

// on is a check of any event, from one of a type of events.
func on[E Event](check func(e E, wrong complain)) func(Event, complain) {
	return func(e Event, wrong complain) { check(e.(E), wrong) }
}

// bind finds the Go field and the shape of each declared field.
func bind(fields []Field, t reflect.Type) {
	for i := range fields {
		f := &fields[i]
		f.index = slices.IndexFunc(reflect.VisibleFields(t), func(g reflect.StructField) bool { return writtenName(g) == f.Name })
		g := t.Field(f.index).Type
		switch g.Kind() {
		case reflect.Float64:
			f.Shape = Number
		case reflect.Int64, reflect.Int:
			f.Shape = Whole
		case reflect.String:
			f.Shape = Word
		case reflect.Bool:
			f.Shape = Flag
		case reflect.Interface:
			f.Shape = Inner
		case reflect.Struct:
			f.Shape = Record
			bind(f.Fields, g)
		case reflect.Slice:
			f.Shape = Inners
			switch g.Elem().Kind() {
			case reflect.Struct:
				f.Shape = Records
				bind(f.Fields, g.Elem())
			case reflect.Int64:
				f.Shape = Wholes
			}
		}
	}
}

func writtenName(g reflect.StructField) string {
	if tag, ok := g.Tag.Lookup("event"); ok {
		return tag
	}
	return strings.ToLower(g.Name)
}

// New returns an event of this kind with every field zero, to be filled in through
// [Field.In].
func (k *Kind) New() reflect.Value { return reflect.New(k.typ).Elem() }

// In returns the field of an event or a record, which can be set if record can.
func (f *Field) In(record reflect.Value) reflect.Value { return record.Field(f.index) }

// GoName is the name of the field in the Go type.
func (f *Field) GoName(record reflect.Type) string { return record.Field(f.index).Name }

// Wrong explains why a number does not fit this field, "" where it fits.
func (f *Field) Wrong(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "must be a finite number"
	}
	if f.check == nil {
		return ""
	}
	return f.check(x)
}

// Need returns whether an event whose earlier fields are set has this field.
func (f *Field) Need(e Event) Need {
	switch {
	case f.Needed != nil:
		return f.Needed(e)
	case f.Optional:
		return Allowed
	}
	return Required
}

// Check calls wrong for everything that is wrong with how the fields of an event that
// a person wrote fit together.
func (k *Kind) Check(e Event, wrong func(field, format string, args ...any)) {
	if k.written != nil {
		k.written(e, wrong)
	} else if k.check != nil {
		k.check(e, wrong)
	}
}

// Head returns the text that people read before the inner event, "" where the fields
// say it.
func (k *Kind) Head(e Event) string {
	if k.head == nil {
		return ""
	}
	return k.head(e)
}

// Children returns the events that stand directly inside e.
func Children(e Event) []Event {
	k, ok := KindOf(e)
	if !ok {
		return nil
	}
	v := reflect.ValueOf(e)
	for i := range k.Fields {
		switch f := &k.Fields[i]; f.Shape {
		case Inner:
			inner, _ := f.In(v).Interface().(Event)
			return []Event{inner}
		case Inners:
			return f.In(v).Interface().([]Event)
		}
	}
	return nil
}

// WithChildren returns e with other events directly inside it, as many as
// [Children] returns.
func WithChildren(e Event, inner []Event) Event {
	k, ok := KindOf(e)
	if !ok || len(inner) == 0 {
		return e
	}
	out := k.New()
	out.Set(reflect.ValueOf(e))
	for i := range k.Fields {
		switch f := &k.Fields[i]; f.Shape {
		case Inner:
			f.In(out).Set(reflect.ValueOf(&inner[0]).Elem())
		case Inners:
			f.In(out).Set(reflect.ValueOf(slices.Clone(inner)))
		}
	}
	return out.Interface().(Event)
}

// The constructors of fields.

func number(name, sign string, check func(x float64) string) Field {
	return Field{Name: name, Sign: sign, check: check}
}

func (f Field) optional() Field            { f.Optional = true; return f }
func (f Field) hidden() Field              { f.Hidden = true; return f }
func (f Field) also(names ...string) Field { f.Also = names; return f }

// least and most say that a calibration looks for the smallest or the largest value.
func (f Field) least(lo, hi float64) Field { return f.search(false, constant(lo, hi)) }
func (f Field) most(lo, hi float64) Field  { return f.search(true, constant(lo, hi)) }

func (f Field) search(most bool, span func(Event) (lo, hi float64)) Field {
	f.Search = &Search{Most: most, Range: span}
	return f
}

func constant(lo, hi float64) func(Event) (float64, float64) {
	return func(Event) (float64, float64) { return lo, hi }
}

// inside declares the field of the inner event.
func inside() Field {
	return Field{Name: "event", Also: []string{"mechanism", "expression"}, Example: "such as event: {gaussian: {sigma: 1}}"}
}

// The checks of numbers say what is wrong, "" where nothing is.

func positive(x float64) string {
	if !(x > 0) {
		return "must be above 0"
	}
	return ""
}

func nonNegative(x float64) string {
	if !(x >= 0) {
		return "must not be negative"
	}
	return ""
}

func belowOne(x float64) string {
	if !(x >= 0 && x < 1) {
		return "must be at least 0 and below 1"
	}
	return ""
}

func atLeastOne(x float64) string {
	if !(x >= 1) {
		return "must be at least 1"
	}
	return ""
}
