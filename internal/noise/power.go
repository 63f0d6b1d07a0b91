package noise

import (
	"math/big"
	"math/bits"
)

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
