package pagewalk

import (
	"math"
	"math/bits"
)

// Wire types of the Thrift compact protocol.
const (
	wireTrue   = 1
	wireFalse  = 2
	wireByte   = 3
	wireI16    = 4
	wireI32    = 5
	wireI64    = 6
	wireDouble = 7
	wireBinary = 8
	wireList   = 9
	wireSet    = 10
	wireMap    = 11
	wireStruct = 12
	wireUUID   = 13
)

// maxNesting bounds the recursion of skip; Parquet's own structs nest below ten.
const maxNesting = 32

// compact reads Thrift's compact encoding from memory. What it reads decides no allocation. After the first violation
// every method returns zero values, so callers check err once for each struct.
type compact struct {
	b     []byte
	i     int
	err   error // errDamage, errEnd, or the error of a caller
	depth int
}

var (
	errDamage = corrupt("the bytes are not what the format asks for")
	errEnd    = corrupt("the bytes end too early") // more bytes might help
)

// refuse notes a violation, unless there was one before.
func (c *compact) refuse(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *compact) fail() { c.refuse(errDamage) }

// explain adds where the violation is, unless the error says so already.
func (c *compact) explain(format string, a ...any) {
	if c.err == errDamage || c.err == errEnd {
		c.err = corrupt(format, a...)
	}
}

func (c *compact) byte() byte {
	if c.err != nil || c.i >= len(c.b) {
		c.refuse(errEnd)
		return 0
	}
	v := c.b[c.i]
	c.i++
	return v
}

func (c *compact) uvarint() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b := c.byte()
		if c.err != nil {
			return 0
		}
		if shift == 63 && b > 1 {
			break
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	c.fail()
	return 0
}

func (c *compact) zigzag() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// i32 reads a field that must have wire type i32.
func (c *compact) i32(typ byte) int32 {
	if typ != wireI32 {
		c.fail()
		return 0
	}
	v := c.zigzag()
	if v < math.MinInt32 || v > math.MaxInt32 {
		c.fail()
		return 0
	}
	return int32(v)
}

// i64 reads a field that must have wire type i64.
func (c *compact) i64(typ byte) int64 {
	if typ != wireI64 {
		c.fail()
		return 0
	}
	return c.zigzag()
}

// i8 reads a field that must have wire type byte.
func (c *compact) i8(typ byte) int8 {
	if typ != wireByte {
		c.fail()
		return 0
	}
	return int8(c.byte())
}

// boolean reads a field whose value is its wire type.
func (c *compact) boolean(typ byte) bool {
	if typ != wireTrue && typ != wireFalse {
		c.fail()
	}
	return typ == wireTrue
}

// binary returns a view of a length-prefixed field.
func (c *compact) binary(typ byte) []byte {
	if typ != wireBinary {
		c.fail()
		return nil
	}
	return c.bytes(c.uvarint())
}

func (c *compact) bytes(n uint64) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(len(c.b)-c.i) {
		c.refuse(errEnd)
		return nil
	}
	v := c.b[c.i : c.i+int(n)]
	c.i += int(n)
	return v
}

// list reads the header of a list whose elements must have the given wire type. Each element takes at least one byte, so
// the size cannot be larger than the number of bytes that are left.
func (c *compact) list(typ, elem byte) int {
	if typ != wireList {
		c.fail()
		return 0
	}
	e, n := c.listHeader()
	if n > 0 && e != elem {
		c.fail()
		return 0
	}
	return n
}

func (c *compact) listHeader() (elem byte, n int) {
	h := c.byte()
	size := uint64(h >> 4)
	if size == 15 {
		size = c.uvarint()
	}
	if c.err != nil {
		return 0, 0
	}
	if size > uint64(len(c.b)-c.i) {
		c.refuse(errEnd)
		return 0, 0
	}
	return h & 0x0f, int(size)
}

// places lists the destinations of a struct's fields, by their numbers: an *int32, *int64, *string, *bool or *int8 (an
// enumeration), the places of a struct inside, or a function that reads the field. Other fields are skipped.
type places []any

// object reads the fields of a struct and returns which it found. Field numbers must rise, as every writer writes them: a
// repeated number would let a later value replace one that was already judged.
func (c *compact) object(to places) (seen fields) {
	c.depth++
	if c.depth > maxNesting {
		c.fail()
	}
	last := 0
	for c.err == nil {
		h := c.byte()
		if c.err != nil || h == 0 {
			break
		}
		id := last + int(h>>4)
		if h>>4 == 0 {
			id = int(c.zigzag())
		}
		if id <= last || id > math.MaxInt16 {
			c.fail()
			break
		}
		last = id
		seen |= 1 << min(id, 31)
		var place any
		if id < len(to) {
			place = to[id]
		}
		c.field(h&0x0f, place)
	}
	c.depth--
	return seen
}

func (c *compact) field(typ byte, to any) {
	switch to := to.(type) {
	case *int32:
		*to = c.i32(typ)
	case *int64:
		*to = c.i64(typ)
	case *int8:
		*to = 127 // in no enumeration
		if v := c.i32(typ); v >= 0 && v <= 127 {
			*to = int8(v)
		}
	case *bool:
		*to = c.boolean(typ)
	case *string:
		*to = string(c.binary(typ))
	case places:
		c.structure(typ, to)
	case func(typ byte):
		to(typ)
	default:
		c.skip(typ)
	}
}

// structure is object for a field that must be a struct.
func (c *compact) structure(typ byte, to places) fields {
	if typ != wireStruct {
		c.fail()
		return 0
	}
	return c.object(to)
}

// fields is the set of the fields that a struct has: bit i is field i, up to 30.
type fields uint32

func (f fields) all(ids ...int) bool {
	for _, id := range ids {
		if f&(1<<id) == 0 {
			return false
		}
	}
	return true
}

// last returns the highest field, or 0.
func (f fields) last() int { return max(0, bits.Len32(uint32(f))-1) }

// skip passes over a value of any type.
func (c *compact) skip(typ byte) { c.skipValue(typ, false) }

func (c *compact) skipValue(typ byte, element bool) {
	if c.err != nil {
		return
	}
	switch typ {
	case wireTrue, wireFalse:
		if element {
			c.byte()
		}
	case wireByte:
		c.byte()
	case wireI16, wireI32, wireI64:
		c.uvarint()
	case wireDouble:
		c.bytes(8)
	case wireUUID:
		c.bytes(16)
	case wireBinary:
		c.bytes(c.uvarint())
	case wireList, wireSet:
		e, n := c.listHeader()
		c.nested(func() {
			for ; n > 0 && c.err == nil; n-- {
				c.skipValue(e, true)
			}
		})
	case wireMap:
		n := c.uvarint()
		if n == 0 || c.err != nil {
			return
		}
		kv := c.byte()
		if n > uint64(len(c.b)-c.i) {
			c.refuse(errEnd)
			return
		}
		c.nested(func() {
			for ; n > 0 && c.err == nil; n-- {
				c.skipValue(kv>>4, true)
				c.skipValue(kv&0x0f, true)
			}
		})
	case wireStruct:
		c.object(nil)
	default:
		c.fail()
	}
}

func (c *compact) nested(f func()) {
	c.depth++
	if c.depth > maxNesting {
		c.fail()
	}
	f()
	c.depth--
}
