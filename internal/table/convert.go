package table

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/float16"

	"github.com/dprelease/dprelease/internal/table/pagewalk"
)

const (
	maxDecimalBytes = 32
	maxDecimalScale = 77
)

var errDecimal = fail(CodeCorrupt, "", "a decimal does not fit the precision its column declares")

// shape says in which slice the values of a column arrive.
type shape int8

const (
	asInt64 shape = iota
	asFloat64
	asCodes
)

func shapeOf(c *Column) shape {
	switch {
	case c.Kind == String:
		return asCodes
	case c.Kind == Float || c.Kind == Decimal && c.Approximate:
		return asFloat64
	}
	return asInt64
}

// plainFloats converts plain values of fixed width into dst. The bytes are exactly the values.
func plainFloats(dst []float64, b []byte, l *pagewalk.Leaf) error {
	switch {
	case l.Note.Meaning == pagewalk.Decimal:
		w := l.Width()
		for i := range dst {
			v, err := wideDecimal(b[i*w:i*w+w], l)
			if err != nil {
				return err
			}
			dst[i] = v
		}
	case l.Type == pagewalk.Double:
		copy(dst, floatsOf(b, len(dst)))
	case l.Type == pagewalk.Float:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i*4:])))
		}
	case l.Note.Meaning == pagewalk.Half:
		for i := range dst {
			dst[i] = float64(float16.FromBits(binary.LittleEndian.Uint16(b[i*2:])).Float32())
		}
	default:
		return errUnsupportedType
	}
	return nil
}

var errUnsupportedType = fail(CodeUnsupported, "", "a physical type that is not read here")

// floatsOf is a view of the values, or a copy where they do not lie aligned.
func floatsOf(b []byte, n int) []float64 {
	if aligned(b) {
		return view[float64](b, n)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[i*8:]))
	}
	return out
}

// plainInts converts plain values of fixed width into dst.
func plainInts(dst []int64, b []byte, l *pagewalk.Leaf) error {
	switch l.Type {
	case pagewalk.Int32:
		if n := l.Note; n.Meaning == pagewalk.Integer && !n.Signed {
			for i := range dst {
				dst[i] = int64(binary.LittleEndian.Uint32(b[i*4:]))
			}
			return nil
		}
		for i := range dst {
			dst[i] = int64(int32(binary.LittleEndian.Uint32(b[i*4:])))
		}
	case pagewalk.Int64:
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint64(b[i*8:]))
		}
	case pagewalk.Int96:
		for i := range dst {
			nanos := int64(binary.LittleEndian.Uint64(b[i*12:]))
			day := int64(int32(binary.LittleEndian.Uint32(b[i*12+8:])))
			v, err := int96Micros(day, nanos)
			if err != nil {
				return err
			}
			dst[i] = v
		}
	case pagewalk.FixedLen:
		w := l.TypeLen
		for i := range dst {
			v, ok := bigEndianInt(b[i*w : i*w+w])
			if !ok {
				return errDecimal
			}
			dst[i] = v
		}
	default:
		return errUnsupportedType
	}
	return nil
}

const (
	julianEpoch = 2440588
	dayMicros   = 86_400_000_000
)

// int96Micros turns Impala's timestamp into microseconds; the nanoseconds below are cut off.
func int96Micros(julian, nanos int64) (int64, error) {
	days := julian - julianEpoch
	if days > math.MaxInt64/dayMicros-1 || days < math.MinInt64/dayMicros+1 || nanos < 0 || nanos >= dayMicros*1000 {
		return 0, fail(CodeCorrupt, "", "a timestamp lies outside what its type can say")
	}
	return days*dayMicros + nanos/1000, nil
}

// bigEndianInt reads a two's complement integer of any width that fits int64.
func bigEndianInt(b []byte) (int64, bool) {
	if len(b) == 0 {
		return 0, true
	}
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		if v > math.MaxInt64>>8 || v < math.MinInt64>>8 {
			return 0, false
		}
		v = v<<8 | int64(c)
	}
	return v, true
}

// wideDecimal returns the double nearest to a decimal of more than 18 digits.
func wideDecimal(b []byte, l *pagewalk.Leaf) (float64, error) {
	var x big.Int
	switch l.Type {
	case pagewalk.Int32:
		x.SetInt64(int64(int32(binary.LittleEndian.Uint32(b))))
	case pagewalk.Int64:
		x.SetInt64(int64(binary.LittleEndian.Uint64(b)))
	default:
		if len(b) > maxDecimalBytes {
			return 0, errDecimal
		}
		x.SetBytes(b)
		if len(b) > 0 && b[0] >= 0x80 {
			x.Sub(&x, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
		}
	}
	f, _ := new(big.Rat).SetFrac(&x, tenTo(l.Note.Scale)).Float64()
	return f, nil
}

func tenTo(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
