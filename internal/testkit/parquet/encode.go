package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// values are those of a column chunk.
type values struct {
	n        int
	typ      Type
	length   int                          // of each, in plain bytes; 0 for booleans and byte arrays
	plain    func(b []byte, i int) []byte // appends value i, without a length in front
	number   func(i int) int64
	distinct int // entries of the dictionary
}

func fixed[T any](v *values, all []T, length int, plain func(b []byte, x T) []byte) {
	v.n, v.length = len(all), length
	v.plain = func(b []byte, i int) []byte { return plain(b, all[i]) }
}

func valuesOf(c *Column) *values {
	v := &values{typ: c.Node.typ}
	little := binary.LittleEndian
	switch all := c.Values.(type) {
	case []bool:
		fixed(v, all, 0, func(b []byte, x bool) []byte { return b })
		v.number = func(i int) int64 {
			if all[i] {
				return 1
			}
			return 0
		}
	case []int32:
		fixed(v, all, 4, func(b []byte, x int32) []byte { return little.AppendUint32(b, uint32(x)) })
		v.number = func(i int) int64 { return int64(all[i]) }
	case []int64:
		fixed(v, all, 8, func(b []byte, x int64) []byte { return little.AppendUint64(b, uint64(x)) })
		v.number = func(i int) int64 { return all[i] }
	case []float32:
		fixed(v, all, 4, func(b []byte, x float32) []byte { return little.AppendUint32(b, math.Float32bits(x)) })
	case []float64:
		fixed(v, all, 8, func(b []byte, x float64) []byte { return little.AppendUint64(b, math.Float64bits(x)) })
	case []ByteArray:
		fixed(v, all, 0, func(b []byte, x ByteArray) []byte { return append(b, x...) })
	case []FixedLenByteArray:
		fixed(v, all, c.Node.length, func(b []byte, x FixedLenByteArray) []byte { return append(b, x...) })
	case []Int96:
		fixed(v, all, 12, func(b []byte, x Int96) []byte { return append(b, x[:]...) })
	default:
		panic(fmt.Sprintf("no column of %T", c.Values))
	}
	return v
}

// size returns the bytes of a value in a page.
func (v *values) size(i int) int {
	switch {
	case v.typ == Types.ByteArray:
		return 4 + len(v.plain(nil, i))
	case v.typ == Types.Boolean:
		return 1
	}
	return v.length
}

func (v *values) appendPlain(b []byte, i int) []byte {
	if v.typ != Types.ByteArray {
		return v.plain(b, i)
	}
	at := len(b)
	b = v.plain(append(b, 0, 0, 0, 0), i)
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// maxDictionary is the size at which a dictionary is full. Later pages are plain.
const maxDictionary = 1 << 20

// dictionary returns the indices of the first values, as many as fit, and the dictionary.
func (v *values) dictionary() (indices []int, dict []byte, entries int) {
	known := map[string]int{}
	indices = []int{}
	for i := range v.n {
		text := string(v.appendPlain(nil, i))
		k, ok := known[text]
		if !ok {
			if len(dict) >= maxDictionary {
				break
			}
			k = len(known)
			known[text], dict = k, append(dict, text...)
		}
		indices = append(indices, k)
	}
	v.distinct = len(known)
	return indices, dict, len(known)
}

// encode encodes the values from a place to another.
func (v *values) encode(e Encoding, from, to int) []byte {
	var b []byte
	switch e {
	case Encodings.Plain:
		if v.typ == Types.Boolean {
			b = make([]byte, (to-from+7)/8)
			for i := range to - from {
				b[i/8] |= byte(v.number(from+i)) << (i % 8)
			}
			return b
		}
		for i := from; i < to; i++ {
			b = v.appendPlain(b, i)
		}
	case Encodings.RLE:
		levels := make([]uint32, to-from)
		for i := range levels {
			levels[i] = uint32(v.number(from + i))
		}
		runs := packRuns(levels, 1)
		b = append(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs...)
	case Encodings.DeltaBinaryPacked:
		numbers := make([]int64, to-from)
		for i := range numbers {
			numbers[i] = v.number(from + i)
		}
		b = Deltas(numbers, 128, 4, v.typ == Types.Int32)
	case Encodings.DeltaLengthByteArray, Encodings.DeltaByteArray:
		texts := make([][]byte, to-from)
		for i := range texts {
			texts[i] = v.plain(nil, from+i)
		}
		b = Texts(texts, e == Encodings.DeltaByteArray)
	case Encodings.ByteStreamSplit:
		n := to - from
		b = make([]byte, n*v.length)
		for i := range n {
			for k, x := range v.plain(nil, from+i) {
				b[k*n+i] = x
			}
		}
	default:
		panic(fmt.Sprintf("no encoding %d", e))
	}
	return b
}

// packIndices encodes indices into a dictionary of a size.
func packIndices(indices []int, size int) []byte {
	width := bits.Len(uint(max(size-1, 0)))
	all := make([]uint32, len(indices))
	for i, k := range indices {
		all[i] = uint32(k)
	}
	return append([]byte{byte(width)}, packRuns(all, width)...)
}

// packRuns encodes numbers of a width as runs of equal ones, where eight or more are equal, and of packed bits.
func packRuns(all []uint32, width int) (b []byte) {
	equal := func(i int) int {
		n := 1
		for i+n < len(all) && all[i+n] == all[i] {
			n++
		}
		return n
	}
	for i := 0; i < len(all); {
		if n := equal(i); n >= 8 {
			b = binary.AppendUvarint(b, uint64(n)<<1)
			for k := range (width + 7) / 8 {
				b = append(b, byte(all[i]>>(8*k)))
			}
			i += n
			continue
		}
		from := i
		for i < len(all) && equal(i) < 8 {
			i += 8
		}
		part := all[from:min(i, len(all))]
		groups := (len(part) + 7) / 8
		b = binary.AppendUvarint(b, uint64(groups)<<1|1)
		packed := make([]byte, groups*width)
		for k, x := range part {
			putBits(packed, k*width, uint64(x), width)
		}
		b = append(b, packed...)
	}
	return b
}

func putBits(b []byte, at int, x uint64, width int) {
	for k := range width {
		b[(at+k)/8] |= byte(x>>k&1) << ((at + k) % 8)
	}
}

// Deltas encodes numbers as differences, in blocks of a size. wrap says that differences are those of 32 bits.
func Deltas(all []int64, block, minis int, wrap bool) []byte {
	b := binary.AppendUvarint(nil, uint64(block))
	b = binary.AppendUvarint(b, uint64(minis))
	b = binary.AppendUvarint(b, uint64(len(all)))
	signed := func(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }
	if len(all) == 0 {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, signed(all[0]))
	steps := make([]int64, len(all)-1)
	for i := range steps {
		steps[i] = all[i+1] - all[i]
		if wrap {
			steps[i] = int64(int32(steps[i]))
		}
	}
	per := block / minis
	for some := range slices.Chunk(steps, block) {
		least := slices.Min(some)
		b = binary.AppendUvarint(b, signed(least))
		widths, packed := make([]byte, minis), []byte(nil)
		for k := range minis {
			if k*per >= len(some) {
				continue // a miniblock without numbers has no bytes
			}
			part := some[k*per : min((k+1)*per, len(some))]
			width := 0
			for _, step := range part {
				width = max(width, bits.Len64(uint64(step-least)))
			}
			widths[k] = byte(width)
			mini := make([]byte, per*width/8)
			for i, step := range part {
				putBits(mini, i*width, uint64(step-least), width)
			}
			packed = append(packed, mini...)
		}
		b = append(append(b, widths...), packed...)
	}
	return b
}

// Texts encodes texts behind a list of their lengths; if they share, each without the start that it has in common with the one
// before, behind a list of how long that is.
func Texts(all [][]byte, share bool) []byte {
	shared, added, rest := make([]int64, len(all)), make([]int64, len(all)), []byte(nil)
	for i, s := range all {
		if share && i > 0 {
			for n := 0; n < min(len(s), len(all[i-1])) && s[n] == all[i-1][n]; n++ {
				shared[i]++
			}
		}
		added[i] = int64(len(s)) - shared[i]
		rest = append(rest, s[shared[i]:]...)
	}
	b := Deltas(added, 128, 4, true)
	if share {
		b = append(Deltas(shared, 128, 4, true), b...)
	}
	return append(b, rest...)
}
