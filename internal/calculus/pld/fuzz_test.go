package pld

import (
	"errors"
	"math"
	"testing"
	"time"
)

// program builds a mechanism from bytes: a small stack machine over the whole range
// of parameters.
type program struct {
	data  []byte
	nodes int
}

func (p *program) next() byte {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return b
}

// between is log-uniform in [lo, hi].
func (p *program) between(lo, hi float64) float64 {
	x := (float64(p.next()) + float64(p.next())/256) / 256
	return math.Min(hi, lo*math.Pow(hi/lo, x))
}

func (p *program) mechanism(depth int) Mechanism {
	p.nodes++
	kind := p.next() % 14
	if depth == 0 || p.nodes > 6 {
		kind %= 7
	}
	switch kind {
	case 0:
		return Gaussian(p.between(0.02, 1e12))
	case 1:
		return Laplace(p.between(1e-4, 1e12))
	case 2:
		return DiscreteLaplace(p.between(1e-3, 1e9), int64(p.between(1, 4e3)))
	case 3:
		return DiscreteGaussian(p.between(0.1, 1e4), int64(p.between(1, 1e4)))
	case 4:
		return RandomizedResponse(2+int(p.next()), p.between(1e-12, 1e4))
	case 5:
		return Approx(p.between(1e-12, 1e4), p.between(1e-300, 0.5))
	case 6:
		x := p.between(0.05, 1e6)
		return PoissonReplace(p.between(1e-12, 1), Gaussian(x), Gaussian(x/2))
	case 7, 8:
		return Repeat(int64(p.between(1, 1e9)), p.mechanism(depth-1))
	case 9:
		return Poisson(p.between(1e-12, 1), p.mechanism(depth-1))
	case 10:
		return WithoutReplacement(p.between(1e-12, 1), p.mechanism(depth-1))
	case 11:
		return Mixture(p.between(1e-12, 1), p.mechanism(depth-1))
	}
	if kind == 12 {
		return PoissonReplace(p.between(1e-12, 1), p.mechanism(depth-1), Reverse(p.mechanism(depth-1)))
	}
	return Compose(p.mechanism(depth-1), p.mechanism(depth-1))
}

func tryProgram(t *testing.T, data []byte) (name string, took time.Duration) {
	t.Helper()
	p := &program{data: data}
	m := p.mechanism(3)
	at := p.between(1e-300, 0.5)
	epsilon := p.next()%3 != 0
	n, err := asNode(m)
	if err != nil {
		t.Fatalf("%v", err)
	}
	start := time.Now()
	var iv Interval
	if epsilon {
		iv, err = Epsilon(m, at, Options{})
	} else {
		at = p.between(1e-12, 1e4)
		iv, err = Delta(m, at, Options{})
	}
	took = time.Since(start)
	name = n.key()
	switch {
	case err != nil && !errors.Is(err, ErrWide) && !errors.Is(err, ErrNotCertified):
		t.Errorf("%s at %v: %v", name, at, err)
	case math.IsNaN(iv.Lower) || math.IsNaN(iv.Upper) || iv.Lower < 0 || iv.Upper < 0:
		t.Errorf("%s at %v: %v", name, at, iv)
	case err == nil && iv.Lower > iv.Upper:
		t.Errorf("%s at %v (epsilon %v): lower %v above upper %v", name, at, epsilon, iv.Lower, iv.Upper)
	case !epsilon && iv.Upper > 1:
		t.Errorf("%s at %v: delta %v", name, at, iv.Upper)
	case took > endless:
		t.Errorf("%s at %v: took %v", name, at, took)
	}
	return name, took
}

func FuzzQuery(f *testing.F) {
	f.Add([]byte{7, 128, 0, 9, 200, 0, 0, 120, 0, 250, 1})
	f.Add([]byte{12, 7, 90, 0, 1, 100, 0, 4, 3, 180, 0, 249, 0})
	f.Add([]byte{10, 230, 0, 12, 2, 90, 1, 80, 0, 3, 100, 0, 30, 0, 240, 9})
	f.Fuzz(func(t *testing.T, data []byte) { tryProgram(t, data) })
}
