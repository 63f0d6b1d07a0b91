package noise

import (
	"math"
	"math/big"
	"math/bits"
)

const (
	guideBits   = 10
	searchBelow = 1 << 10 // 1/p from which the table of powers is not worth its memory
)

// prepareSearch fills what drawSearch needs: words for (1 − p)^i, i = 0, 1, ..,
// down to the first below 2^-8, and, for each value of a word's first bits,
// where its search starts.
func (g *Geometric) prepareSearch() {
	// A lower bound in 128 bits: it loses less than 1 + 3 units of 2^-128 a step,
	// in under 6,000 steps, so its upper word is within 2 of the power.
	scaled := new(big.Int).Lsh(g.q[0], 128)
	scaled.Quo(scaled, g.q[1])
	low := new(big.Int).And(scaled, new(big.Int).SetUint64(math.MaxUint64))
	base := fraction128{hi: scaled.Rsh(scaled, 64).Uint64(), lo: low.Uint64()}
	g.power = append(make([]uint64, 0, 600), math.MaxUint64)
	for x := base; ; x = x.mulDown(base) {
		g.power = append(g.power, x.hi)
		if x.hi < 1<<56 {
			break
		}
	}
	g.guide = new([1 << guideBits]uint16)
	for b, i := len(g.guide)-1, 0; b >= 0; b-- {
		// The largest i with U < (1 − p)^i for every word that starts so.
		last := uint64(b+1)<<(64-guideBits) - 1 // for the last b, 2^64 − 1
		for i+1 < len(g.power) && last < g.power[i+1] {
			i++
		}
		g.guide[b] = uint16(i)
	}
}

// fraction128 is the number (hi·2^64 + lo)/2^128.
type fraction128 struct{ hi, lo uint64 }

// mulDown is at most a·b, and less than 3 units of 2^-128 below it.
func (a fraction128) mulDown(b fraction128) fraction128 {
	hi, lo := bits.Mul64(a.hi, b.hi)
	x, _ := bits.Mul64(a.hi, b.lo)
	y, _ := bits.Mul64(a.lo, b.hi)
	var carry uint64
	lo, carry = bits.Add64(lo, x, 0)
	hi += carry
	lo, carry = bits.Add64(lo, y, 0)
	return fraction128{hi + carry, lo}
}

// drawSearch finds i with (1 − p)^(i+1) ≤ U < (1 − p)^i. Beyond the table it
// starts anew: trials have no memory.
func (g *Geometric) drawSearch(s *Source) uint64 {
	last := len(g.power) - 1
	for base := uint64(0); ; base += uint64(last) {
		w := s.Uint64()
		i := int(g.guide[w>>(64-guideBits)])
		for i < last && g.reaches(s, w, i+1) {
			i++
		}
		if i < last {
			return base + uint64(i)
		}
	}
}

// reaches reports whether U < (1 − p)^i, for a uniform U that starts with w.
// Powers in the table are more than two words apart, so at most one of them asks
// for more bits of U.
func (g *Geometric) reaches(s *Source, w uint64, i int) bool {
	c := g.power[i]
	return w < c || w-c < 2 && s.belowReal(w, power{g.q, uint64(i)})
}
