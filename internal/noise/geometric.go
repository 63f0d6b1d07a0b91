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
// bounded whatever p. A Geometric is read only: goroutines may share it. Proof:
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
