package table

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/bitutil"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
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

// number is a type that can store a value of fixed width.
type number interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// valuesOf views n stored values, or copies them if they are not aligned.
func valuesOf[T number](b []byte, n int) []T {
	if aligned(b) {
		return view[T](b, n)
	}
	out := make([]T, n)
	copy(bytesOf(out), b)
	return out
}

func widen[From, To number](to []To, b []byte) {
	for i, x := range valuesOf[From](b, len(to)) {
		to[i] = To(x)
	}
}

// readFloats reads floats of a width.
func readFloats(to []float64, width int, b []byte) {
	switch width {
	case 2:
		for i := range to {
			to[i] = half(binary.LittleEndian.Uint16(b[2*i:]))
		}
	case 4:
		widen[float32](to, b)
	default:
		copy(to, valuesOf[float64](b, len(to)))
	}
}

// half returns the value of a float of 16 bits: a sign, five bits of exponent, ten of fraction.
func half(b uint16) float64 {
	exponent, fraction := int(b>>10&0x1f), float64(b&0x3ff)
	var v float64
	switch {
	case exponent == 0x1f && fraction > 0:
		v = math.NaN()
	case exponent == 0x1f:
		v = math.Inf(1)
	case exponent == 0:
		v = math.Ldexp(fraction, -24)
	default:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	return math.Copysign(v, 1-float64(b>>15)*2)
}

// readInts reads integers of a width.
func readInts(to []int64, width int, signed bool, b []byte) {
	switch {
	case width == 1 && signed:
		widen[int8](to, b)
	case width == 1:
		widen[uint8](to, b)
	case width == 2 && signed:
		widen[int16](to, b)
	case width == 2:
		widen[uint16](to, b)
	case width == 4 && signed:
		widen[int32](to, b)
	case width == 4:
		widen[uint32](to, b)
	default:
		copy(to, valuesOf[int64](b, len(to)))
	}
}

// readBits reads booleans.
func readBits(to []int64, b []byte) {
	for i := range to {
		to[i] = int64(b[i>>3] >> (i & 7) & 1)
	}
}

// plain reads a Parquet page of values of fixed width. The bytes are exactly the values.
func (v *vec) plain(b []byte, l *pagewalk.Leaf) error {
	float := v.f64 != nil
	switch {
	case l.Note.Meaning == pagewalk.Decimal && (float || l.Type == pagewalk.FixedLen):
		return v.decimals(b, l.Width(), l.Note.Scale, l.Type != pagewalk.FixedLen, nil)
	case float && (l.Type == pagewalk.Float || l.Type == pagewalk.Double || l.Note.Meaning == pagewalk.Half):
		readFloats(v.f64, l.Width(), b)
	case !float && (l.Type == pagewalk.Int32 || l.Type == pagewalk.Int64):
		readInts(v.i64, l.Width(), l.Note.Meaning != pagewalk.Integer || l.Note.Signed, b)
	case !float && l.Type == pagewalk.Int96:
		for i := range v.i64 {
			nanos := int64(binary.LittleEndian.Uint64(b[i*12:]))
			day := int64(int32(binary.LittleEndian.Uint32(b[i*12+8:])))
			micros, err := int96Micros(day, nanos)
			if err != nil {
				return err
			}
			v.i64[i] = micros
		}
	default:
		return errUnsupportedType
	}
	return nil
}

var errUnsupportedType = fail(CodeUnsupported, "", "a physical type that is not read here")

const (
	julianEpoch = 2440588
	dayMicros   = 86_400_000_000
)

// int96Micros turns Impala's timestamp into microseconds. It cuts off nanoseconds.
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

// decimals reads two's complement numbers of a width. It skips the places of nulls, which may hold anything.
func (v *vec) decimals(b []byte, width, scale int, little bool, valid []byte) error {
	one := make([]byte, width)
	for i := range v.rows() {
		if valid != nil && !bitutil.BitIsSet(valid, i) {
			continue
		}
		copy(one, b[i*width:(i+1)*width])
		if little {
			slices.Reverse(one)
		}
		if err := v.decimal(i, one, scale); err != nil {
			return err
		}
	}
	return nil
}

// decimal sets a value to a big-endian number. A column of floats gets the number divided by its scale, rounded.
func (v *vec) decimal(i int, b []byte, scale int) error {
	if len(b) > maxDecimalBytes {
		return errDecimal
	}
	if v.f64 == nil {
		x, ok := bigEndianInt(b)
		if !ok {
			return errDecimal
		}
		v.i64[i] = x
		return nil
	}
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	v.f64[i], _ = new(big.Rat).SetFrac(x, tenTo(scale)).Float64()
	return nil
}

func tenTo(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
