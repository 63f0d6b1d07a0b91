package noise

import "math/big"

// Everything random in this package is built from the events of this file. Each
// has exactly the probability it names; see bernoulli.proof.md.

// bernoulliExp1 is true with probability exp(−1).
func (s *Source) bernoulliExp1() bool {
	// Canonne–Kamath–Steinke, algorithm 1 at γ = 1; its first coin, 1/1, is sure.
	for k := uint64(2); ; k++ {
		if s.Uint64n(k) != 0 {
			return k&1 == 1
		}
	}
}

// geometricExp1 is v with probability (1 − 1/e)·exp(−v).
func (s *Source) geometricExp1() uint64 {
	var v uint64
	for s.bernoulliExp1() {
		v++
	}
	return v
}

// bernoulliExp is true with probability exp(−num/den), for 0 ≤ num ≤ den > 0.
func (s *Source) bernoulliExp(num, den uint64) bool {
	for k := uint64(1); ; k++ {
		// A coin of num/(den·k) is one of num/den and one of 1/k.
		if s.Uint64n(den) >= num || (k > 1 && s.Uint64n(k) != 0) {
			return k&1 == 1
		}
	}
}

// bernoulliExpRat is true with probability exp(−num/den), for num ≥ 0, den > 0.
func (s *Source) bernoulliExpRat(num, den *big.Int) bool {
	whole, rest := new(big.Int).QuoRem(num, den, new(big.Int))
	// A false coin ends the run, so a huge exponent costs no more than a small.
	for one := big.NewInt(1); whole.Sign() > 0; whole.Sub(whole, one) {
		if !s.bernoulliExp1() {
			return false
		}
	}
	for k := uint64(1); ; k++ {
		if !s.below(s.Uint64(), rest, den) || (k > 1 && s.Uint64n(k) != 0) {
			return k&1 == 1
		}
	}
}

// below reports whether U < num/den, for a uniform U in [0, 1) whose first 64
// bits are w; it draws further bits of U only while they are needed.
func (s *Source) below(w uint64, num, den *big.Int) bool {
	r := new(big.Int).Set(num)
	for t := new(big.Int); ; w = s.Uint64() {
		// U < num/den if and only if V < r/den with V = 2^64·U − w in [0, 1).
		r.Lsh(r, 64)
		r.Sub(r, t.Mul(t.SetUint64(w), den))
		if r.Sign() <= 0 {
			return false
		}
		if r.Cmp(den) >= 0 {
			return true
		}
	}
}

// bounded is a real number in [0, 1]: at(prec) returns lo and hi with
// lo ≤ x·2^prec ≤ hi, and hi − lo stays bounded as prec grows.
type bounded interface {
	at(prec uint) (lo, hi *big.Int)
}

// belowReal reports whether U < x, for a uniform U in [0, 1) whose first 64 bits
// are w. It draws further bits of U, and of x, until their order is certain.
func (s *Source) belowReal(w uint64, x bounded) bool {
	u, one := new(big.Int).SetUint64(w), big.NewInt(1)
	for prec := uint(64); ; prec += 64 {
		lo, hi := x.at(prec)
		if u.Cmp(hi) >= 0 {
			return false // U ≥ u·2^−prec ≥ x
		}
		if new(big.Int).Add(u, one).Cmp(lo) <= 0 {
			return true // U < (u+1)·2^−prec ≤ x
		}
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(s.Uint64()))
	}
}
