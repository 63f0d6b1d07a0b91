package compact

import "encoding/binary"

// The types of the encoding.
const (
	wireTrue   = 1
	wireFalse  = 2
	wireByte   = 3
	wireInt32  = 5
	wireInt64  = 6
	wireBytes  = 8
	wireList   = 9
	wireStruct = 12
)

// Struct is a structure that is being written.
type Struct struct {
	b    []byte
	last int // number of the last field
}

func (s *Struct) head(field int, typ byte) *Struct {
	s.b = append(s.b, byte(field-s.last)<<4|typ)
	s.last = field
	return s
}

// Byte adds a whole number of 8 bits.
func (s *Struct) Byte(field int, v int8) *Struct {
	s.head(field, wireByte)
	s.b = append(s.b, byte(v))
	return s
}

// Int32 adds a whole number.
func (s *Struct) Int32(field int, v int) *Struct { return s.head(field, wireInt32).number(v) }

// Int64 adds a whole number.
func (s *Struct) Int64(field, v int) *Struct { return s.head(field, wireInt64).number(v) }

func (s *Struct) number(v int) *Struct {
	s.b = appendInt(s.b, v)
	return s
}

func appendInt(b []byte, v int) []byte { return binary.AppendUvarint(b, uint64(v<<1)^uint64(v>>63)) }

// Bool adds a yes or no.
func (s *Struct) Bool(field int, v bool) *Struct {
	if v {
		return s.head(field, wireTrue)
	}
	return s.head(field, wireFalse)
}

// Text adds a text.
func (s *Struct) Text(field int, v string) *Struct {
	s.head(field, wireBytes)
	s.b = appendText(s.b, v)
	return s
}

func appendText(b []byte, v string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

// Struct adds a structure.
func (s *Struct) Struct(field int, v *Struct) *Struct {
	s.head(field, wireStruct)
	s.b = append(append(s.b, v.b...), 0)
	return s
}

func (s *Struct) list(field int, elem byte, n int) {
	if s.head(field, wireList); n < 15 {
		s.b = append(s.b, byte(n)<<4|elem)
		return
	}
	s.b = binary.AppendUvarint(append(s.b, 0xf0|elem), uint64(n))
}

// Structs adds a list of structures.
func (s *Struct) Structs(field int, all []*Struct) *Struct {
	s.list(field, wireStruct, len(all))
	for _, v := range all {
		s.b = append(append(s.b, v.b...), 0)
	}
	return s
}

// Int32s adds a list of whole numbers.
func (s *Struct) Int32s(field int, all ...int) *Struct {
	s.list(field, wireInt32, len(all))
	for _, v := range all {
		s.b = appendInt(s.b, v)
	}
	return s
}

// Texts adds a list of texts.
func (s *Struct) Texts(field int, all ...string) *Struct {
	s.list(field, wireBytes, len(all))
	for _, v := range all {
		s.b = appendText(s.b, v)
	}
	return s
}

// AppendTo appends the structure to b.
func (s *Struct) AppendTo(b []byte) []byte { return append(append(b, s.b...), 0) }
