package table

// Numbers of Arrow's types in its schema messages.
const (
	arrowNull        = 1
	arrowInt         = 2
	arrowFloat       = 3
	arrowBinary      = 4
	arrowUtf8        = 5
	arrowBool        = 6
	arrowDecimal     = 7
	arrowDate        = 8
	arrowTime        = 9
	arrowTimestamp   = 10
	arrowInterval    = 11
	arrowList        = 12
	arrowStruct      = 13
	arrowUnion       = 14
	arrowFixedBinary = 15
	arrowFixedList   = 16
	arrowMap         = 17
	arrowDuration    = 18
	arrowLargeBinary = 19
	arrowLargeUtf8   = 20
	arrowLargeList   = 21
	arrowRunEnd      = 22
	arrowBinaryView  = 23
	arrowUtf8View    = 24
	arrowListView    = 25
	arrowLargeView   = 26
)

const (
	maxArrowFields = 100_000
	maxArrowDepth  = 64
	maxArrowNames  = 16 << 20
)

// arrowField is a top-level column of an Arrow file.
type arrowField struct {
	column    Column
	store     storage
	nodes     int // field nodes and buffers that it and its children take in a record batch
	buffers   int
	views     int   // how many of them have a number of buffers that each batch states
	firstNode int   // position of its first node
	dict      int64 // dictionary id
	hasDict   bool
	values    storage // of the dictionary
}

// storage is how the values of a column lie in a buffer.
type storage struct {
	typ    byte
	width  int // bytes of a value; 0 for booleans and text
	signed bool
	large  bool // 64-bit offsets
	view   bool
	scale  int
	shape  shape
	days   bool // a date in milliseconds that is delivered in days
}

// arrowSchema reads a Schema table.
type arrowSchema struct {
	fields []arrowField
	seen   int
	names  int
	v4     bool // metadata version 4 and before: unions have a validity buffer
}

func readArrowSchema(f flat, version int16) (*arrowSchema, error) {
	if f.int16(0, 0) != 0 {
		return nil, fail(CodeUnsupported, "", "big-endian arrow data")
	}
	s := &arrowSchema{v4: version < 4}
	node := 0
	for _, fb := range f.tables(1) {
		field, err := s.field(fb, 0)
		if err != nil {
			return nil, err
		}
		field.firstNode = node
		node += field.nodes
		s.fields = append(s.fields, field)
	}
	return s, nil
}

// field reads one field, and of its children only how much room they take.
func (s *arrowSchema) field(fb flat, depth int) (arrowField, error) {
	s.seen++
	name := fb.text(0)
	s.names += len(name)
	if s.seen > maxArrowFields || depth > maxArrowDepth || s.names > maxArrowNames {
		return arrowField{}, fail(CodeLimit, "", "the schema has too many fields, nests too deep, or its names are too long")
	}
	f := arrowField{nodes: 1, column: Column{Name: name, Nullable: fb.byte(1) != 0}}
	typ := fb.byte(2)
	t, ok := fb.table(3)
	if !ok && typ != 0 {
		return f, fail(CodeCorrupt, "", "a field without a type")
	}
	reason := describeArrow(&f.column, &f.store, typ, t)
	if d, ok := fb.table(4); ok {
		// The batch holds indices; the type describes the dictionary, whose children are not in the batch.
		f.hasDict, f.dict, f.values = true, d.int64(0), f.store
		f.buffers = 2
		f.store = storage{typ: arrowInt, width: 4, signed: true}
		if it, ok := d.table(1); ok {
			f.store.width, f.store.signed = int(it.int32(0, 0))/8, it.byte(1) != 0
		}
		if w := f.store.width; w != 1 && w != 2 && w != 4 && w != 8 {
			reason = "dictionary indices of a width that does not exist"
		}
	} else {
		children := fb.tables(5)
		var err error
		if f.buffers, f.views, err = arrowBuffers(typ, t, s.v4); err != nil {
			return f, err
		}
		for _, c := range children {
			child, err := s.field(c, depth+1)
			if err != nil {
				return f, err
			}
			f.nodes += child.nodes
			f.buffers += child.buffers
			f.views += child.views
		}
	}
	if reason != "" {
		f.column = unusable(name, reason)
	} else {
		f.column.Usable = true
	}
	return f, nil
}

// arrowBuffers says how many buffers a type has itself, and whether a batch states how many more.
func arrowBuffers(typ byte, t flat, v4 bool) (buffers, views int, err error) {
	switch typ {
	case arrowNull, arrowRunEnd:
		return 0, 0, nil
	case arrowInt, arrowFloat, arrowBool, arrowDecimal, arrowDate, arrowTime, arrowTimestamp, arrowInterval,
		arrowFixedBinary, arrowDuration, arrowList, arrowLargeList, arrowMap:
		return 2, 0, nil
	case arrowBinary, arrowUtf8, arrowLargeBinary, arrowLargeUtf8, arrowListView, arrowLargeView:
		return 3, 0, nil
	case arrowBinaryView, arrowUtf8View:
		return 2, 1, nil
	case arrowStruct, arrowFixedList:
		return 1, 0, nil
	case arrowUnion:
		n := 1
		if t.int16(0, 0) == 1 {
			n = 2 // dense
		}
		if v4 {
			n++
		}
		return n, 0, nil
	}
	return 0, 0, fail(CodeUnsupported, "", "a column type that did not exist when this was written")
}

// describeArrow fills in what a type is to the rest of the program; it returns why when it is nothing.
func describeArrow(c *Column, s *storage, typ byte, t flat) string {
	s.typ = typ
	switch typ {
	case arrowInt:
		s.width, s.signed = int(t.int32(0, 0))/8, t.byte(1) != 0
		if s.width != 1 && s.width != 2 && s.width != 4 && s.width != 8 {
			return "an integer of a width that does not exist"
		}
		c.Kind, c.Approximate = Int, s.width == 8 && !s.signed
	case arrowFloat:
		p := t.int16(0, 0)
		if p < 0 || p > 2 {
			return "a float of a precision that does not exist"
		}
		c.Kind, s.width = Float, 2<<p
	case arrowBool:
		c.Kind = Bool
	case arrowDecimal:
		precision, scale, bits := t.int32(0, 0), t.int32(1, 0), t.int32(2, 128)
		if scale < 0 || scale > precision || precision < 1 || precision > maxDecimalScale || bits != 32 && bits != 64 && bits != 128 && bits != 256 {
			return "a decimal with a negative scale or an impossible width"
		}
		c.Kind, c.Scale, c.Approximate = Decimal, int(scale), precision > 18
		s.width, s.scale = int(bits)/8, int(scale)
	case arrowDate:
		c.Kind, s.width = Date, 4
		if t.int16(0, 1) != 0 {
			s.width, s.days = 8, true
		}
	case arrowTime:
		c.Kind, s.width = Time, int(t.int32(1, 32))/8
		c.Unit = arrowUnit(t.int16(0, 1))
		if c.Unit == NoUnit || s.width != 4 && s.width != 8 {
			return "a time of a unit or width that does not exist"
		}
	case arrowTimestamp:
		c.Kind, s.width = Timestamp, 8
		if c.Unit = arrowUnit(t.int16(0, 0)); c.Unit == NoUnit {
			return "a timestamp of a unit that does not exist"
		}
	case arrowUtf8, arrowBinary:
		c.Kind = String
	case arrowLargeUtf8, arrowLargeBinary:
		c.Kind, s.large = String, true
	case arrowUtf8View, arrowBinaryView:
		c.Kind, s.view = String, true
	case arrowList, arrowStruct, arrowUnion, arrowFixedList, arrowMap, arrowLargeList, arrowListView, arrowLargeView, arrowRunEnd:
		return "nested"
	default:
		return "a type that is not numbers, text or time"
	}
	if typ == arrowDate || typ == arrowTime || typ == arrowTimestamp {
		s.signed = true
	}
	s.shape = shapeOf(c)
	return ""
}

func arrowUnit(u int16) Unit {
	if u < 0 || u > 3 {
		return NoUnit
	}
	return Second + Unit(u)
}
