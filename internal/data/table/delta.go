package table

import (
	"encoding/binary"
	"math"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// The delta encodings. Numbers are stored as differences: a header, then blocks of miniblocks, each with a width of its own.
// Lengths of texts are such numbers too. Nothing here allocates by what a page declares: numbers are read 32 at a time, and a
// text that shares its start with the one before is made in the same memory.

var errDelta = fail(CodeCorrupt, "", "the values of a page cannot be decoded")

// maxDeltaBlock bounds the values of a block. Writers use 128 to a few thousand.
const maxDeltaBlock = 1 << 16

// stretch is the number of values that are read at once. A miniblock holds a multiple of it.
const stretch = 32

// deltas reads a list of delta-packed numbers. Arithmetic wraps around, as the format says.
type deltas struct {
	b      []byte // what is left of the page
	left   int    // numbers still to come
	per    int    // numbers of a miniblock
	minis  int    // miniblocks of a block
	widths []byte // of the miniblocks of this block that are still to come
	width  int
	within int    // numbers of this miniblock still to come, padding included
	least  uint64 // the smallest difference of this block
	last   uint64 // the number before the next
	first  bool   // the next number is the one in the header
}

// newDeltas reads the header of a list of exactly n numbers.
func newDeltas(b []byte, n int) (d deltas, err error) {
	d.b = b
	var head [4]uint64 // block size, miniblocks in a block, count, first value
	for k := range head {
		if head[k], err = d.uvarint(); err != nil {
			return d, err
		}
	}
	block, minis := head[0], head[1]
	if block == 0 || block > maxDeltaBlock || minis == 0 || block%minis != 0 || block/minis%stretch != 0 || head[2] != uint64(n) {
		return d, errDelta
	}
	d.left, d.per, d.minis, d.first = n, int(block/minis), int(minis), n > 0
	d.last = zigzag(head[3])
	return d, nil
}

func (d *deltas) uvarint() (uint64, error) {
	v, k := binary.Uvarint(d.b)
	if k <= 0 {
		return 0, errDelta
	}
	d.b = d.b[k:]
	return v, nil
}

func zigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// miniblock goes to the next miniblock, and checks that the page holds it.
func (d *deltas) miniblock() error {
	if len(d.widths) == 0 {
		least, err := d.uvarint()
		if err != nil || len(d.b) < d.minis {
			return errDelta
		}
		d.least = zigzag(least)
		d.widths, d.b = d.b[:d.minis], d.b[d.minis:]
	}
	d.width, d.widths, d.within = int(d.widths[0]), d.widths[1:], d.per
	if d.width > 64 || d.width*d.per/8 > len(d.b) {
		return errDelta
	}
	return nil
}

// next fills the front of to with the next numbers and returns how many: 0 at the end of the list.
func (d *deltas) next(to *[stretch]uint64) (n int, err error) {
	if d.first {
		d.first = false
		d.left--
		to[0] = d.last
		return 1, nil
	}
	if d.left == 0 {
		return 0, nil
	}
	if d.within == 0 {
		if err := d.miniblock(); err != nil {
			return 0, err
		}
	}
	unpackWide(d.b, d.width, to)
	d.b = d.b[d.width*stretch/8:]
	d.within -= stretch
	if n = min(stretch, d.left); n == d.left {
		// What is left of this miniblock is padding, and the later ones of its block have no bytes.
		d.b = d.b[d.width*d.within/8:]
	}
	d.left -= n
	last, least := d.last, d.least
	for i := range to {
		last += to[i] + least
		to[i] = last
	}
	d.last = to[n-1]
	return n, nil
}

// skip goes to the end of the list without reading a number, and returns what comes after it.
func (d deltas) skip() ([]byte, error) {
	if d.first {
		d.left--
	}
	for d.left > 0 {
		if err := d.miniblock(); err != nil {
			return nil, err
		}
		d.b = d.b[d.width*d.per/8:]
		d.left -= d.per
	}
	return d.b, nil
}

// unpackWide reads 32 values of at most 64 bits. b holds them.
func unpackWide(b []byte, width int, out *[stretch]uint64) {
	if width == 0 {
		clear(out[:])
		return
	}
	mask := uint64(math.MaxUint64) >> (64 - width)
	var own [stretch*8 + 16]byte
	if len(b) < width*stretch/8+16 { // close to the end: read a copy with room behind it
		copy(own[:], b[:width*stretch/8])
		b = own[:]
	}
	b = b[:width*stretch/8+16]
	if width <= 56 {
		for i, bit := 0, 0; i < stretch; i, bit = i+1, bit+width {
			out[i] = binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask
		}
		return
	}
	for i, bit := 0, 0; i < stretch; i, bit = i+1, bit+width {
		low := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
		out[i] = (low | uint64(b[bit>>3+8])<<(64-bit&7)) & mask
	}
}

// deltaNumbers decodes a page that is one list.
func deltaNumbers[T int32 | int64](b []byte, out []T) error {
	d, err := newDeltas(b, len(out))
	if err != nil {
		return err
	}
	var some [stretch]uint64
	for len(out) > 0 {
		n, err := d.next(&some)
		if err != nil {
			return err
		}
		for i, v := range some[:n] {
			out[i] = T(v)
		}
		out = out[n:]
	}
	return unused(d.b)
}

// unused accepts what padding accepts at the end of a page.
func unused(b []byte) error {
	if padding(b) != nil {
		return errDelta
	}
	return nil
}

// lengths reads a list of lengths one by one.
type lengths struct {
	deltas
	some  [stretch]uint64
	at, n int
}

// newLengths reads the header of a list of n lengths and returns what comes after the list.
func newLengths(b []byte, n int) (l lengths, after []byte, err error) {
	if l.deltas, err = newDeltas(b, n); err == nil {
		after, err = l.skip()
	}
	return l, after, err
}

// one returns the next length, which must not be above most.
func (l *lengths) one(most int) (int, error) {
	if l.at == l.n {
		var err error
		if l.n, err = l.next(&l.some); err != nil || l.n == 0 {
			return 0, errDelta
		}
		l.at = 0
	}
	v := l.some[l.at]
	l.at++
	if v > uint64(most) {
		return 0, errDelta
	}
	return int(v), nil
}

// cutTexts visits n texts that lie one after the other behind the list of their lengths.
func cutTexts(b []byte, n int, visit visitor) error {
	sizes, b, err := newLengths(b, n)
	if err != nil {
		return err
	}
	for i := range n {
		size, err := sizes.one(len(b))
		if err != nil {
			return err
		}
		if err := visit(i, b[:size:size], false); err != nil {
			return err
		}
		b = b[size:]
	}
	return unused(b)
}

// visitor is called for each text of a page, in order. The text is valid until the next call. again says that it is known,
// without a look at it, to be the one before.
type visitor func(i int, s []byte, again bool) error

// starts reads a page of incremental texts without making one: how many bytes each takes from the one before, and what it adds.
type starts struct {
	shared, added lengths
	b             []byte // what the texts add
	last          int    // length of the text before
}

func newStarts(b []byte, n int) (s starts, err error) {
	if s.shared, b, err = newLengths(b, n); err == nil {
		s.added, s.b, err = newLengths(b, n)
	}
	return s, err
}

// next returns how many bytes the next text shares with the one before, and the bytes that follow. again says that this is
// the text before.
func (s *starts) next() (shared int, added []byte, again bool, err error) {
	if shared, err = s.shared.one(s.last); err != nil {
		return 0, nil, false, err
	}
	size, err := s.added.one(len(s.b))
	if err != nil {
		return 0, nil, false, err
	}
	added, s.b = s.b[:size], s.b[size:]
	again = shared == s.last && size == 0
	s.last = shared + size
	return shared, added, again, nil
}

// incrementalTexts visits n texts; each may share its beginning with the one before. room holds the longest of them: a text is
// no longer than all that a page adds.
func incrementalTexts(b []byte, n int, room []byte, visit visitor) error {
	s, err := newStarts(b, n)
	if err != nil {
		return err
	}
	for i := range n {
		shared, added, again, err := s.next()
		if err != nil {
			return err
		}
		copy(room[shared:], added)
		if err := visit(i, room[:s.last:s.last], again && i > 0); err != nil {
			return err
		}
	}
	return unused(s.b)
}

// textBytes returns how many bytes the texts of a page of n incremental texts take when they are made. A text that is the
// one before takes none.
func textBytes(b []byte, n int) (total int64, err error) {
	s, err := newStarts(b, n)
	if err != nil {
		return 0, err
	}
	for range n {
		_, _, again, err := s.next()
		if err != nil {
			return 0, err
		}
		if !again {
			total += int64(s.last) // at most 2^24 texts of 2^27 bytes
		}
	}
	return total, unused(s.b)
}

// incrementalFixed decodes values of one width; each may share its beginning with the one before.
func incrementalFixed(b []byte, width int, out []byte) error {
	n := len(out) / width
	s, err := newStarts(b, n)
	if err != nil {
		return err
	}
	before := make([]byte, width)
	for i := range n {
		shared, added, _, err := s.next()
		if err != nil || s.last != width {
			return errDelta
		}
		to := out[i*width : (i+1)*width]
		copy(to, before[:shared])
		copy(to[shared:], added)
		before = to
	}
	return unused(s.b)
}

// streamSplit decodes values of a width whose first bytes are stored together, then their second bytes, and so on.
func streamSplit(b []byte, width int, out []byte) {
	n := len(out) / width
	switch width {
	case 4:
		b0, b1, b2, b3 := b[:n], b[n:2*n], b[2*n:3*n], b[3*n:4*n]
		for i := range n {
			v := uint32(b0[i]) | uint32(b1[i])<<8 | uint32(b2[i])<<16 | uint32(b3[i])<<24
			binary.LittleEndian.PutUint32(out[4*i:], v)
		}
	case 8:
		b0, b1, b2, b3 := b[:n], b[n:2*n], b[2*n:3*n], b[3*n:4*n]
		b4, b5, b6, b7 := b[4*n:5*n], b[5*n:6*n], b[6*n:7*n], b[7*n:8*n]
		for i := range n {
			low := uint32(b0[i]) | uint32(b1[i])<<8 | uint32(b2[i])<<16 | uint32(b3[i])<<24
			high := uint32(b4[i]) | uint32(b5[i])<<8 | uint32(b6[i])<<16 | uint32(b7[i])<<24
			binary.LittleEndian.PutUint64(out[8*i:], uint64(low)|uint64(high)<<32)
		}
	default:
		for k := range width {
			for i, c := range b[k*n : (k+1)*n] {
				out[i*width+k] = c
			}
		}
	}
}

// decoded decodes n values of a fixed width, which are not stored plainly, into plain bytes.
func (w *worker) decoded(leaf *pagewalk.Leaf, encoding int8, b []byte, n int, hold *holding) ([]byte, error) {
	width := leaf.Width()
	out, err := w.arena.get(hold, n*width)
	if err != nil || n == 0 {
		return out, err
	}
	switch {
	case encoding == pagewalk.EncStreamSplit:
		if len(b) != len(out) {
			return nil, errPageSize
		}
		streamSplit(b, width, out)
	case encoding == pagewalk.EncDelta && width == 4:
		err = deltaNumbers(b, view[int32](out, n))
	case encoding == pagewalk.EncDelta:
		err = deltaNumbers(b, view[int64](out, n))
	case encoding == pagewalk.EncDeltaBytes:
		err = incrementalFixed(b, width, out)
	default:
		err = errUnsupportedType
	}
	return out, err
}
