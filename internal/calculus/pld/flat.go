package pld

import "math"

// flat holds the tilted masses of the parts. It bounds their transforms at frequencies that
// are not computed.
type flat struct {
	s     *sum
	k     float64
	steps float64
	p     [][]float64
	mass  []float64 // total of each part: 1, up to rounding
	rough []float64 // total variation of the masses, Σ|p_(i+1)-p_i|
	bend  []float64 // total variation of their differences
	lags  [][]float64
	block []int // length of the blocks that lags compares
}

func newFlat(s *sum, theta float64) *flat {
	f := &flat{s: s}
	for i := range s.parts {
		l := &s.parts[i]
		k, _, _ := l.cumulants(theta)
		f.k += l.n * k
		f.steps += l.n
		p := make([]float64, len(l.p))
		base, step := theta*l.first()-k, theta*l.h
		w, ratio := 0.0, math.Exp(step)
		for j, q := range l.p {
			if j%16 == 0 || ratio > 1e10 {
				w = math.Exp(base + step*float64(j))
			}
			if q > 0 {
				p[j] = q * w
			}
			w *= ratio
		}
		var mass, rough, bend, one, two float64
		for _, x := range p {
			mass += x
			rough += math.Abs(x - one)
			bend += math.Abs(x - 2*one + two)
			one, two = x, one
		}
		f.p = append(f.p, p)
		f.mass = append(f.mass, mass)
		f.rough = append(f.rough, rough+one)
		f.bend = append(f.bend, bend+math.Abs(two-2*one)+one)
		c, g := lags(p)
		f.lags = append(f.lags, c)
		f.block = append(f.block, g)
	}
	return f
}

// lags are Σ P_B·P_(B+m) of the masses P of 64 blocks of g cells, which cover the
// heaviest cell and the bulk about it.
func lags(p []float64) (c []float64, g int) {
	const blocks = 64
	top := 0
	for i, x := range p {
		if x > p[top] {
			top = i
		}
	}
	from, to, mass := top, top+1, p[top]
	for (mass < 0.7 || to-from < blocks) && (from > 0 || to < len(p)) {
		if to == len(p) || from > 0 && p[from-1] > p[to] {
			from--
			mass += p[from]
		} else {
			mass += p[to]
			to++
		}
	}
	g = max(1, (to-from+blocks-1)/blocks)
	from = max(0, from-(blocks*g-(to-from))/2)
	var b [blocks]float64
	for i := range b {
		for j := from + i*g; j < min(len(p), from+(i+1)*g); j++ {
			b[i] += p[j]
		}
	}
	c = make([]float64, blocks)
	for m := 1; m < blocks; m++ {
		for i := 0; i+m < blocks; i++ {
			c[m] += b[i] * b[i+m]
		}
	}
	return c, g
}

// logSize bounds log|φ| of part i on the angles [a, b] (radians a cell), b ≤ π.
func (f *flat) logSize(i int, a, b float64) float64 {
	// Summation by parts: |φ|·|1-e^ia| ≤ Σ|p_(j+1)-p_j|, and once more.
	s := 2 * math.Sin(a/2)
	best := math.Min(0, math.Log(math.Min(f.rough[i]/s, f.bend[i]/(s*s))))
	// |φ|² ≤ mass² - Σ 2·c·(1-cos(lag·a)) over lags with lag·b ≤ π: pairs of blocks m
	// apart lie between g(m-1)+1 and g(m+1)-1 cells apart.
	g := float64(f.block[i])
	drop := 0.0
	for m := 1; m < len(f.lags[i]) && (g*float64(m+1)-1)*b <= math.Pi; m++ {
		h := math.Sin((g*float64(m-1) + 1) * a / 2)
		drop += 4 * f.lags[i][m] * h * h
	}
	if drop < 1 {
		best = math.Min(best, 0.5*math.Log1p(-drop))
	}
	// The mass is 1 up to rounding.
	return best + 1e-14*float64(len(f.p[i]))
}

// rest bounds (1/n)·Σ|Φ| over the frequencies above m.
func (f *flat) rest(m, n float64) float64 {
	total := 0.0
	for k := m + 1; k <= n/2; {
		next := math.Max(k+1, math.Min(math.Floor(k*1.2)+1, n/2+1))
		a, b := 2*math.Pi*k/n, math.Min(math.Pi, 2*math.Pi*(next-1)/n)
		log := 0.0
		for i := range f.p {
			log += f.s.parts[i].n * f.logSize(i, a, b)
		}
		total += 2 * (next - k) * math.Exp(math.Min(0, log))
		k = next
	}
	return total / n
}

// transform is Σ p_j·e^(-2πi·k·(j-mid)/n) of part i.
func (f *flat) transform(i int, k, n float64) complex128 {
	const chunk = 64
	var cos, sin [chunk]float64
	angle := 2 * math.Pi / n
	for j := range cos {
		sin[j], cos[j] = math.Sincos(angle * math.Mod(k*float64(j), n))
	}
	p, mid := f.p[i], float64(f.s.parts[i].mid)
	var re, im float64
	for j := 0; j < len(p); j += chunk {
		var a, b float64
		q := p[j:min(j+chunk, len(p))]
		for x, v := range q {
			a += v * cos[x]
			b += v * sin[x]
		}
		if a == 0 && b == 0 {
			continue
		}
		s, c := math.Sincos(angle * math.Mod(k*(float64(j)-mid), n))
		re += a*c - b*s
		im += a*s + b*c
	}
	return complex(re, -im)
}
