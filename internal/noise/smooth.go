package noise

import (
	"errors"
	"math"
	"math/big"
)

// SmoothLaplace returns value + scale·Lap(1), the sum rounded to the nearest
// multiple of granularity.
//
// # Contract
//
// The result is the rounding of the real number value + scale·L, where L has
// the continuous Laplace density e^{−|x|}/2, exactly: there is no discretisation
// of L and no rounding before the last. So the release is post-processing of
// the real-valued mechanism of P13, and has its guarantee (P16). value and scale
// are taken as the rationals that they are. granularity must be a power of two
// and public; it must not depend on the data. The scale may be private.
//
// A lattice point that float64 cannot hold is rounded to the nearest that it
// can, and one beyond its range to the largest: post-processing again, so that
// no error depends on the draw. Proof: smooth_laplace.proof.md.
func SmoothLaplace(s *Source, value, scale, granularity float64) (float64, error) {
	if s == nil {
		return 0, errNoSource
	}
	if frac, _ := math.Frexp(granularity); frac != 0.5 {
		return 0, errors.New("noise: granularity must be a positive power of two")
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, errors.New("noise: the value to be noised must be finite")
	}
	if !(scale > 0) || math.IsInf(scale, 0) {
		return 0, errors.New("noise: the scale must be positive and finite: raise it to a public floor first")
	}
	g := exactRat(granularity)
	v := exactRat(value)
	v.Quo(v, g)
	b := exactRat(scale)
	b.Quo(b, g)
	if s.Uint64n(2) == 1 {
		b.Neg(b)
	}
	j := s.exponential().roundSum(s, v, b)
	if s.err != nil {
		return 0, s.err
	}
	out, _ := new(big.Rat).Mul(new(big.Rat).SetInt(j), g).Float64()
	return max(-math.MaxFloat64, min(math.MaxFloat64, out)), nil
}

// lazyExponential is a draw E of the exponential distribution, known to lie in
// [whole + frac/2^prec, whole + (frac+1)/2^prec]; the bits of E that follow are
// fair and still to be drawn.
type lazyExponential struct {
	whole uint64
	frac  *big.Int
	prec  uint
}

// exponential draws E from the density e^{−x} on x ≥ 0.
func (s *Source) exponential() *lazyExponential {
	e := &lazyExponential{whole: s.geometricExp1()}
	for {
		u := lazyUniform{s.Uint64()}
		if s.bernoulliExpUniform(&u) {
			e.frac, e.prec = u.prefix()
			return e
		}
	}
}

// roundSum returns the integer nearest to v + b·E, refining E until that is
// certain.
func (e *lazyExponential) roundSum(s *Source, v, b *big.Rat) *big.Int {
	for {
		lo := e.nearest(v, b, e.frac)
		hi := e.nearest(v, b, new(big.Int).Add(e.frac, big.NewInt(1)))
		if lo.Cmp(hi) == 0 {
			return lo
		}
		e.frac.Lsh(e.frac, 64).Or(e.frac, new(big.Int).SetUint64(s.Uint64()))
		e.prec += 64
	}
}

// nearest is floor(v + b·(whole + frac/2^prec) + 1/2).
func (e *lazyExponential) nearest(v, b *big.Rat, frac *big.Int) *big.Int {
	x := new(big.Rat).SetFrac(frac, pow2(e.prec))
	x.Add(x, new(big.Rat).SetInt(new(big.Int).SetUint64(e.whole)))
	x.Mul(x, b).Add(x, v).Add(x, big.NewRat(1, 2))
	return new(big.Int).Div(x.Num(), x.Denom()) // Euclidean; floor, for Denom > 0
}

// lazyUniform is the part of a uniform number in [0, 1) that was drawn so far: its first
// words of 64 bits.
type lazyUniform []uint64

func (u lazyUniform) prefix() (frac *big.Int, prec uint) {
	frac = new(big.Int)
	for _, w := range u {
		frac.Lsh(frac, 64).Or(frac, new(big.Int).SetUint64(w))
	}
	return frac, 64 * uint(len(u))
}

// bernoulliExpUniform is true with probability e^{−u} given u, and looks at no
// more of u than it draws into it.
func (s *Source) bernoulliExpUniform(u *lazyUniform) bool {
	for k := uint64(1); ; k++ {
		if !s.freshBelow(u) || (k > 1 && s.Uint64n(k) != 0) {
			return k&1 == 1
		}
	}
}

// freshBelow reports whether a fresh uniform is below u.
func (s *Source) freshBelow(u *lazyUniform) bool {
	for i := 0; ; i++ {
		if i == len(*u) {
			*u = append(*u, s.Uint64())
		}
		if w := s.Uint64(); w != (*u)[i] {
			return w < (*u)[i]
		}
	}
}
