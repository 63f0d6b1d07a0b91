package pagewalk

// Meaning is the type of value for which an annotation uses a physical type.
type Meaning int8

// The meanings told apart here. Plain is a physical type as it stands.
const (
	Plain Meaning = iota
	Text          // UTF8, enum, JSON
	Decimal
	Date
	TimeOfDay
	Timestamp
	Integer
	Half // float16
	Other
)

// Unit is the unit of a time.
type Unit int8

// The units of the format.
const (
	_ Unit = iota
	Millis
	Micros
	Nanos
)

// Annotation is a logical type. Files state it in one of two ways, or in both.
type Annotation struct {
	Meaning          Meaning
	Scale, Precision int
	Unit             Unit
	Bits             int
	Signed           bool
}

// meanings are the fields of the format's union of logical types.
var meanings = map[int]Meaning{1: Text, 4: Text, 5: Decimal, 6: Date, 7: TimeOfDay, 8: Timestamp, 10: Integer, 12: Text, 15: Half}

func (c *compact) logical(typ byte) (a Annotation) {
	var scale, precision int32
	unit := func(typ byte) {
		seen := c.structure(typ, nil)
		if a.Unit = Unit(seen.last()); seen&^(1<<Millis|1<<Micros|1<<Nanos) != 0 {
			c.fail()
		}
	}
	seen := c.structure(typ, places{
		5: places{1: &scale, 2: &precision},
		7: places{2: unit}, 8: places{2: unit},
		10: places{1: func(typ byte) { a.Bits = int(c.i8(typ)) }, 2: &a.Signed},
	})
	a.Scale, a.Precision = int(scale), int(precision)
	var known bool
	if a.Meaning, known = meanings[seen.last()]; !known {
		a.Meaning = Other
	}
	return a
}

// annotation joins the two statements that a file can make about a column. If they disagree in a way that changes values,
// one of them is damaged, and nobody knows which: the column is in doubt.
func (e *element) annotation() (Annotation, string) {
	conv, hasConv := e.convertedNote()
	if e.strayDecimal(conv) {
		return Annotation{Meaning: Other}, "it has the scale of a decimal, and its type is another"
	}
	if !e.has.all(10) {
		return conv.check(e)
	}
	if hasConv && changesValues(conv, e.logical) {
		return Annotation{Meaning: Other}, "its two type annotations disagree"
	}
	return e.logical.check(e)
}

// strayDecimal reports a scale or precision beside a type that has none, or another one than the logical type's.
func (e *element) strayDecimal(conv Annotation) bool {
	if e.has.all(10) && e.logical.Meaning == Decimal {
		return e.has.all(7) && int(e.scale) != e.logical.Scale || e.has.all(8) && int(e.precision) != e.logical.Precision
	}
	return conv.Meaning != Decimal && (e.scale != 0 || e.precision != 0)
}

func changesValues(a, b Annotation) bool {
	text := func(m Meaning) bool { return m == Text || m == Other }
	if text(a.Meaning) && text(b.Meaning) {
		return false
	}
	return a != b
}

func (e *element) convertedNote() (Annotation, bool) {
	if !e.has.all(6) {
		return Annotation{}, false
	}
	a, known := converted[e.converted]
	if !known {
		a.Meaning = Other
	}
	if a.Meaning == Decimal {
		a.Scale, a.Precision = int(e.scale), int(e.precision)
	}
	return a, true
}

// converted are the meanings of the format's older, converted types.
var converted = map[int32]Annotation{
	0: {Meaning: Text}, 4: {Meaning: Text}, 19: {Meaning: Text}, 5: {Meaning: Decimal}, 6: {Meaning: Date},
	7: {Meaning: TimeOfDay, Unit: Millis}, 8: {Meaning: TimeOfDay, Unit: Micros},
	9: {Meaning: Timestamp, Unit: Millis}, 10: {Meaning: Timestamp, Unit: Micros},
	11: {Meaning: Integer, Bits: 8}, 12: {Meaning: Integer, Bits: 16}, 13: {Meaning: Integer, Bits: 32}, 14: {Meaning: Integer, Bits: 64},
	15: {Meaning: Integer, Bits: 8, Signed: true}, 16: {Meaning: Integer, Bits: 16, Signed: true},
	17: {Meaning: Integer, Bits: 32, Signed: true}, 18: {Meaning: Integer, Bits: 64, Signed: true},
}

// check compares the annotation with the physical type it stands on.
func (a Annotation) check(e *element) (Annotation, string) {
	typ := Type(e.typ)
	ok := true
	switch a.Meaning {
	case Text:
		ok = typ == ByteArray
	case Decimal:
		ok = a.Scale >= 0 && a.Precision > 0 && a.Scale <= a.Precision && a.Precision <= 1000 &&
			(typ == Int32 || typ == Int64 || typ == ByteArray || typ == FixedLen)
	case Date:
		ok = typ == Int32
	case TimeOfDay:
		ok = a.Unit == Millis && typ == Int32 || (a.Unit == Micros || a.Unit == Nanos) && typ == Int64
	case Timestamp:
		ok = a.Unit != 0 && typ == Int64
	case Integer:
		ok = (a.Bits == 8 || a.Bits == 16 || a.Bits == 32) && typ == Int32 || a.Bits == 64 && typ == Int64
	case Half:
		ok = typ == FixedLen && e.typeLen == 2
	}
	if !ok {
		return Annotation{Meaning: Other}, "its type annotation does not fit its physical type"
	}
	return a, ""
}
