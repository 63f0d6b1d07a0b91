package table

// Types of Arrow by their numbers in its schema messages, where these matter here.
const (
	arrowInt       = 2
	arrowFloat     = 3
	arrowBool      = 6
	arrowDecimal   = 7
	arrowDate      = 8
	arrowTime      = 9
	arrowTimestamp = 10
	arrowStruct    = 13
	arrowUnion     = 14
)

// arrowLayout is the form in which a record batch stores a type, and the Kind of the type in the rest of the program.
type arrowLayout struct {
	buffers int
	view    bool // each batch says how many more buffers there are
	large   bool // offsets have 64 bits
	kind    Kind // 0: not usable
	nested  bool
}

var arrowLayouts = map[byte]arrowLayout{
	1:              {}, // null
	arrowInt:       {buffers: 2, kind: Int},
	arrowFloat:     {buffers: 2, kind: Float},
	4:              {buffers: 3, kind: String}, // binary
	5:              {buffers: 3, kind: String}, // utf8
	arrowBool:      {buffers: 2, kind: Bool},
	arrowDecimal:   {buffers: 2, kind: Decimal},
	arrowDate:      {buffers: 2, kind: Date},
	arrowTime:      {buffers: 2, kind: Time},
	arrowTimestamp: {buffers: 2, kind: Timestamp},
	11:             {buffers: 2},               // interval
	12:             {buffers: 2, nested: true}, // list
	arrowStruct:    {buffers: 1, nested: true},
	arrowUnion:     {buffers: 1, nested: true},
	15:             {buffers: 2},                            // fixed-size binary
	16:             {buffers: 1, nested: true},              // fixed-size list
	17:             {buffers: 2, nested: true},              // map
	18:             {buffers: 2},                            // duration
	19:             {buffers: 3, large: true, kind: String}, // large binary
	20:             {buffers: 3, large: true, kind: String}, // large utf8
	21:             {buffers: 2, nested: true},              // large list
	22:             {nested: true},                          // run-end encoded
	23:             {buffers: 2, view: true, kind: String},  // binary view
	24:             {buffers: 2, view: true, kind: String},  // utf8 view
	25:             {buffers: 3, nested: true},              // list view
	26:             {buffers: 3, nested: true},              // large list view
}

const (
	maxArrowFields = 100_000
	maxArrowDepth  = 64
	maxArrowNames  = 16 << 20
)

// arrowField is a field of an Arrow file: a column, or one inside a column. Fields stand in the order in which a record
// batch describes them: each before those inside it.
type arrowField struct {
	column    Column
	store     storage
	buffers   int   // in a record batch
	view      bool  // each batch says how many more buffers it has
	inList    bool  // the number of its values is not that of the batch's rows
	path      []int // the structs around it, and itself
	dict      int64 // dictionary id
	hasDict   bool
	values    storage // of the dictionary
	manyDicts bool    // values inside the dictionary's values may have dictionaries of their own
}

// storage describes how a buffer stores values. Its fields and their order are part of fingerprints.
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

// fixed returns how many bytes part k of a column must have for so many rows, or 0 if its type does not say.
func (f *arrowField) fixed(k int, rows int64) int64 {
	s := &f.store
	switch {
	case k == 0 || k == 1 && s.typ == arrowBool && !f.hasDict:
		return (rows + 7) / 8
	case k > 1 || !f.column.Usable:
		return 0
	case s.shape == asCodes && s.view:
		return 16 * rows
	case s.shape == asCodes && s.large:
		return 8 * (rows + 1)
	case s.shape == asCodes:
		return 4 * (rows + 1)
	}
	return int64(s.width) * rows
}

// schemaReader reads a Schema table.
type schemaReader struct {
	fields []arrowField
	names  int
	v4     bool // metadata version 4 and before: unions have a validity buffer
}

func readArrowSchema(f flat, version int16) ([]arrowField, error) {
	if f.int16(0, 0) != 0 {
		return nil, fail(CodeUnsupported, "", "big-endian arrow data")
	}
	s := &schemaReader{v4: version < 4}
	for _, fb := range f.tables(1) {
		if err := s.field(fb, "", nil, false, 0); err != nil {
			return nil, err
		}
	}
	return s.fields, nil
}

// field reads one field and those inside it.
func (s *schemaReader) field(fb flat, prefix string, parents []int, inList bool, depth int) error {
	name := prefix + fb.text(0)
	s.names += len(name)
	if len(s.fields) >= maxArrowFields || depth > maxArrowDepth || s.names > maxArrowNames {
		return fail(CodeLimit, "", "the schema has too many fields, nests too deep, or its names are too long")
	}
	f := arrowField{column: Column{Name: name, Nullable: fb.byte(1) != 0}, inList: inList,
		path: append(parents[:len(parents):len(parents)], len(s.fields))}
	for _, p := range parents {
		f.column.Nullable = f.column.Nullable || s.fields[p].column.Nullable
	}
	typ := fb.byte(2)
	t, ok := fb.table(3)
	if !ok && typ != 0 {
		return fail(CodeCorrupt, "", "a field without a type")
	}
	reason := describeArrow(&f.column, &f.store, typ, t)
	if inList {
		reason = "nested"
	}
	var children []flat
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
		_, inner := fb.vector(5, 4)
		f.manyDicts = inner > 0
	} else {
		layout, known := arrowLayouts[typ]
		if !known {
			return fail(CodeUnsupported, "", "a column type that did not exist when this was written")
		}
		f.buffers, f.view = layout.buffers, layout.view
		if typ == arrowUnion && t.int16(0, 0) == 1 { // dense
			f.buffers++
		}
		if typ == arrowUnion && s.v4 {
			f.buffers++
		}
		children = fb.tables(5)
	}
	nullable := f.column.Nullable
	if f.column.Usable = reason == ""; reason != "" {
		f.column = unusable(name, reason)
		f.column.Nullable = nullable // which those inside a struct inherit
	}
	s.fields = append(s.fields, f)
	for _, c := range children {
		if err := s.field(c, name+".", f.path, inList || typ != arrowStruct, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// describeArrow describes a type to the rest of the program. It returns a reason if the type is not usable.
func describeArrow(c *Column, s *storage, typ byte, t flat) string {
	layout := arrowLayouts[typ]
	c.Kind, s.typ, s.large, s.view = layout.kind, typ, layout.large, layout.view
	switch typ {
	case arrowInt:
		s.width, s.signed = int(t.int32(0, 0))/8, t.byte(1) != 0
		if s.width != 1 && s.width != 2 && s.width != 4 && s.width != 8 {
			return "an integer of a width that does not exist"
		}
		c.Unsigned = s.width == 8 && !s.signed
	case arrowFloat:
		p := t.int16(0, 0)
		if p < 0 || p > 2 {
			return "a float of a precision that does not exist"
		}
		s.width = 2 << p
	case arrowDecimal:
		precision, scale, bits := t.int32(0, 0), t.int32(1, 0), t.int32(2, 128)
		if scale < 0 || scale > precision || precision < 1 || precision > maxDecimalScale || bits != 32 && bits != 64 && bits != 128 &&
			bits != 256 {
			return "a decimal with a negative scale or an impossible width"
		}
		c.Scale, c.Approximate = int(scale), precision > 18
		s.width, s.scale = int(bits)/8, int(scale)
	case arrowDate:
		s.width, s.signed = 4, true
		if t.int16(0, 1) != 0 {
			s.width, s.days = 8, true
		}
	case arrowTime:
		s.width, s.signed = int(t.int32(1, 32))/8, true
		c.Unit = arrowUnit(t.int16(0, 1))
		if c.Unit == NoUnit || s.width != 4 && s.width != 8 {
			return "a time of a unit or width that does not exist"
		}
	case arrowTimestamp:
		s.width, s.signed = 8, true
		if c.Unit = arrowUnit(t.int16(0, 0)); c.Unit == NoUnit {
			return "a timestamp of a unit that does not exist"
		}
	}
	switch {
	case layout.nested:
		return "nested"
	case layout.kind == 0:
		return "a type that is not numbers, text or time"
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

// inPlace reports whether stored values are the values of the column as they are.
func (s *storage) inPlace() bool { return s.width == 8 && s.typ != arrowDecimal && !s.days }
