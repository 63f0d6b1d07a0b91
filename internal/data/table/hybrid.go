package table

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow/bitutil"
)

// Levels and dictionary indices are stored as runs: repeats of one value, or groups of 8 values packed in bits. The
// readers below are strict, because that is how a damaged header is noticed. Each run has at least one value; together they
// hold exactly the values that are asked for (up to the padding of the last group) and use up their bytes.

var errRuns = fail(CodeCorrupt, "", "levels or dictionary indices cannot be decoded")

type runs struct {
	b     []byte
	width int // bits of a value
	left  int // values still to come
}

// next returns the next run: its length, and either the repeated value or the packed bytes, which are nil for a repeat.
func (r *runs) next() (n int, value uint32, packed []byte, err error) {
	h, k := binary.Uvarint(r.b)
	if k <= 0 || h>>1 == 0 {
		return 0, 0, nil, errRuns
	}
	r.b = r.b[k:]
	if h&1 == 0 {
		size := (r.width + 7) / 8
		if h>>1 > uint64(r.left) || size > len(r.b) {
			return 0, 0, nil, errRuns
		}
		for i := size - 1; i >= 0; i-- {
			value = value<<8 | uint32(r.b[i])
		}
		if bits.Len32(value) > r.width {
			return 0, 0, nil, errRuns
		}
		r.b = r.b[size:]
		r.left -= int(h >> 1)
		return int(h >> 1), value, nil, nil
	}
	if h>>1 > uint64(len(r.b))+1 && r.width > 0 {
		return 0, 0, nil, errRuns
	}
	n, size := r.left, 0
	if r.width > 0 {
		size = int(h>>1) * r.width
		if size > len(r.b) { // some writers leave out the padding of the last group
			size = len(r.b)
		}
		if held := size * 8 / r.width; held < n {
			if size != int(h>>1)*r.width {
				return 0, 0, nil, errRuns
			}
			n = held
		}
	} else if h>>1 < uint64(n) {
		n = min(n, int(h>>1)*8)
	}
	packed = r.b[:size:size]
	r.b = r.b[size:]
	r.left -= n
	return n, 0, packed, nil
}

// decodeLevels sets bit i of bitmap if row i of n has a value, and returns how many rows have one. A row has a value if its
// level is top; below that, the column or a struct around it is null.
func decodeLevels(b []byte, n, top int, bitmap []byte) (int, error) {
	r := runs{b: b, width: bits.Len(uint(top)), left: n}
	at := 0
	for r.left > 0 {
		k, value, packed, err := r.next()
		if err != nil {
			return 0, err
		}
		switch {
		case packed == nil:
			if value > uint32(top) {
				return 0, errRuns
			}
			bitutil.SetBitsTo(bitmap, int64(at), int64(k), value == uint32(top))
		case r.width == 1:
			bitutil.CopyBitmap(packed, 0, k, bitmap, at)
		default:
			if err := packedLevels(packed, r.width, k, top, bitmap, at); err != nil {
				return 0, err
			}
		}
		at += k
	}
	if len(r.b) > 0 {
		return 0, errRuns
	}
	return bitutil.CountSetBits(bitmap, 0, n), nil
}

// packedLevels reads n levels of more than one bit.
func packedLevels(b []byte, width, n, top int, bitmap []byte, at int) error {
	var levels [512]int32 // a multiple of eight, so that every stretch begins with a byte
	for n > 0 {
		part := levels[:min(n, len(levels))]
		if unpack(b, width, part) > uint32(top) {
			return errRuns
		}
		for i, v := range part {
			bitutil.SetBitTo(bitmap, at+i, int(v) == top)
		}
		b, at, n = b[min(len(b), len(part)*width/8):], at+len(part), n-len(part)
	}
	return nil
}

// allPresent reports, without decoding, whether levels are a single run that says that none of n values is null.
func allPresent(b []byte, n, top int) bool {
	h, k := binary.Uvarint(b)
	return k > 0 && h == uint64(n)<<1 && len(b) == k+1 && int(b[k]) == top
}

// decodeIndices fills out with dictionary indices, all below size.
func decodeIndices(b []byte, out []int32, size int) error {
	if len(out) == 0 {
		return nil
	}
	if len(b) == 0 || b[0] > 32 || size == 0 {
		return errRuns
	}
	r := runs{b: b[1:], width: int(b[0]), left: len(out)}
	if r.width == 0 && len(r.b) == 0 {
		clear(out)
		return nil
	}
	for r.left > 0 {
		k, value, packed, err := r.next()
		if err != nil {
			return err
		}
		part := out[:k]
		out = out[k:]
		if packed == nil {
			if value >= uint32(size) {
				return errRuns
			}
			for i := range part {
				part[i] = int32(value)
			}
			continue
		}
		if unpack(packed, r.width, part) >= uint32(size) {
			return errRuns
		}
	}
	return padding(r.b)
}

// padding accepts a few zeros after the last run. The format does not ask for them, but a buffered writer may leave them.
func padding(b []byte) error {
	if len(b) > 8 {
		return errRuns
	}
	for _, c := range b {
		if c != 0 {
			return errRuns
		}
	}
	return nil
}

// unpack reads len(out) values of width bits and returns the largest.
func unpack(b []byte, width int, out []int32) uint32 {
	var top uint32
	mask := uint64(1)<<width - 1
	bit, i := 0, 0
	for ; i < len(out) && bit>>3+8 <= len(b); i++ {
		v := uint32(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask)
		top = max(top, v)
		out[i] = int32(v)
		bit += width
	}
	if i == len(out) {
		return top
	}
	// Fewer than eight bytes are left.
	var tail [16]byte
	copy(tail[:], b[min(bit>>3, len(b)):])
	for bit &= 7; i < len(out); i++ {
		v := uint32(binary.LittleEndian.Uint64(tail[bit>>3:]) >> (bit & 7) & mask)
		top = max(top, v)
		out[i] = int32(v)
		bit += width
	}
	return top
}
