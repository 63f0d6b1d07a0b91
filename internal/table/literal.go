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

// literals unpacks a block piece by piece into memory of exactly the declared size.
type literals struct {
	dst  []byte
	at   int // bytes of dst that are there
	left int // bytes of the current literal that are still to come
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
		case k <= 0 || size != uint64(len(l.dst)):
			return nil, false
		}
		l.head, b = true, b[k:]
	}
	for len(b) > 0 {
		if l.left == 0 {
			length, size, ok := literal(b)
			if !ok || length > len(l.dst)-l.at {
				return nil, false
			}
			if size == 0 {
				return b, true
			}
			l.left, b = length, b[size:]
		}
		n := copy(l.dst[l.at:l.at+l.left], b)
		l.at, l.left, b = l.at+n, l.left-n, b[n:]
	}
	return nil, true
}

// done says whether the whole block was there.
func (l *literals) done() bool { return l.head && l.left == 0 && l.at == len(l.dst) }

// stretch is a run of unpacked bytes that lies in one piece in the stored ones.
type stretch struct{ unpacked, stored int }

// literalView is a page of values of eight bytes that was not unpacked: single values are read where they lie.
type literalView struct {
	b      []byte
	at     []stretch // ascending, the first at 0
	values int       // where the first value begins, unpacked
	rows   int
}

// stretches finds the literals of a snappy block that unpacks to size bytes, at offset from in b. ok is false when there
// is anything else, or so many of them that unpacking is better.
func stretches(b []byte, from, size int) (out []stretch, ok bool) {
	declared, k := binary.Uvarint(b[from:min(len(b), from+5)])
	if k <= 0 || declared != uint64(size) {
		return nil, false
	}
	most := 64 + size/4096
	src, dst := from+k, 0
	for src < len(b) {
		length, tag, ok := literal(b[src:])
		if !ok || tag == 0 || length > size-dst || length > len(b)-src-tag || len(out) == most {
			return nil, false
		}
		out = append(out, stretch{dst, src + tag})
		src, dst = src+tag+length, dst+length
	}
	return out, dst == size
}

// front is the first n unpacked bytes, if they lie in one piece.
func (v *literalView) front(n int) ([]byte, bool) {
	end := len(v.b)
	if len(v.at) > 1 {
		end = v.at[0].stored + v.at[1].unpacked
	}
	if len(v.at) == 0 || n > end-v.at[0].stored {
		return nil, false
	}
	return v.b[v.at[0].stored : v.at[0].stored+n], true
}

// viewReader reads single values of a page in ascending order of their rows.
type viewReader struct {
	*literalView
	i int // stretch of the last value
}

// bits is the value of a row.
func (v *viewReader) bits(row int) uint64 {
	off := v.values + 8*row
	for v.i+1 < len(v.at) && off >= v.at[v.i+1].unpacked {
		v.i++
	}
	i := v.i
	src := v.at[i].stored + off - v.at[i].unpacked
	if i+1 == len(v.at) || off+8 <= v.at[i+1].unpacked {
		return binary.LittleEndian.Uint64(v.b[src:])
	}
	var value [8]byte // over the end of a literal
	for k := range value {
		if i+1 < len(v.at) && off+k == v.at[i+1].unpacked {
			i++
			src = v.at[i].stored - k
		}
		value[k] = v.b[src+k]
	}
	return binary.LittleEndian.Uint64(value[:])
}

// viewable says whether a page may be all literals of eight bytes that are the values themselves.
func (c *chunk) viewable(p *pagewalk.Page) bool {
	l := c.leaf
	if p.Encoding != pagewalk.EncPlain || p.Nulls > 0 || c.facts.Codec != pagewalk.Snappy && c.facts.Codec != pagewalk.Uncompressed {
		return false
	}
	return l.Type == pagewalk.Double && c.shape == asFloat64 && l.Note.Meaning != pagewalk.Decimal ||
		l.Type == pagewalk.Int64 && c.shape == asInt64 && (l.Note.Meaning != pagewalk.Integer || l.Note.Signed)
}
