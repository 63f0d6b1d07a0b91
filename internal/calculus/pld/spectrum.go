package pld

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// unit is the unit roundoff of float64.
const unit = 0x1p-53

// tilted is the law of the sum under the tilt θ (density e^(θY-K) against P), on a
// window of n lattice points from y0 on. Each r is right to fault, except that the mass
// outside the window, wrapped, may have been added anywhere.
type tilted struct {
	theta, k float64
	y0, h    float64
	r        []float64
	fault    float64 // at any one point
	fault2   float64 // root of the sum of squares over all points
	beyond   float64 // tilted mass at or above the end of the window
	wrapped  float64 // tilted mass on either side of it
	top      int     // index of the largest loss of the sum, or beyond the window
	growth   float64 // relative error of every mass, from n-fold products
}

// workspace keeps transforms and buffers of one query.
type workspace struct {
	fft  *fourier.FFT
	buf  []float64
	coef []complex128
	all  []complex128
	size []float64
}

func (w *workspace) reset(n int) {
	if w.fft == nil || w.fft.Len() != n {
		w.fft = fourier.NewFFT(n)
		w.buf = make([]float64, n)
		w.coef = make([]complex128, n/2+1)
		w.all = make([]complex128, n/2+1)
		w.size = make([]float64, n/2+1)
	}
}

// niceLength is the least 2^a·3^b·5^c ≥ n with b, c ≤ 1: fast for the transform.
func niceLength(n float64) int {
	best := math.Inf(1)
	for _, m := range []float64{1, 3, 5, 15} {
		for m < n {
			m *= 2
		}
		best = math.Min(best, m)
	}
	return int(best)
}

// tails bounds P_θ(Y ≥ y) and P_θ(Y ≤ y) by Chernoff's inequality and returns the
// y on both sides where the bound is e^-digits, clipped to the support.
func (s *sum) tails(theta, digits float64) (lo, hi, massLo, massHi float64) {
	k, _, v := s.cumulants(theta)
	first, last := s.span()
	mass := math.Exp(-digits) * (1 + 1e-6)
	lo, hi, massLo, massHi = math.Inf(-1), math.Inf(1), mass, mass
	if v > 0 {
		z := math.Sqrt(2 * digits / v)
		for _, t := range []float64{z, z / 3, z / 9, z / 27, z / 81} {
			if a, _, _ := s.cumulants(theta + t); !math.IsInf(a, 0) && !math.IsNaN(a) {
				hi = math.Min(hi, (a-k+digits)/t)
			}
			if a, _, _ := s.cumulants(theta - t); !math.IsInf(a, 0) && !math.IsNaN(a) {
				lo = math.Max(lo, -(a-k+digits)/t)
			}
			if t == z && hi-lo < 4.5*digits/z {
				break // as narrow as a normal law: no other t does much better
			}
		}
	}
	if hi >= last || v == 0 {
		hi, massHi = last, 0
	}
	if lo <= first || v == 0 {
		lo, massLo = first, 0
	}
	return lo, hi, massLo, massHi
}

// transform computes the tilted law on a window that starts at or below lo and ends
// at or above hi.
func (s *sum) transform(theta, lo, hi, massLo, massHi float64, maxCells int, w *workspace) (*tilted, error) {
	if cells := (hi - lo) / s.h; !(cells+4 < float64(maxCells)) {
		return nil, errTooFine
	}
	n := niceLength((hi-lo)/s.h + 4)
	w.reset(n)
	out := &tilted{theta: theta, h: s.h, beyond: massHi, wrapped: massLo + massHi}
	_, last := s.span()
	var origin, steps float64 // of index 0 of the sum
	var all, swell float64
	eta := 16 * unit * (math.Log2(float64(n)) + 2)
	for i := range w.all {
		w.all[i], w.size[i] = 1, 0
	}
	// size collects log Π(|φ|+e)^n; relative collects Σ n·e/(|φ|+e).
	relative := make([]float64, len(w.all))
	for i := range s.parts {
		p := &s.parts[i]
		if s.work != nil {
			if err := s.work.add(50*float64(n) + 10*float64(len(p.p))); err != nil {
				return nil, err
			}
		}
		k, _, _ := p.cumulants(theta)
		out.k += p.n * k
		steps += p.n
		origin += p.n * (p.o + float64(p.lo+p.mid)*p.h)
		norm, center := p.fold(w.buf, theta, k, p.mid)
		w.fft.Coefficients(w.coef, w.buf)
		// The error of all coefficients together has the norm eta·√n·norm.
		e := eta*math.Sqrt(float64(n))*norm + unit
		all += p.n * (eta*norm + unit)
		swell += p.n * e
		for j, z := range w.coef {
			z += complex(center, 0)
			a := math.Hypot(real(z), imag(z))
			if w.size[j] += p.n * math.Log(a+e); w.size[j] < -80 {
				w.all[j] = 0
				continue
			}
			relative[j] += p.n * (e/(a+e) + 8*unit)
			w.all[j] *= power(z, a, p.n)
		}
	}
	errSum, sq, cut := w.faults(n, relative)
	w.fft.Sequence(w.buf, w.all)
	inv := 1 / float64(n)
	norm := math.Sqrt(sq * inv) // of the law itself
	out.fault2 = (all*math.Exp(swell) + (8*unit*steps+eta)*norm + math.Sqrt(cut*inv)) * (1 + 1e-3)
	out.fault = math.Min((errSum*inv+eta*norm)*(1+1e-6), out.fault2)
	start := math.Floor((lo-origin)/s.h) - 1
	out.y0 = origin + start*s.h
	shift := int(math.Mod(start, float64(n)))
	if shift < 0 {
		shift += n
	}
	out.r = make([]float64, n)
	for i := range out.r {
		j := shift + i
		if j >= n {
			j -= n
		}
		out.r[i] = w.buf[j] * inv
	}
	out.top = n
	if left := math.Round((last - out.y0) / s.h); left < float64(n) {
		out.top = max(-1, int(left))
	}
	out.growth = steps*2e-14 + float64(n)*4*unit + math.Abs(out.k)*4*unit
	if !(out.fault < 1 && out.growth < 1) {
		return nil, fmt.Errorf("%w: rounding swamps the tail (tilt %v)", ErrNotCertified, theta)
	}
	return out, nil
}

// faults returns the sum of the bounds of the errors of n coefficients, the sum of the squares of the
// coefficients, and that of those that were taken as 0.
func (w *workspace) faults(n int, relative []float64) (errSum, sq, cut float64) {
	for j := range w.all {
		double := 2.0
		if j == 0 || 2*j == n {
			double = 1
		}
		errSum += double * math.Exp(w.size[j]) * math.Min(2, relative[j]+1e-30)
		if w.size[j] < -80 {
			errSum += double * math.Exp(w.size[j])
			cut += double * math.Exp(2*w.size[j])
		}
		a := real(w.all[j])*real(w.all[j]) + imag(w.all[j])*imag(w.all[j])
		sq += double * a
	}
	return errSum, sq, cut
}

// power is z^n for |z| = a.
func power(z complex128, a, n float64) complex128 {
	if n == 1 {
		return z
	}
	if a == 0 {
		return 0
	}
	r := math.Exp(n * math.Log(a))
	sin, cos := math.Sincos(math.Mod(n*math.Atan2(imag(z), real(z)), 2*math.Pi))
	return complex(r*cos, r*sin)
}

// fold writes the tilted masses p·e^(θl-k) to buf, cell c at index 0 and indices
// taken modulo its length. The mass at index 0, the heaviest, is taken out: its
// transform is a constant and needs no rounding. The Euclidean norm of the others,
// to which the error of the transform is relative, is returned with it.
func (l *lattice) fold(buf []float64, theta, k float64, c int) (norm, center float64) {
	n := len(buf)
	clear(buf)
	at := (-c) % n
	if at < 0 {
		at += n
	}
	base, step := theta*l.first()-k, theta*l.h
	w, ratio := 0.0, math.Exp(step)
	if math.IsInf(ratio, 1) {
		ratio = 0
	}
	for j, p := range l.p {
		if j%16 == 0 || ratio == 0 {
			w = math.Exp(base + step*float64(j))
		}
		if p > 0 {
			if v := p * w; !math.IsNaN(v) && !math.IsInf(v, 1) {
				buf[at] += v
			}
		}
		w *= ratio
		if at++; at == n {
			at = 0
		}
	}
	center, buf[0] = buf[0], 0
	for _, v := range buf {
		norm += v * v
	}
	return math.Sqrt(norm), center
}
