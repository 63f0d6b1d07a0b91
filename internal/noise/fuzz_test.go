package noise

import (
	"encoding/binary"
	"math"
	"testing"
)

// Pieces come from plugins: whatever they are, Select answers with a point of
// the range, or refuses.
func FuzzSelect(f *testing.F) {
	f.Add([]byte{}, 1.0)
	f.Add([]byte("\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00"), 0.5)
	f.Add([]byte("\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x80\x01\x00\x00\x00\x00\x00\x00\x7f"), 0x1p-1074)
	f.Add([]byte("abcdefghijklmnopqrstuvwxyz0123456789"), 1e300)
	f.Fuzz(func(t *testing.T, b []byte, rate float64) {
		// Twelve bytes a piece: its length, and its score.
		pieces, at := []Piece{}, int64(-1<<40)
		for ; len(b) >= 12; b = b[12:] {
			size := int64(int32(binary.LittleEndian.Uint32(b))) // negative: malformed
			pieces = append(pieces, Piece{Lo: at, Hi: at + size, Score: int64(binary.LittleEndian.Uint64(b[4:])), Slope: int64(int8(b[7])) * int64(b[0]&1)})
			at += size + 1
		}
		x, err := Select(newSourceT(t), pieces, rate)
		if err == nil && pieceOf(pieces, x) < 0 {
			t.Errorf("drew %d, in none of the pieces", x)
		}
		if valid := rate > 0 && !math.IsInf(rate, 0) && len(pieces) > 0; err == nil && !valid {
			t.Error("drew from nothing")
		}
	})
}

// Values and scales come from plugins too: the result is finite and on the
// lattice, or the call is refused.
func FuzzSmoothLaplace(f *testing.F) {
	f.Add(0.0, 1.0, 10)
	f.Add(1e308, 5e-324, -1074)
	f.Add(-5e-324, 1e308, 1023)
	f.Add(math.NaN(), math.Inf(1), 0)
	f.Fuzz(func(t *testing.T, value, scale float64, exponent int) {
		g := math.Ldexp(1, max(-1100, min(1100, exponent)))
		x, err := SmoothLaplace(newSourceT(t), value, scale, g)
		if err != nil {
			return
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Errorf("%g, %g, %g gives %g", value, scale, g, x)
		}
		if r := math.Mod(x, g); r != 0 && math.Abs(x) != math.MaxFloat64 {
			t.Errorf("%g is off the lattice of %g", x, g)
		}
	})
}
