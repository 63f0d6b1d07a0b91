package noise

import "math/big"

// expNeg returns lo ≤ e^{−m}·2^prec ≤ hi with hi − lo ≤ 3, for m up to 2^16.
func expNeg(m uint, prec uint) (lo, hi *big.Int) {
	if m == 0 {
		return pow2(prec), pow2(prec)
	}
	w := prec + 64
	lo, hi = expNeg1(w)
	// Powers of the bounds bound the power; the error grows to at most m·2 units
	// of 2^-w, far below one unit of 2^-prec.
	return powDown(lo, m, w, prec), powUp(hi, m, w, prec)
}

// powDown is floor((x/2^w)^m·2^prec).
func powDown(x *big.Int, m, w, prec uint) *big.Int {
	p := new(big.Int).Exp(x, new(big.Int).SetUint64(uint64(m)), nil)
	return p.Rsh(p, w*m-prec)
}

// powUp is floor((x/2^w)^m·2^prec) + 1.
func powUp(x *big.Int, m, w, prec uint) *big.Int {
	return new(big.Int).Add(powDown(x, m, w, prec), big.NewInt(1))
}

// expNeg1 returns lo ≤ e^{−1}·2^w ≤ hi with hi − lo ≤ 2.
func expNeg1(w uint) (lo, hi *big.Int) {
	// Σ (−1)^k/k! over k ≤ n, as p/n! with p ← p·k + (−1)^k: the partial sums lie
	// above e^{−1} for even n, below for odd n, and differ from it by under 1/n!.
	p, f := big.NewInt(0), big.NewInt(1)
	for k := int64(2); ; k++ {
		f.Mul(f, big.NewInt(k))
		p.Mul(p, big.NewInt(k))
		if k%2 == 1 {
			p.Sub(p, big.NewInt(1))
			if f.BitLen() > int(w)+1 { // n! > 2^w, n odd
				lo = new(big.Int).Lsh(p, w)
				lo.Quo(lo, f)
				return lo, new(big.Int).Add(lo, big.NewInt(2))
			}
			continue
		}
		p.Add(p, big.NewInt(1))
	}
}
