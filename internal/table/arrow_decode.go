package table

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/dprelease/dprelease/internal/table/pagewalk"
)

const (
	maxPackedRows = 1 << 24   // rows of a compressed batch, which is unpacked whole
	maxTextBytes  = 256 << 20 // text of one column in one piece
)

var errBuffer = fail(CodeCorrupt, "", "an arrow buffer does not hold what its batch declares")

// arrowDecoder decodes a stretch of one column of one batch.
type arrowDecoder struct {
	w      *worker
	file   *arrowFile
	field  *arrowField
	batch  *arrowBatch
	column *batchColumn
	dict   *arrowDict
	cache  *dictCache
	out    *vec
	digest *[sha256.Size]byte
}

func (d *arrowDecoder) decode(from int64, n int) error {
	if d.batch.codec != codecNone && d.batch.rows > maxPackedRows {
		return fail(CodeLimit, "", "a compressed record batch has more than 2^24 rows")
	}
	if n == 0 {
		return nil
	}
	if d.column.nulls > 0 {
		b, err := d.part(0, from/8, int64(n+7)/8)
		if err != nil {
			return err
		}
		d.out.valid = b
	}
	s := &d.field.store
	var err error
	switch {
	case d.field.hasDict:
		err = d.indexed(from, n)
	case s.shape == asCodes && s.view:
		err = d.views(n)
	case s.shape == asCodes:
		err = d.texts(from, n)
	default:
		err = d.numbers(s, from, n)
	}
	if err != nil {
		return err
	}
	d.zeroNulls(n)
	return nil
}

// part reads size bytes of a buffer, beginning at off. Of a compressed buffer off is always 0, and the rest of what it
// unpacks to must be padding.
func (d *arrowDecoder) part(k int, off, size int64) ([]byte, error) {
	e := d.column.parts[k]
	if d.batch.codec == codecNone {
		if off+size > e.size {
			return nil, errBuffer
		}
		buf := d.w.pool.get(int(size))
		d.out.hold = append(d.out.hold, buf)
		b := buf.bytes()[:size]
		if _, err := d.file.f.ReadAt(b, e.off+off); err != nil {
			return nil, fail(CodeUnreadable, "", "a buffer cannot be read")
		}
		d.hash(b)
		return b, nil
	}
	b, err := d.unpacked(k, size+64+size/8)
	switch {
	case err != nil:
		return nil, err
	case off+size > int64(len(b)):
		return nil, errBuffer
	}
	return b[off : off+size], nil
}

// unpacked reads and unpacks a whole compressed buffer, which may not grow beyond limit.
func (d *arrowDecoder) unpacked(k int, limit int64) ([]byte, error) {
	e := d.column.parts[k]
	if e.size < 8 || e.size > limit+limit/8+4096 {
		return nil, errBuffer
	}
	src := d.w.scratch(int(e.size))
	if _, err := d.file.f.ReadAt(src, e.off); err != nil {
		return nil, fail(CodeUnreadable, "", "a buffer cannot be read")
	}
	d.hash(src)
	size := int64(binary.LittleEndian.Uint64(src))
	src = src[8:]
	stored := size == -1 // not worth compressing
	if stored {
		size = int64(len(src))
	} else if size < 0 || size > limit {
		return nil, fail(CodeLimit, "", "a compressed buffer declares more than its rows need")
	}
	buf := d.w.pool.get(int(size))
	d.out.hold = append(d.out.hold, buf)
	dst := buf.bytes()[:size]
	if stored {
		copy(dst, src)
		return dst, nil
	}
	return dst, d.w.unpack.arrow(d.batch.codec, dst, src)
}

func (d *arrowDecoder) hash(b []byte) {
	if d.digest == nil {
		return
	}
	h := sha256.New()
	h.Write(d.digest[:])
	h.Write(b)
	h.Sum(d.digest[:0])
}

// arrow unpacks one buffer of a record batch.
func (u *unpacker) arrow(codec int8, dst, src []byte) error {
	if codec == codecZstd {
		if u.zstd == nil {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return errUnpack
			}
			u.zstd = z
		}
		if len(dst) == 0 {
			return nil
		}
		out, err := u.zstd.DecodeAll(src, dst[:0:len(dst)])
		return exactly(out, err, dst)
	}
	r := lz4.NewReader(bytes.NewReader(src))
	if _, err := io.ReadFull(r, dst); err != nil {
		return errUnpack
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n != 0 || err != io.EOF {
		return errUnpack
	}
	return nil
}

// zeroNulls makes the places of nulls hold zero, whatever the writer left there.
func (d *arrowDecoder) zeroNulls(n int) {
	if d.out.valid == nil {
		return
	}
	for i := range n {
		if bitutil.BitIsSet(d.out.valid, i) {
			continue
		}
		switch {
		case d.out.f64 != nil:
			d.out.f64[i] = 0
		case d.out.i64 != nil:
			d.out.i64[i] = 0
		case d.out.codes != nil:
			d.out.codes[i] = 0
		}
	}
}

// numbers decodes anything of fixed width.
func (d *arrowDecoder) numbers(s *storage, from int64, n int) error {
	if s.typ == arrowBool {
		b, err := d.part(1, from/8, int64(n+7)/8)
		if err != nil {
			return err
		}
		return d.w.fill(asInt64, n, n, d.out, func(v *vec) error {
			for i := range v.i64 {
				v.i64[i] = int64(b[i>>3] >> (i & 7) & 1)
			}
			return nil
		})
	}
	w := int64(s.width)
	b, err := d.part(1, from*w, int64(n)*w)
	if err != nil {
		return err
	}
	switch {
	case s.typ == arrowFloat && s.width == 8 && aligned(b):
		d.out.f64 = viewFloat64(b, n)
		return nil
	case s.shape == asInt64 && s.width == 8 && s.signed && s.typ != arrowDecimal && !s.days && aligned(b):
		d.out.i64 = viewInt64(b, n)
		return nil
	}
	return d.w.fill(s.shape, n, n, d.out, func(v *vec) error { return convertArrow(s, b, d.out.valid, v) })
}

// convertArrow turns plain little-endian values into the delivered shape.
func convertArrow(s *storage, b, valid []byte, v *vec) error {
	switch {
	case s.typ == arrowFloat:
		for i := range v.f64 {
			switch s.width {
			case 2:
				v.f64[i] = float64(float16.FromBits(binary.LittleEndian.Uint16(b[2*i:])).Float32())
			case 4:
				v.f64[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
			default:
				v.f64[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			}
		}
	case s.typ == arrowDecimal:
		return arrowDecimals(s, b, valid, v)
	default:
		for i := range v.i64 {
			v.i64[i] = arrowInteger(s, b, i)
		}
	}
	return nil
}

// arrowDecimals reads little-endian two's complement numbers; the places of nulls may hold anything.
func arrowDecimals(s *storage, b, valid []byte, v *vec) error {
	leaf := pagewalk.Leaf{Type: pagewalk.FixedLen, TypeLen: s.width}
	leaf.Note.Scale = s.scale
	one := make([]byte, s.width)
	for i := range max(len(v.f64), len(v.i64)) {
		if valid != nil && !bitutil.BitIsSet(valid, i) {
			continue
		}
		for k := range one {
			one[k] = b[i*s.width+s.width-1-k]
		}
		if s.shape == asFloat64 {
			f, err := wideDecimal(one, &leaf)
			if err != nil {
				return err
			}
			v.f64[i] = f
			continue
		}
		x, ok := bigEndianInt(one)
		if !ok {
			return errDecimal
		}
		v.i64[i] = x
	}
	return nil
}

func arrowInteger(s *storage, b []byte, i int) int64 {
	switch {
	case s.width == 1 && s.signed:
		return int64(int8(b[i]))
	case s.width == 1:
		return int64(b[i])
	case s.width == 2 && s.signed:
		return int64(int16(binary.LittleEndian.Uint16(b[2*i:])))
	case s.width == 2:
		return int64(binary.LittleEndian.Uint16(b[2*i:]))
	case s.width == 4 && s.signed:
		return int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	case s.width == 4:
		return int64(binary.LittleEndian.Uint32(b[4*i:]))
	}
	v := int64(binary.LittleEndian.Uint64(b[8*i:]))
	switch {
	case !s.signed && v < 0:
		return math.MaxInt64
	case s.days:
		const day = 86_400_000
		q := v / day
		if v%day < 0 {
			q--
		}
		return q
	}
	return v
}
