package table

import (
	"encoding/binary"
	"math"

	"github.com/dprelease/dprelease/internal/table/pagewalk"
)

// A snappy block is literals (bytes as they are, behind a tag with their number) and copies of what came before. Of
// values that repeat little, such as measurements, it is literals only: then a page need not be unpacked as a whole.
// What is here reads tags and nothing else; at the first copy, and at anything unusual, it gives up and leaves the page
// to the library.

// literals walks through a block piece by piece. What it unpacks to goes to put, in order, and is exactly size bytes.
type literals struct {
	size int
	put  func(b []byte) bool // false: give up
	at   int                 // bytes that were put
	left int                 // bytes of the current literal that are still to come
	head bool
}

// literal reads the tag at the start of b: the length of the literal and of its tag. A size of 0 means that b ends in
// the tag; ok is false for a copy, and for what the library does not read either.
func literal(b []byte) (length, size int, ok bool) {
	if len(b) == 0 {
		return 0, 0, true
	}
	if b[0]&3 != 0 {
		return 0, 0, false
	}
	n := int(b[0] >> 2)
	if n < 60 {
		return n + 1, 1, true
	}
	more := n - 59
	if len(b) < 1+more {
		return 0, 0, true
	}
	n = 0
	for i := more; i > 0; i-- {
		n = n<<8 | int(b[i])
	}
	return n + 1, 1 + more, n < math.MaxInt32
}

// feed takes the next bytes of the block and returns those that it needs again, in front of what comes next: fewer than
// the five of a tag or of a block's head.
func (l *literals) feed(b []byte) (rest []byte, ok bool) {
	if !l.head {
		size, k := binary.Uvarint(b[:min(len(b), 5)])
		switch {
		case k == 0 && len(b) < 5:
			return b, true
		case k <= 0 || size != uint64(l.size):
			return nil, false
		}
		l.head, b = true, b[k:]
	}
	for len(b) > 0 {
		if l.left == 0 {
			length, size, ok := literal(b)
			if !ok || length > l.size-l.at {
				return nil, false
			}
			if size == 0 {
				return b, true
			}
			l.left, b = length, b[size:]
		}
		n := min(l.left, len(b))
		if !l.put(b[:n]) {
			return nil, false
		}
		l.at, l.left, b = l.at+n, l.left-n, b[n:]
	}
	return nil, true
}

// done says whether the whole block was there.
func (l *literals) done() bool { return l.head && l.left == 0 && l.at == l.size }

// picks takes single values of eight bytes out of a page as its unpacked bytes go by.
type picks struct {
	rows []uint32 // ascending
	out  []uint64 // one for each of them
	done int      // how many are there
	from int      // where the first value of the page begins, unpacked
	at   int      // bytes gone by
	over [8]byte  // a value that begins in one stretch of bytes and ends in another
}

// take looks at the next bytes.
func (g *picks) take(b []byte) {
	first := g.from - g.at // where the first value of the page would begin in b
	g.at += len(b)
	rows, out := g.rows[g.done:], g.out[g.done:len(g.rows)]
	n := 0
	if len(rows) > 0 && first+8*int(rows[0]) < 0 {
		off := first + 8*int(rows[0])
		copy(g.over[-off:], b)
		if off+8 > len(b) {
			return
		}
		out[0], n = binary.LittleEndian.Uint64(g.over[:]), 1
	}
	for ; n < len(rows); n++ {
		off := first + 8*int(rows[n])
		if off > len(b)-8 {
			if off < len(b) {
				copy(g.over[:], b[off:])
			}
			break
		}
		out[n] = binary.LittleEndian.Uint64(b[off:])
	}
	g.done += n
}

// pickable says whether a page may be all literals of eight bytes that are the values themselves.
func (c *chunk) pickable(p *pagewalk.Page) bool {
	l := c.leaf
	if p.Encoding != pagewalk.EncPlain || p.Nulls > 0 || c.facts.Codec != pagewalk.Snappy && c.facts.Codec != pagewalk.Uncompressed {
		return false
	}
	return l.Type == pagewalk.Double && c.shape == asFloat64 && l.Note.Meaning != pagewalk.Decimal ||
		l.Type == pagewalk.Int64 && c.shape == asInt64 && (l.Note.Meaning != pagewalk.Integer || l.Note.Signed)
}
