package pipeline

import (
	"encoding/binary"
	"math"
)

// move is table.Direct.Move for this column: it writes values into the bounds, as clip
// leaves them, and refuses a NaN. It may be called by several goroutines at once.
// Values inside the bounds are the usual case: several of them are moved at once.
func (p *preparer) move(dst []float64, src []byte) (clipped int64, ok bool) {
	if math.Signbit(p.lower) || math.Signbit(p.upper) || p.upper < p.lower {
		return moveSigned(dst, src, p.lower, p.upper)
	}
	return moveUnsigned(dst, src, p.lower, p.upper)
}

// moveUnsigned is for bounds without a sign. Such floats are in the order of their bits,
// and whatever is negative or NaN has larger ones: one comparison of whole numbers says
// that a value is inside. Of what it does not say so, moveEach decides.
func moveUnsigned(dst []float64, src []byte, lo, hi float64) (clipped int64, ok bool) {
	base := math.Float64bits(lo)
	span := math.Float64bits(hi) - base
	i := 0
	for src = src[:8*len(dst)]; i+8 <= len(dst); i += 8 {
		s, d := src[8*i:8*i+64:8*i+64], dst[i:i+8:i+8]
		v0, v1 := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])
		v2, v3 := binary.LittleEndian.Uint64(s[16:]), binary.LittleEndian.Uint64(s[24:])
		v4, v5 := binary.LittleEndian.Uint64(s[32:]), binary.LittleEndian.Uint64(s[40:])
		v6, v7 := binary.LittleEndian.Uint64(s[48:]), binary.LittleEndian.Uint64(s[56:])
		if v0-base <= span && v1-base <= span && v2-base <= span && v3-base <= span &&
			v4-base <= span && v5-base <= span && v6-base <= span && v7-base <= span {
			d[0], d[1], d[2], d[3] = math.Float64frombits(v0), math.Float64frombits(v1), math.Float64frombits(v2), math.Float64frombits(v3)
			d[4], d[5], d[6], d[7] = math.Float64frombits(v4), math.Float64frombits(v5), math.Float64frombits(v6), math.Float64frombits(v7)
			continue
		}
		n, ok := moveEach(d, s, lo, hi)
		if clipped += n; !ok {
			return clipped, false
		}
	}
	n, ok := moveEach(dst[i:], src[8*i:], lo, hi)
	return clipped + n, ok
}

// moveSigned is for any bounds.
func moveSigned(dst []float64, src []byte, lo, hi float64) (clipped int64, ok bool) {
	i := 0
	for src = src[:8*len(dst)]; i+4 <= len(dst); i += 4 {
		s, d := src[8*i:8*i+32:8*i+32], dst[i:i+4:i+4]
		v0, v1 := math.Float64frombits(binary.LittleEndian.Uint64(s)), math.Float64frombits(binary.LittleEndian.Uint64(s[8:]))
		v2, v3 := math.Float64frombits(binary.LittleEndian.Uint64(s[16:])), math.Float64frombits(binary.LittleEndian.Uint64(s[24:]))
		if v0 >= lo && v0 <= hi && v1 >= lo && v1 <= hi && v2 >= lo && v2 <= hi && v3 >= lo && v3 <= hi {
			d[0], d[1], d[2], d[3] = v0, v1, v2, v3
			continue
		}
		n, ok := moveEach(d, s, lo, hi)
		if clipped += n; !ok {
			return clipped, false
		}
	}
	n, ok := moveEach(dst[i:], src[8*i:], lo, hi)
	return clipped + n, ok
}

// moveEach is move, value by value.
func moveEach(dst []float64, src []byte, lo, hi float64) (clipped int64, ok bool) {
	for i := range dst {
		f := math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
		switch {
		case f >= lo && f <= hi:
		case f < lo:
			f = lo
			clipped++
		case f > hi:
			f = hi
			clipped++
		default:
			return clipped, false
		}
		dst[i] = f
	}
	return clipped, true
}
