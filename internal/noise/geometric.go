package noise

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
)

// Geometric draws how many trials fail before the first that succeeds.
//
// # Contract
//
// Draw returns g ≥ 0 with probability (1 − p)^g·p, exactly, where p = num/den; a
// value above math.MaxInt64 is returned as math.MaxInt64. The cost of a draw is
// bounded for every p. A Geometric is read only: goroutines may share it. Proof:
// geometric.proof.md.
type Geometric struct {
	q [2]*big.Int // 1 − p as a fraction

	// Where p is not small: the powers of 1 − p, to be searched.
	power []uint64 // words as in digit, down to the first power below 2^-8
	guide *[1 << guideBits]uint16

	// Else: blocks of trials.
	k     uint   // a block is 2^k trials, 2^k ≤ 1/p < 2^(k+1)
	block uint64 // (1 − p)^(2^k), as digit below
	digit [][256]uint64
}

// NewGeometric prepares draws with success probability num/den in (0, 1).
func NewGeometric(num, den uint64) (*Geometric, error) {
	if num == 0 || num >= den {
		return nil, errors.New("noise: a geometric draw needs a probability above 0 and below 1")
	}
	g := &Geometric{}
	g.q[0], g.q[1] = new(big.Int).SetUint64(den-num), new(big.Int).SetUint64(den)
	if den/num < searchBelow {
		g.prepareSearch()
	} else {
		g.prepareBlocks(num, den)
	}
	return g, nil
}

// prepareBlocks fills what drawBlocks needs.
func (g *Geometric) prepareBlocks(num, den uint64) {
	g.k = uint(bits.Len64(den/num)) - 1
	g.block = g.word(1 << g.k)
	// Lower bounds of (1 − p)^(d·256^i): each product loses a unit of 2^-w, the
	// base one, and an exponent of at most 2^63 makes at most 2^65 of them.
	const w = 256
	base := new(big.Int).Lsh(g.q[0], w)
	base.Quo(base, g.q[1])
	for i := uint(0); i < g.k; i += 8 {
		t := [256]uint64{0: math.MaxUint64}
		x := base
		for d := 1; d < 1<<min(8, g.k-i); d++ {
			t[d] = new(big.Int).Rsh(x, w-64).Uint64()
			x = mulDown(x, base, w)
		}
		g.digit, base = append(g.digit, t), x // base^256, where all 256 were made
	}
}

// Draw returns the number of failures before the next success.
func (g *Geometric) Draw(s *Source) uint64 {
	if g.guide != nil {
		return g.drawSearch(s)
	}
	return g.drawBlocks(s)
}

// drawBlocks counts the blocks without a success, then the trials.
func (g *Geometric) drawBlocks(s *Source) uint64 {
	var blocks uint64
	for g.fails(s, 1<<g.k, g.block, 2) {
		blocks++
	}
	r := s.Uint64() >> (64 - g.k) // 0 when k is 0
	for !g.failsWithin(s, r) {
		r = s.Uint64() >> (64 - g.k)
	}
	hi, lo := bits.Mul64(blocks, 1<<g.k)
	if hi > 0 || lo > math.MaxInt64-r {
		return math.MaxInt64
	}
	return lo + r
}

// failsWithin is true with probability (1 − p)^r, for r below 2^k.
func (g *Geometric) failsWithin(s *Source, r uint64) bool {
	if r == 0 {
		return true
	}
	low, err := g.digit[0][r&255], uint64(2)
	for i, rest := 1, r>>8; rest > 0; i, rest = i+1, rest>>8 {
		low, _ = bits.Mul64(low, g.digit[i][rest&255])
		err += 3 // two units for the factor, one for the truncation
	}
	return g.fails(s, r, low, err)
}

// fails is true with probability (1 − p)^r, which times 2^64 is known to lie in
// [low, low + err].
func (g *Geometric) fails(s *Source, r, low, err uint64) bool {
	w := s.Uint64()
	if w < low { // U < (w+1)/2^64 ≤ low/2^64
		return true
	}
	if w-low >= err { // U ≥ w/2^64 ≥ (low+err)/2^64
		return false
	}
	return s.belowReal(w, power{g.q, r})
}

// word returns a word c with c ≤ (1 − p)^e·2^64 ≤ c + 2.
func (g *Geometric) word(e uint64) uint64 {
	lo, _ := power{g.q, e}.at(128)
	if lo.Rsh(lo, 64); !lo.IsUint64() {
		return math.MaxUint64 // the power is 1, e is 0
	}
	return lo.Uint64()
}

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

// power is (q[0]/q[1])^e, q[0] ≤ q[1].
type power struct {
	q [2]*big.Int
	e uint64
}

// at works with enough guard bits that hi − lo is at most 2.
func (p power) at(prec uint) (lo, hi *big.Int) {
	w := prec + uint(bits.Len64(p.e)) + 8
	base := new(big.Int).Lsh(p.q[0], w)
	base.Quo(base, p.q[1])
	lo, hi = pow2(w), pow2(w)
	bLo, bHi := base, new(big.Int).Add(base, big.NewInt(1))
	for i := bits.Len64(p.e) - 1; i >= 0; i-- {
		lo, hi = mulDown(lo, lo, w), mulUp(hi, hi, w)
		if p.e>>uint(i)&1 == 1 {
			lo, hi = mulDown(lo, bLo, w), mulUp(hi, bHi, w)
		}
	}
	up := hi.Add(hi, pow2(w-prec)).Sub(hi, big.NewInt(1))
	return lo.Rsh(lo, w-prec), up.Rsh(up, w-prec)
}

// mulDown and mulUp multiply numbers scaled by 2^w, rounding down and up.
func mulDown(a, b *big.Int, w uint) *big.Int {
	p := new(big.Int).Mul(a, b)
	return p.Rsh(p, w)
}

func mulUp(a, b *big.Int, w uint) *big.Int {
	p := mulDown(a, b, w)
	return p.Add(p, big.NewInt(1))
}
