package table

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/dprelease/dprelease/internal/table/pagewalk"
)

// A page is read piece by piece, and hashed while the piece is in a core's cache.

// read fills dst with a stored page, takes note of it, and checks its checksum.
func (w *worker) read(c *chunk, p *pagewalk.Page, to mark, dst []byte) error {
	return w.pieces(c, p, to, func(off, n int) ([]byte, error) { return dst[off : off+n], nil }, nil)
}

// pieces reads a page into the memory that room gives for each piece, and calls visit with it. It ends with the
// checksum: what visit saw counts for nothing before that.
func (w *worker) pieces(c *chunk, p *pagewalk.Page, to mark, room func(off, n int) ([]byte, error), visit func(b []byte) error) error {
	var crc uint32
	w.digest.sums = w.digest.sums[:0]
	for off := 0; off < int(p.Stored); off += segmentBytes {
		b, err := room(off, min(segmentBytes, int(p.Stored)-off))
		if err != nil {
			return err
		}
		if _, err := c.r.ReadAt(b, p.Off+int64(off)); err != nil {
			return errPageRead
		}
		if p.HasCRC {
			crc = crc32.Update(crc, crc32.IEEETable, b)
		}
		if to.content != nil {
			w.digest.piece(b)
		}
		if visit != nil {
			if err := visit(b); err != nil {
				return err
			}
		}
	}
	if p.HasCRC && crc != p.CRC {
		return errChecksum
	}
	return to.note(&w.digest)
}

// errWhole says that a page is not what a shorter way of reading it is for.
var errWhole = fail(CodeCorrupt, "", "a page cannot be unpacked piece by piece")

// stream is body for pages that can be unpacked while they are read. With errWhole nothing is known of the page; body
// reads it again, and finds out what there is to say about it.
func (w *worker) stream(c *chunk, p *pagewalk.Page, to mark, out *vec) (data, values []byte, err error) {
	if !p.Packed || c.facts.Codec != pagewalk.Snappy || c.whole.Load() {
		return nil, nil, errWhole
	}
	front := p.Front()
	data = w.room(c, p, out)
	src := w.scratch(segmentBytes + binary.MaxVarintLen32)
	l := literals{dst: data[front:]}
	carry, first := 0, true
	err = w.pieces(c, p, to, func(_, n int) ([]byte, error) { return src[carry : carry+n], nil }, func(b []byte) error {
		if first {
			first = false
			if len(b) < front {
				return errWhole
			}
			copy(data, b[:front])
			b = b[front:]
		} else {
			b = src[:carry+len(b)]
		}
		rest, ok := l.feed(b)
		if !ok {
			return errWhole
		}
		carry = copy(src, rest)
		return nil
	})
	if err == nil && (carry > 0 || !l.done()) {
		err = errWhole
	}
	if err == errWhole {
		c.whole.Store(true)
		out.release(w.pool)
	}
	return data, data[front:], err
}

// view is page for a few values of a page: it keeps what is stored and unpacks nothing. With errWhole page has to do it.
func (w *worker) view(c *chunk, p *pagewalk.Page, to mark, out *vec) error {
	if !c.viewable(p) || c.whole.Load() {
		return errWhole
	}
	buf := w.pool.get(int(p.Stored))
	out.hold = append(out.hold, buf)
	b := buf.bytes()[:p.Stored]
	if err := w.read(c, p, to, b); err != nil {
		return err
	}
	if out.lazy = viewOf(c, p, b); out.lazy == nil {
		c.whole.Store(true)
		out.release(w.pool)
		return errWhole
	}
	return nil
}

// viewOf returns nil for a page that is not literals without a null.
func viewOf(c *chunk, p *pagewalk.Page, b []byte) *literalView {
	front, n := p.Front(), int(p.Values)
	size := int(p.Unpacked) - front
	v := &literalView{b: b, rows: n}
	if p.Packed && c.facts.Codec == pagewalk.Snappy {
		var ok bool
		if v.at, ok = stretches(b, front, size); !ok {
			return nil
		}
	} else if len(b) != int(p.Unpacked) {
		return nil
	} else {
		v.at = []stretch{{0, front}}
	}
	if c.leaf.MaxDef > 0 {
		levels := b[p.RepLen : p.RepLen+p.DefLen]
		if !p.V2 {
			head, ok := v.front(4)
			if !ok {
				return nil
			}
			v.values = 4 + int(min(binary.LittleEndian.Uint32(head), uint32(size)))
			if levels, ok = v.front(v.values); !ok {
				return nil
			}
			levels = levels[4:]
		}
		if !allPresent(levels, n) {
			return nil
		}
	}
	if n == 0 || v.values+8*n != size {
		return nil
	}
	return v
}
