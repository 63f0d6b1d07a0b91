package table

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// Parse reads a text such as "2024-02-29", "2024-02-29T12:30:00", "12:30:00", "12.50", "true" or "37" as a value of the
// column's kind, as Values.Int64 holds it. It returns false if the text is no such value, or if the column's unit or scale
// cannot hold it.
func (c *Column) Parse(text string) (int64, bool) {
	return parseKey(c.Kind, c.Scale, c.Unit, c.Unsigned, text)
}

// Parse is Column.Parse for the values of a batch.
func (v *Values) Parse(text string) (int64, bool) {
	return parseKey(v.Kind, v.Scale, v.Unit, v.Unsigned, text)
}

func parseKey(kind Kind, scale int, unit Unit, unsigned bool, text string) (int64, bool) {
	switch kind {
	case Int:
		if unsigned {
			n, err := strconv.ParseUint(text, 10, 64)
			return int64(n), err == nil && strconv.FormatUint(n, 10) == text
		}
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil && strconv.FormatInt(n, 10) == text
	case Bool:
		return map[string]int64{"true": 1}[text], text == "true" || text == "false"
	case Decimal:
		r, ok := new(big.Rat).SetString(text)
		if !ok || strings.ContainsAny(text, "/eEpPxX_") {
			return 0, false
		}
		r.Mul(r, new(big.Rat).SetInt(tenTo(scale)))
		return r.Num().Int64(), r.IsInt() && r.Num().IsInt64()
	case Date:
		t, err := time.Parse(time.DateOnly, text)
		return t.Unix() / 86400, err == nil
	case Time:
		t, err := time.Parse("15:04:05", text)
		midnight := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
		n, ok := inUnit(0, int64(t.Sub(midnight)), unit)
		return n, err == nil && ok
	case Timestamp:
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, text); err == nil {
				return inUnit(t.Unix(), int64(t.Nanosecond()), unit)
			}
		}
	}
	return 0, false
}

// read reads a text of a CSV file, or of the name of a folder, as a value of the column.
func (c *Column) read(text string) (number float64, whole int64, ok bool) {
	switch c.Kind {
	case String:
		return 0, 0, true
	case Float:
		number, ok = parseNumber(text)
		return number, 0, ok
	case Bool:
		is, err := strconv.ParseBool(text)
		return 0, map[bool]int64{true: 1}[is], err == nil
	}
	whole, ok = c.Parse(text)
	return 0, whole, ok
}

// parseNumber reads a decimal number with a point, or inf or nan in any case. A number too large for a float64 is infinite.
func parseNumber(text string) (float64, bool) {
	if x, ok := plainNumber(text); ok {
		return x, true
	}
	if strings.ContainsAny(text, "_xXpP") { // other bases, and digits in groups
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// plainNumber reads a number of at most 19 digits without an exponent, and returns false for every other text. Its result is
// that of strconv.ParseFloat: m/10^k, rounded once.
func plainNumber(text string) (float64, bool) {
	digits := text
	if text != "" && (text[0] == '-' || text[0] == '+') {
		digits = text[1:]
	}
	n := len(digits)
	if n == 0 || n > 20 {
		return 0, false
	}
	// The characters from the end, eight in a word, and zeros in front of them. Those before a point move into its place.
	all := unsafe.Slice(unsafe.StringData(digits), n)
	high, middle, low := uint64(zeros), uint64(zeros), uint64(0)
	switch {
	case n >= 16:
		high, middle, low = behindZeros(wordAt(all, 0), 24-n), wordAt(all, n-16), wordAt(all, n-8)
	case n >= 8:
		middle, low = behindZeros(wordAt(all, 0), 16-n), wordAt(all, n-8)
	default:
		low = behindZeros(wordAt(all, 0), 8-n)
	}
	k := 0
	if p := pointIn(low); p < 8 {
		low, middle, high = without(low, p, middle), middle<<8|high>>56, high<<8|'0'
		k = 7 - p
	} else if p := pointIn(middle); p < 8 {
		middle, high = without(middle, p, high), high<<8|'0'
		k = 15 - p
	} else if p := pointIn(high); p < 8 {
		high = without(high, p, zeros)
		k = 23 - p
	} else if n == 20 {
		return 0, false
	}
	if others(high)|others(middle)|others(low) != 0 || n == 1 && digits == "." {
		return 0, false
	}
	x := quotient((eightDigits(high)*100_000_000+eightDigits(middle))*100_000_000+eightDigits(low), powersOfTen[k])
	if text[0] == '-' {
		x = -x
	}
	return x, true
}

const zeros = 0x3030303030303030 // eight digits

// behindZeros moves the characters of a word n places on and puts zeros in front of them. The last n are lost.
func behindZeros(word uint64, n int) uint64 { return word<<(8*n) | zeros>>(64-8*n) }

// pointIn returns the place of the first point in a word, 8 for none.
func pointIn(word uint64) int {
	const ones, points = 0x0101010101010101, 0x2e2e2e2e2e2e2e2e
	word ^= points
	return bits.TrailingZeros64((word-ones)&^word&(ones<<7)) / 8
}

// without takes character p out of a word: those before it move on, and behind the last one of the word before.
func without(word uint64, p int, before uint64) uint64 {
	front := uint64(1)<<(8*p) - 1
	return word&^(front<<8|0xff) | word&front<<8 | before>>56
}

// others is 0 for a word of eight digits.
func others(word uint64) uint64 {
	const high = 0xf0f0f0f0f0f0f0f0
	return (word&high ^ zeros) | ((word+0x0606060606060606)&high ^ zeros)
}

// eightDigits reads a word of digits, the first in its lowest byte.
func eightDigits(word uint64) uint64 {
	const pairs = 0x000000ff000000ff
	word -= zeros
	word = 10*word + word>>8 // each second byte is a number of two digits
	return (word&pairs*(100+1_000_000<<32) + word>>16&pairs*(1+10_000<<32)) >> 32
}

// wordAt reads the eight bytes at a place of a text, the first as the lowest. Behind the end there are zeros.
func wordAt(text []byte, at int) uint64 {
	switch left := len(text) - at; {
	case left >= 8:
		return binary.LittleEndian.Uint64(text[at:])
	case len(text) >= 8:
		return binary.LittleEndian.Uint64(text[len(text)-8:]) >> (64 - 8*left)
	}
	var last [8]byte
	copy(last[:], text[at:])
	return binary.LittleEndian.Uint64(last[:])
}

// powersOfTen are those that fit in 64 bits.
var powersOfTen = func() (p [20]uint64) {
	p[0] = 1
	for i := range p[1:] {
		p[i+1] = 10 * p[i]
	}
	return p
}()

// quotient returns m/d, rounded once, half to even: to a float64 from a quotient of at least 63 bits, whose last bit says
// whether anything is left. d is a power of ten below 2^64, so that the result is far from the ends of what a float64 holds.
func quotient(m, d uint64) float64 {
	if m < 1<<53 || d == 1 { // floats hold both numbers
		return float64(m) / float64(d)
	}
	up, down := bits.LeadingZeros64(d), bits.LeadingZeros64(m)
	m <<= down
	q, left := bits.Div64(m>>1, m<<63, d<<up) // m/d * 2^(63+down-up)
	if left != 0 {
		q |= 1
	}
	return float64(q) * math.Float64frombits(uint64(1023-63+up-down)<<52)
}

// Format writes value i as a text that Parse reads back. It returns false for a null, for a number that is not whole, and
// for a value that has no such text.
func (v *Values) Format(i int) (string, bool) {
	if v.Null(i) {
		return "", false
	}
	switch {
	case v.Codes != nil:
		return v.Dict[v.Codes[i]], true
	case v.Float64 != nil:
		x := v.Float64[i]
		return strconv.FormatFloat(x+0, 'f', 0, 64), x == math.Trunc(x) && math.Abs(x) <= 1<<53
	}
	text := formatKey(v.Kind, v.Scale, v.Unit, v.Unsigned, v.Int64[i])
	back, ok := v.Parse(text)
	return text, ok && back == v.Int64[i]
}

var perSecond = map[Unit]int64{Second: 1, Millisecond: 1e3, Microsecond: 1e6, Nanosecond: 1e9}

// formatKey is the inverse of parseKey, where that has one.
func formatKey(kind Kind, scale int, unit Unit, unsigned bool, n int64) string {
	per := perSecond[unit]
	switch {
	case kind == Int && unsigned:
		return strconv.FormatUint(uint64(n), 10)
	case kind == Int:
		return strconv.FormatInt(n, 10)
	case kind == Bool:
		return strconv.FormatBool(n != 0)
	case kind == Decimal:
		return new(big.Rat).SetFrac(big.NewInt(n), tenTo(scale)).FloatString(scale)
	case kind == Date:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(n)).Format(time.DateOnly)
	case kind == Time && per > 0:
		return time.Unix(0, n*(1e9/per)).UTC().Format("15:04:05.999999999")
	case kind == Timestamp && per > 0:
		return time.Unix(n/per, n%per*(1e9/per)).UTC().Format("2006-01-02T15:04:05.999999999")
	}
	return ""
}

// inUnit adds up seconds and nanoseconds. It returns false if the unit cannot hold the sum.
func inUnit(seconds, nanos int64, unit Unit) (int64, bool) {
	per := perSecond[unit]
	if per == 0 || nanos%(1e9/per) != 0 || seconds > math.MaxInt64/per-1 || seconds < math.MinInt64/per+1 {
		return 0, false
	}
	return seconds*per + nanos/(1e9/per), true
}
