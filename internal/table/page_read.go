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
	l := literals{size: len(data) - front}
	l.put = func(b []byte) bool { copy(data[front+l.at:], b); return true }
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

// pick is page for some rows of a page, which it takes out of the stored bytes as they go by: nothing is unpacked, and
// out holds those rows alone. With errWhole page has to do it.
func (w *worker) pick(c *chunk, p *pagewalk.Page, to mark, rows []uint32, out *vec) error {
	if !c.pickable(p) || c.whole.Load() {
		return errWhole
	}
	buf := w.pool.get(8 * len(rows))
	out.hold = append(out.hold, buf)
	g := picks{rows: rows, out: buf.words}
	err := w.plain(c, p, to, func(from int) { g.from = from }, func(b []byte) bool { g.take(b); return true })
	if err == nil && g.done != len(rows) {
		err = errWhole
	}
	if err != nil {
		if err == errWhole {
			c.whole.Store(true)
		}
		out.release(w.pool)
		return err
	}
	out.picked = true
	if c.shape == asFloat64 {
		out.f64 = viewFloat64(buf.bytes(), len(rows))
	} else {
		out.i64 = viewInt64(buf.bytes(), len(rows))
	}
	return nil
}

// plain goes through a page of values of eight bytes as it is read. It holds the page to all that unpacking it would: it is
// literals without a null, of exactly the size and the number of values that are declared. Begin is called with the place
// of the first value, and then take with all unpacked bytes in order.
func (w *worker) plain(c *chunk, p *pagewalk.Page, to mark, begin func(from int), take func(b []byte) bool) error {
	front := p.Front()
	size := int(p.Unpacked) - front
	packed := p.Packed && c.facts.Codec == pagewalk.Snappy
	if !packed && int(p.Stored) != int(p.Unpacked) {
		return errWhole
	}
	levels := c.leaf.MaxDef > 0 && !p.V2 // in front of the values
	from := 0
	if !levels {
		begin(0)
	}
	l := literals{size: size}
	l.put = func(b []byte) bool {
		if levels {
			var ok bool
			if from, ok = presentFront(b, int(p.Values)); !ok {
				return false
			}
			levels = false
			begin(from)
		}
		return take(b)
	}
	src := w.scratch(segmentBytes + binary.MaxVarintLen32)
	carry, first := 0, true
	err := w.pieces(c, p, to, func(_, n int) ([]byte, error) { return src[carry : carry+n], nil }, func(b []byte) error {
		if first {
			first = false
			if len(b) < front || p.V2 && c.leaf.MaxDef > 0 && !allPresent(b[p.RepLen:p.RepLen+p.DefLen], int(p.Values)) {
				return errWhole
			}
			b = b[front:]
		} else {
			b = src[:carry+len(b)]
		}
		if !packed {
			if !l.put(b) {
				return errWhole
			}
			l.at += len(b)
			return nil
		}
		rest, ok := l.feed(b)
		if !ok {
			return errWhole
		}
		carry = copy(src, rest)
		return nil
	})
	if err == nil && (carry > 0 || packed && !l.done() || l.at != size || levels || from+8*int(p.Values) != size) {
		err = errWhole
	}
	return err
}

// presentFront reads the levels in front of the values of a page, which must lie in b and say that there is no null. It
// returns where the values begin.
func presentFront(b []byte, n int) (values int, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	size := int64(binary.LittleEndian.Uint32(b))
	if size > int64(len(b)-4) || !allPresent(b[4:4+size], n) {
		return 0, false
	}
	return 4 + int(size), true
}
