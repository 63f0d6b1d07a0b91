package table

import (
	"encoding/binary"
	"io"
)

// message is where one IPC message lies.
type message struct {
	meta []byte
	body int64 // offset of the body
	size int64 // of the body
	end  int64
}

const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3

	maxMessageMeta = 64 << 20
)

var errMessage = fail(CodeCorrupt, "", "an arrow message does not fit the file")

// readMessage reads the metadata of the message at off; limit is where the last message must end. ok is false at the
// end marker.
func readMessage(r io.ReaderAt, off, limit int64) (m message, ok bool, err error) {
	var head [8]byte
	if limit-off < 4 {
		return m, false, errMessage
	}
	if _, err := r.ReadAt(head[:min(8, limit-off)], off); err != nil {
		return m, false, fail(CodeUnreadable, "", "a message cannot be read")
	}
	size := int64(int32(binary.LittleEndian.Uint32(head[:])))
	off += 4
	if size == -1 {
		if limit-off < 4 {
			return m, false, errMessage
		}
		size = int64(int32(binary.LittleEndian.Uint32(head[4:])))
		off += 4
	}
	if size == 0 {
		m.end = off
		return m, false, nil
	}
	if size < 8 || size > limit-off {
		return m, false, errMessage
	}
	if size > maxMessageMeta {
		return m, false, fail(CodeLimit, "", "the description of an arrow message is too long")
	}
	m.meta = make([]byte, size)
	if _, err := r.ReadAt(m.meta, off); err != nil {
		return m, false, fail(CodeUnreadable, "", "a message cannot be read")
	}
	m.body = off + size
	m.size = flatRoot(m.meta).int64(3)
	if m.size < 0 || m.size > limit-m.body {
		return m, false, errMessage
	}
	m.end = m.body + m.size
	return m, true, nil
}

// header returns the union in a message and its number.
func (m *message) header() (byte, flat, error) {
	root := flatRoot(m.meta)
	h, ok := root.table(2)
	if !ok {
		return 0, flat{}, errMessage
	}
	return root.byte(1), h, nil
}

func (m *message) version() int16 { return flatRoot(m.meta).int16(0, 0) }

// extent is a buffer in the file.
type extent struct{ off, size int64 }

// batchColumn is one column of one record or dictionary batch.
type batchColumn struct {
	rows  int64
	nulls int64
	parts []extent // validity, then what the type has
}

// arrowBatch is a record batch: how many rows, and where its usable columns lie.
type arrowBatch struct {
	rows    int64
	codec   int8 // -1 none, 0 lz4 frames, 1 zstd
	columns []batchColumn
	dicts   []*arrowDict // by column; nil where there is none
}

const (
	codecNone = -1
	codecLZ4  = 0
	codecZstd = 1
)

// readBatch reads a RecordBatch table whose buffers lie in a body at the given place, and checks every one of them.
func readBatch(h flat, body, size int64, fields []arrowField) (*arrowBatch, error) {
	b := &arrowBatch{rows: h.int64(0), codec: codecNone}
	if b.rows < 0 {
		return nil, errMessage
	}
	if c, ok := h.table(3); ok {
		b.codec = int8(c.byte(0))
		if b.codec != codecLZ4 && b.codec != codecZstd || c.byte(1) != 0 {
			return nil, fail(CodeUnsupported, "", "a body compression that is not read here")
		}
	}
	nodes, nNodes := h.vector(1, 16)
	buffers, nBuffers := h.vector(2, 16)
	counts, nCounts := h.vector(4, 8)
	raw := h.t.Bytes
	at := func(start uint32, i int) (a, c int64) {
		o := int(start) + 16*i
		return int64(binary.LittleEndian.Uint64(raw[o:])), int64(binary.LittleEndian.Uint64(raw[o+8:]))
	}
	node, buffer, count := 0, 0, 0
	for i := range fields {
		f := &fields[i]
		want := f.buffers
		for range f.views {
			if count >= nCounts {
				return nil, errMessage
			}
			more := int64(binary.LittleEndian.Uint64(raw[int(counts)+8*count:]))
			if more < 0 || more > int64(nBuffers) {
				return nil, errMessage
			}
			want += int(more)
			count++
		}
		if node+f.nodes > nNodes || buffer+want > nBuffers {
			return nil, errMessage
		}
		var col batchColumn
		if f.column.Usable {
			col.rows, col.nulls = at(uint32(nodes), node)
			if col.rows != b.rows || col.nulls < 0 || col.nulls > col.rows {
				return nil, errMessage
			}
			col.parts = make([]extent, want)
			for k := range col.parts {
				off, n := at(uint32(buffers), buffer+k)
				if off < 0 || n < 0 || off > size || n > size-off {
					return nil, errMessage
				}
				col.parts[k] = extent{body + off, n}
			}
		}
		b.columns = append(b.columns, col)
		node += f.nodes
		buffer += want
	}
	if node != nNodes || buffer != nBuffers {
		return nil, errMessage
	}
	return b, nil
}
