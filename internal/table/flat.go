package table

import (
	flatbuffers "github.com/google/flatbuffers/go"
)

// Arrow describes its messages in flatbuffers. The accessors below read them through the flatbuffers runtime, whose
// reads are bounds-checked slices: damaged offsets panic, and callers run under guarded. What bounds checks do not
// stop is sharing: many fields may point at the same bytes, so that a few kilobytes unfold to any number of fields.
// Readers therefore count what they visit. (The Arrow library's own reader does not, allocates by what a message
// declares, and always reads all columns; that is why messages are read here.)

// flat is a table in a flatbuffer.
type flat struct{ t flatbuffers.Table }

func flatRoot(b []byte) flat {
	return flat{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

func (f flat) at(slot int) flatbuffers.UOffsetT {
	o := f.t.Offset(flatbuffers.VOffsetT(4 + 2*slot))
	if o == 0 {
		return 0
	}
	return f.t.Pos + flatbuffers.UOffsetT(o)
}

func (f flat) int64(slot int) int64 {
	if o := f.at(slot); o != 0 {
		return f.t.GetInt64(o)
	}
	return 0
}

func (f flat) int32(slot int, missing int32) int32 {
	if o := f.at(slot); o != 0 {
		return f.t.GetInt32(o)
	}
	return missing
}

func (f flat) int16(slot int, missing int16) int16 {
	if o := f.at(slot); o != 0 {
		return f.t.GetInt16(o)
	}
	return missing
}

func (f flat) byte(slot int) byte {
	if o := f.at(slot); o != 0 {
		return f.t.GetByte(o)
	}
	return 0
}

func (f flat) table(slot int) (flat, bool) {
	o := f.at(slot)
	if o == 0 {
		return flat{}, false
	}
	return flat{flatbuffers.Table{Bytes: f.t.Bytes, Pos: f.t.Indirect(o)}}, true
}

func (f flat) text(slot int) string {
	o := f.at(slot)
	if o == 0 {
		return ""
	}
	return string(f.t.ByteVector(o))
}

// vector returns the position and length of a vector whose elements take size bytes. It must lie in the buffer.
func (f flat) vector(slot, size int) (start flatbuffers.UOffsetT, n int) {
	o := f.t.Offset(flatbuffers.VOffsetT(4 + 2*slot))
	if o == 0 {
		return 0, 0
	}
	n = f.t.VectorLen(flatbuffers.UOffsetT(o))
	start = f.t.Vector(flatbuffers.UOffsetT(o))
	if n < 0 || int64(start)+int64(n)*int64(size) > int64(len(f.t.Bytes)) {
		panic("vector outside its buffer")
	}
	return start, n
}

func (f flat) tables(slot int) []flat {
	start, n := f.vector(slot, 4)
	out := make([]flat, n)
	for i := range out {
		out[i] = flat{flatbuffers.Table{Bytes: f.t.Bytes, Pos: f.t.Indirect(start + flatbuffers.UOffsetT(4*i))}}
	}
	return out
}
