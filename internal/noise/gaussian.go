package noise

import (
	"math"
	"math/big"
)

// AddDiscreteGaussian adds an independent draw of the discrete Gaussian distribution
// to each element of dst, in place. Sigma is in lattice steps.
//
// # Contract
//
// For each draw P(x) ∝ e^{−x²/2σ²} for every integer x, exactly, where σ is the rational
// number that the float64 sigma is, in [2^-40, 2^50] (P16). A proposal outside int64
// is an error; its probability is below e^{−8190}. On an error dst is cleared and must
// not be released: nothing half noised is left behind. Proof:
// discrete_gaussian.proof.md.
func AddDiscreteGaussian(s *Source, dst []int64, sigma float64) error {
	g, err := newGaussian(sigma)
	return s.add(dst, err, func() (int64, bool) { return s.discreteGaussian(g) })
}

// gaussian holds σ, the proposal's scale t = floor(σ) + 1, and two float64 values for the
// acceptance step. gap bounds their errors.
type gaussian struct {
	sigma  dyadic
	t      dyadic
	centre float64 // σ²/t, relative error below 2^-51
	twice  float64 // 2σ², relative error at most 2^-53
}

func newGaussian(sigma float64) (*gaussian, error) {
	d, err := exactScale("sigma", sigma)
	if err != nil {
		return nil, err
	}
	t := math.Floor(sigma) + 1
	square := float64(sigma * sigma)
	return &gaussian{sigma: d, t: dyadic{n: uint64(t)}, centre: square / t, twice: 2 * square}, nil
}

// discreteGaussian is one draw; ok is false where it leaves int64.
func (s *Source) discreteGaussian(g *gaussian) (x int64, ok bool) {
	for {
		// Canonne–Kamath–Steinke, algorithm 3.
		y, ok := s.discreteLaplace(g.t)
		if !ok {
			return 0, false
		}
		if s.bernoulliExpGap(g, y) {
			return y, true
		}
	}
}

// bernoulliExpGap is true with probability e^{−γ}, γ = (|y| − σ²/t)²/2σ².
//
// γ is known between two floats; a coin whose outcome they do not decide is
// decided by the exact rational instead, about once in 2^45 draws.
func (s *Source) bernoulliExpGap(g *gaussian, y int64) bool {
	lo, hi := g.gap(y)
	whole := math.Floor(lo)
	if !(hi < whole+1) { // γ's whole part is not certain
		num, den := g.exactGap(y)
		return s.bernoulliExpRat(num, den)
	}
	for n := whole; n > 0; n-- {
		if !s.bernoulliExp1() {
			return false
		}
	}
	// Exact: whole ≤ lo, hi ≤ 2·whole or whole = 0 (Sterbenz).
	lo, hi = lo-whole, hi-whole
	for k := uint64(1); ; k++ {
		if !s.belowGap(g, y, whole, lo, hi) || (k > 1 && s.Uint64n(k) != 0) {
			return k&1 == 1
		}
	}
}

// belowGap reports whether a fresh uniform is below γ − whole, which lies in
// [lo, hi].
func (s *Source) belowGap(g *gaussian, y int64, whole, lo, hi float64) bool {
	w := s.Uint64()
	u := float64(w >> 11) // exact: U·2^53 lies in [u, u+1), and u+1 is exact too
	if u+1 <= lo*(1<<53) {
		return true
	}
	if u >= hi*(1<<53) {
		return false
	}
	num, den := g.exactGap(y)
	num.Sub(num, new(big.Int).Mul(big.NewInt(int64(whole)), den))
	return s.below(w, num, den)
}

// gap returns floats lo ≤ γ ≤ hi, lo ≥ 0.
func (g *gaussian) gap(y int64) (lo, hi float64) {
	if y < 0 {
		y = -y
	}
	if y >= 1<<53 {
		return 0, math.Inf(1) // not exact as a float: the exact path decides
	}
	d := math.Abs(float64(y) - g.centre)
	// |d − D| ≤ e, where D is the true distance: the centre's error, and the
	// rounding of the subtraction.
	e := g.centre*0x1p-51 + d*0x1p-52
	v := float64(d*d) / g.twice
	// |d² − D²| ≤ e(2d + e); three roundings and that of twice are below
	// v·2^-50. The factor 2 covers the rounding of this very line.
	r := 2 * (e*(2*d+e)/g.twice + v*0x1p-50)
	return max(0, v-r), v + r
}

// exactGap is γ = (|y|·t·2^{2k} − n²)² / (2·n²·t²·2^{2k}), with σ = n/2^k.
func (g *gaussian) exactGap(y int64) (num, den *big.Int) {
	n := new(big.Int).SetUint64(g.sigma.n)
	n.Mul(n, n)
	t := new(big.Int).SetUint64(g.t.n)
	num = new(big.Int).Abs(big.NewInt(y))
	num.Mul(num, t).Lsh(num, 2*g.sigma.k).Sub(num, n)
	num.Mul(num, num)
	den = new(big.Int).Mul(n, t.Mul(t, t))
	return num, den.Lsh(den, 2*g.sigma.k+1)
}
