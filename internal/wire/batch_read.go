package wire

import (
	"encoding/binary"
	"unsafe"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Record batches are read here, through the flatbuffers runtime, because the library's reader copies every buffer: a
// batch in the memory lane is to be looked at where it lies. The schema is known when the first batch comes, so there
// is little to read: a length, and for each column one node and two buffers.

const headerBatch = 3 // in the union of a Message

// batchMeta is the description of one record batch.
type batchMeta struct {
	rows           int
	raw            []byte
	nodes, buffers int // where the vectors begin
}

// flatTable is a table of a flatbuffer. Its reads are bounds-checked: damaged offsets panic, and callers recover.
type flatTable struct{ flatbuffers.Table }

func flatRoot(b []byte) flatTable {
	return flatTable{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

func (t flatTable) field(slot int) flatbuffers.UOffsetT {
	return flatbuffers.UOffsetT(t.Offset(flatbuffers.VOffsetT(4 + 2*slot)))
}

func (t flatTable) int64(slot int) int64 {
	if o := t.field(slot); o != 0 {
		return t.GetInt64(t.Pos + o)
	}
	return 0
}

// pairs returns where a vector of n pairs of int64 begins.
func (t flatTable) pairs(slot, n int) int {
	o := t.field(slot)
	if o == 0 || t.VectorLen(o) != n {
		panic(errFrame)
	}
	at := int(t.Vector(o))
	_ = t.Bytes[at : at+16*n]
	return at
}

// bodyLength is how many bytes follow a message's description.
func bodyLength(meta []byte) (n int64, err error) {
	defer framed(&err)
	return flatRoot(meta).int64(3), nil
}

// parseBatch reads the description of a record batch of so many columns.
func parseBatch(meta []byte, columns int) (b batchMeta, err error) {
	defer framed(&err)
	root := flatRoot(meta)
	kind, header := root.field(1), root.field(2)
	if kind == 0 || header == 0 || root.GetByte(root.Pos+kind) != headerBatch {
		return b, errFrame
	}
	t := flatTable{flatbuffers.Table{Bytes: meta, Pos: root.Indirect(root.Pos + header)}}
	rows := t.int64(0)
	if rows < 0 || rows > BatchRows || t.field(3) != 0 { // nobody compresses
		return b, errFrame
	}
	return batchMeta{rows: int(rows), raw: meta, nodes: t.pairs(1, columns), buffers: t.pairs(2, 2*columns)}, nil
}

// framed turns the panic of a damaged flatbuffer into an error.
func framed(err *error) {
	if recover() != nil {
		*err = errFrame
	}
}

// pair is one of a vector of pairs.
func (b *batchMeta) pair(at, i int) (x, y int64) {
	p := b.raw[at+16*i:]
	return int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:]))
}

// column returns a column's values, which take width bytes each, and its bitmap, nil where no value is missing.
func (b *batchMeta) column(i, width int, body []byte) (values, valid []byte, err error) {
	rows, nulls := b.pair(b.nodes, i)
	if rows != int64(b.rows) || nulls < 0 || nulls > rows {
		return nil, nil, errFrame
	}
	if nulls > 0 {
		if valid, err = b.buffer(2*i, (b.rows+7)/8, body); err != nil {
			return nil, nil, err
		}
	}
	if values, err = b.buffer(2*i+1, b.rows*width, body); err != nil {
		return nil, nil, err
	}
	if len(values) > 0 && uintptr(unsafe.Pointer(&values[0]))%8 != 0 {
		values = append(make([]byte, 0, len(values)), values...) // by a writer that aligns otherwise
	}
	return values, valid, nil
}

// buffer is the first n bytes of a buffer.
func (b *batchMeta) buffer(i, n int, body []byte) ([]byte, error) {
	off, size := b.pair(b.buffers, i)
	if off < 0 || size < int64(n) || off > int64(len(body)) || size > int64(len(body))-off {
		return nil, errFrame
	}
	return body[off : off+int64(n) : off+int64(n)], nil
}
