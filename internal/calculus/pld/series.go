package pld

import "math"

// series is the tilted law of a sum of many smooth parts, as its few Fourier coefficients
// that are not negligible: coef[k] belongs to the frequency k/n. It describes a window of n
// lattice points, as tilted does, without storing them.
type series struct {
	theta, k float64
	y0, h, n float64
	coef     []complex128
	fault    float64 // error of the law at each point
	beyond   float64
	wrapped  float64
	top      float64
	growth   float64
}

// series returns nil where the law has too many coefficients, or where the others have no
// bound.
func (s *sum) series(theta, lo, hi, massLo, massHi float64) *series {
	n := math.Ceil((hi-lo)/s.h) + 4
	if !(n < 1e12) {
		return nil
	}
	_, _, v := s.cumulants(theta)
	f := newFlat(s, theta)
	out := &series{theta: theta, k: f.k, h: s.h, n: n, beyond: massHi, wrapped: massLo + massHi}
	// The cost of a Fourier transform of length n, in the same units.
	limit := math.Min(60*n, 1.5e8)
	m := math.Ceil(6.5 / math.Sqrt(v) * n * s.h / (2 * math.Pi))
	var rest float64
	for try := 0; ; try++ {
		if try == 12 || !(m*float64(s.cells()+4000) < limit) || m > 1<<17 || m > n/2 || m < 1 {
			return nil
		}
		if rest = f.rest(m, n); rest < 1e-11/n {
			break
		}
		m = math.Ceil(m * 1.4)
	}
	if s.work != nil && s.work.add(1.5*m*float64(s.cells()+4000)) != nil {
		return nil
	}
	origin := 0.0
	for i := range s.parts {
		p := &s.parts[i]
		origin += p.n * (p.o + float64(p.lo+p.mid)*p.h)
	}
	start := math.Floor((lo-origin)/s.h) - 1
	out.y0 = origin + start*s.h
	_, last := s.span()
	out.top = math.Min(n-1, math.Round((last-out.y0)/s.h))
	out.coef = make([]complex128, int(m)+1)
	errSum := rest * n
	for k := range out.coef {
		z, logSize, relative := complex(1, 0), 0.0, 0.0
		for i := range f.p {
			w := f.transform(i, float64(k), n)
			a := math.Hypot(real(w), imag(w))
			e := 160 * unit * f.mass[i]
			logSize += s.parts[i].n * math.Log(a+e)
			relative += s.parts[i].n * (e/(a+e) + 8*unit)
			z *= power(w, a, s.parts[i].n)
		}
		if k == 0 {
			errSum += math.Exp(logSize) * math.Min(2, relative)
		} else {
			errSum += 2 * math.Exp(logSize) * math.Min(2, relative)
		}
		// Shift the window to start at its first point.
		sin, cos := math.Sincos(2 * math.Pi * math.Mod(float64(k)*math.Mod(start, n), n) / n)
		out.coef[k] = z * complex(cos, sin)
	}
	out.fault = errSum / n * (1 + 1e-6)
	out.growth = f.steps*2e-14 + 1e-12 + math.Abs(out.k)*4*unit
	if !(out.fault < 1 && out.growth < 1) {
		return nil
	}
	return out
}

// finite is Σ mass_j·e^(-θ(y_j-y_i))·(1-e^(y_i-y_j)) over the window above i, and the
// bound of what it may be off by.
func (t *series) finite(i float64) (sum, off float64) {
	count := t.top - i
	if count <= 0 {
		return 0, 0
	}
	weight := 0.0 // Σ e^(-θhx)(1-e^-hx), which meets the fault of every point
	for k, c := range t.coef {
		f := float64(k)
		g := t.weights(2*math.Pi*f/t.n, 2*math.Pi*math.Mod(f*count, t.n)/t.n, count)
		sin, cos := math.Sincos(2 * math.Pi * math.Mod(f*i, t.n) / t.n)
		// The law at index j is Σ coef·e^(2πi·k·j/n)/n over k = -m..m.
		term := real(c * complex(cos, sin) * g)
		size := (math.Abs(real(g)) + math.Abs(imag(g))) * (math.Abs(real(c)) + math.Abs(imag(c)))
		if k > 0 {
			sum, off = sum+2*term, off+2*size
		} else {
			sum, off, weight = sum+term, off+size, real(g)
		}
	}
	return sum / t.n, off/t.n*1e-12 + t.fault*weight*(1+1e-9)
}

// weights is Σ_{x=1..count} e^((iα-θh)x)·(1-e^(-hx)), end = α·count modulo 2π. With
// z = e^(iα-θh), w = z^count, r = e^-h and R = r^count it is
// z·((1-w)(1-r) - r(1-z)w(1-R)) / ((1-z)(1-zr)): nothing cancels.
func (t *series) weights(alpha, end, count float64) complex128 {
	b := t.theta * t.h
	r, r1, rest := math.Exp(-t.h), -math.Expm1(-t.h), -math.Expm1(-t.h*count)
	if b == 0 && alpha == 0 {
		return complex(count-r*rest/r1, 0)
	}
	z, z1 := turn(b, alpha)
	w, w1 := turn(b*count, end)
	// 1-zr = (1-z) + z(1-r).
	zr1 := z1 + z*complex(r1, 0)
	return z * (w1*complex(r1, 0) - complex(r*rest, 0)*z1*w) / (z1 * zr1)
}

// turn is z = e^(ia-b) and 1-z, both relative to themselves.
func turn(b, a float64) (z, rest complex128) {
	sin, cos := math.Sincos(a)
	half := math.Sin(a / 2)
	e := math.Exp(-b)
	return complex(e*cos, e*sin), complex(-math.Expm1(-b)*cos+2*half*half, -e*sin)
}
