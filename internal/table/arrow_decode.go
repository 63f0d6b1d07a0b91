package table

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/float16"

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
