package table

import flatbuffers "github.com/google/flatbuffers/go"

// Arrow describes its messages in flatbuffers. The runtime's reads are bounds-checked slices: damaged offsets panic, and
// callers run under guarded. What bounds checks do not stop is sharing: many fields may point at the same bytes, so that
// a few kilobytes unfold to any number of fields. Readers therefore count what they visit.

// flat is a table in a flatbuffer. Fields are counted from 0.
type flat struct{ flatbuffers.Table }

func flatRoot(b []byte) flat {
	return flat{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

func slot(field int) flatbuffers.VOffsetT { return flatbuffers.VOffsetT(4 + 2*field) }

func (f flat) int64(field int) int64                { return f.GetInt64Slot(slot(field), 0) }
func (f flat) int32(field int, missing int32) int32 { return f.GetInt32Slot(slot(field), missing) }
func (f flat) int16(field int, missing int16) int16 { return f.GetInt16Slot(slot(field), missing) }
func (f flat) byte(field int) byte                  { return f.GetByteSlot(slot(field), 0) }

func (f flat) at(off flatbuffers.UOffsetT) flat {
	return flat{flatbuffers.Table{Bytes: f.Bytes, Pos: f.Indirect(off)}}
}

func (f flat) table(field int) (flat, bool) {
	o := f.Offset(slot(field))
	if o == 0 {
		return flat{}, false
	}
	return f.at(f.Pos + flatbuffers.UOffsetT(o)), true
}

func (f flat) text(field int) string {
	o := f.Offset(slot(field))
	if o == 0 {
		return ""
	}
	return string(f.ByteVector(f.Pos + flatbuffers.UOffsetT(o)))
}

// vector returns the position and length of a vector whose elements take size bytes. It must lie in the buffer.
func (f flat) vector(field, size int) (start flatbuffers.UOffsetT, n int) {
	o := flatbuffers.UOffsetT(f.Offset(slot(field)))
	if o == 0 {
		return 0, 0
	}
	start, n = f.Vector(o), f.VectorLen(o)
	if int64(start)+int64(n)*int64(size) > int64(len(f.Bytes)) {
		panic("vector outside its buffer")
	}
	return start, n
}

func (f flat) tables(field int) []flat {
	start, n := f.vector(field, 4)
	out := make([]flat, n)
	for i := range out {
		out[i] = f.at(start + flatbuffers.UOffsetT(4*i))
	}
	return out
}
