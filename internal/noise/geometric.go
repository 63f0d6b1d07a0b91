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
// value above math.MaxInt64 is returned as math.MaxInt64. The cost does not
// depend on p. Proof: geometric.proof.md.
type Geometric struct {
	q     [2]*big.Int // 1 − p as a fraction
	k     uint        // a block is 2^k trials, 2^k ≤ 1/p < 2^(k+1)
	block uint64      // (1 − p)^(2^k), as digit below
	digit [][256]uint64
}

// NewGeometric prepares draws with success probability num/den in (0, 1).
func NewGeometric(num, den uint64) (*Geometric, error) {
	if num == 0 || num >= den {
		return nil, errors.New("noise: a geometric draw needs a probability above 0 and below 1")
	}
	g := &Geometric{k: uint(bits.Len64(den/num)) - 1}
	g.q[0], g.q[1] = new(big.Int).SetUint64(den-num), new(big.Int).SetUint64(den)
	g.block = g.word(1 << g.k)
	for i := uint(0); i < g.k; i += 8 {
		var t [256]uint64
		for d := range 1 << min(8, g.k-i) {
			t[d] = g.word(uint64(d) << i)
		}
		g.digit = append(g.digit, t)
	}
	return g, nil
}

// Draw returns the number of failures before the next success.
func (g *Geometric) Draw(s *Source) uint64 {
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
