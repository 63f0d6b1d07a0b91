package pagewalk

// Meaning is what an annotation makes of a physical type.
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

// Annotation is a logical type in one form, whichever of the two ways the file states it in.
type Annotation struct {
	Meaning          Meaning
	Scale, Precision int
	Unit             Unit
	Bits             int
	Signed           bool
}

// meanings are the fields of the format's union of logical types.
var meanings = map[int]Meaning{0: Plain, 1: Text, 4: Text, 5: Decimal, 6: Date, 7: TimeOfDay, 8: Timestamp, 10: Integer, 12: Text, 15: Half}

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

// annotation joins the two statements a file can make about a column. Where both are there and disagree in a way that
// changes values, one of them is damaged, and nothing says which: the column is in doubt.
func (e *element) annotation() (Annotation, string) {
	conv, hasConv := e.convertedNote()
	if !e.has.all(10) {
		return conv.check(e)
	}
	if hasConv && changesValues(conv, e.logical) {
		return Annotation{Meaning: Other}, "its two type annotations disagree"
	}
	return e.logical.check(e)
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
	switch v := e.converted; v {
	case 0, 4, 19:
		return Annotation{Meaning: Text}, true
	case 5:
		return Annotation{Meaning: Decimal, Scale: int(e.scale), Precision: int(e.precision)}, true
	case 6:
		return Annotation{Meaning: Date}, true
	case 7, 8:
		return Annotation{Meaning: TimeOfDay, Unit: Unit(v - 6)}, true
	case 9, 10:
		return Annotation{Meaning: Timestamp, Unit: Unit(v - 8)}, true
	case 11, 12, 13, 14:
		return Annotation{Meaning: Integer, Bits: 8 << (v - 11)}, true
	case 15, 16, 17, 18:
		return Annotation{Meaning: Integer, Bits: 8 << (v - 15), Signed: true}, true
	}
	return Annotation{Meaning: Other}, true
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
