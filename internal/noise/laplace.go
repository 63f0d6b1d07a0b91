package noise

import (
	"errors"
	"math/bits"
)

// ErrOverflow says that a sum, or a draw, left int64. It depends on the data:
// report it as a fixed code only (P20).
var ErrOverflow = errors.New("noise: the noisy value does not fit in int64")

// AddDiscreteLaplace adds an independent draw of the discrete Laplace distribution to
// each element of dst, in place. The scale is in lattice steps.
//
// # Contract
//
// For each draw P(x) = (e^{1/t} − 1)/(e^{1/t} + 1) · e^{−|x|/t} for every integer x,
// exactly, where t is the rational number that the float64 scale is, in [2^-40, 2^50]
// (P16). A draw outside int64 is an error; its probability is below e^{−8190}. On an
// error dst is cleared and must not be released: nothing half noised is left behind.
// Proof: discrete_laplace.proof.md.
func AddDiscreteLaplace(s *Source, dst []int64, scale float64) error {
	t, err := exactScale("the Laplace scale", scale)
	return s.add(dst, err, func() (int64, bool) { return s.discreteLaplace(t) })
}

// add adds a draw to each element of dst, unless the scale is wrong.
func (s *Source) add(dst []int64, wrong error, draw func() (x int64, ok bool)) error {
	err := wrong
	if s == nil {
		err = errNoSource
	}
	for i := 0; i < len(dst) && err == nil; i++ {
		v := dst[i]
		x, ok := draw()
		if dst[i] = v + x; !ok || overflows(v, x, dst[i]) {
			err = ErrOverflow
		}
	}
	if err == nil {
		err = s.err
	}
	if err != nil {
		clear(dst)
	}
	return err
}

// overflows reports whether sum is not a + b.
func overflows(a, b, sum int64) bool { return (a^sum)&(b^sum) < 0 }

// discreteLaplace is one draw; ok is false where it leaves int64.
func (s *Source) discreteLaplace(t dyadic) (x int64, ok bool) {
	for {
		y, ok := s.geometricExp(t)
		if !ok {
			return 0, false
		}
		if s.Uint64n(2) == 0 {
			return y, true
		}
		if y != 0 { // −0 is 0, which must not count twice
			return -y, true
		}
	}
}

// geometricExp is y ≥ 0 with probability (1 − e^{−1/t})·e^{−y/t}.
func (s *Source) geometricExp(t dyadic) (y int64, ok bool) {
	// u + n·v is geometric with ratio e^{−1/n}: u in [0, n) with P ∝ e^{−u/n} by
	// rejection, v with ratio e^{−1}.
	u := s.Uint64n(t.n)
	for !s.bernoulliExp(u, t.n) {
		u = s.Uint64n(t.n)
	}
	hi, lo := bits.Mul64(t.n, s.geometricExp1())
	lo, carry := bits.Add64(lo, u, 0)
	hi += carry
	// floor((u + n·v)/2^k) is geometric with ratio e^{−2^k/n} = e^{−1/t}.
	switch {
	case t.k >= 64:
		lo, hi = hi>>(t.k-64), 0
	case t.k > 0:
		lo, hi = lo>>t.k|hi<<(64-t.k), hi>>t.k
	}
	return int64(lo), hi == 0 && int64(lo) >= 0
}
