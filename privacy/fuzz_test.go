package privacy

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"
)

// builder turns bytes into an expression over the full ranges of parameters.
type builder struct{ b []byte }

func (g *builder) next() uint64 {
	if len(g.b) == 0 {
		return 0
	}
	var x [8]byte
	n := copy(x[:], g.b)
	g.b = g.b[min(n, 2):]
	return binary.LittleEndian.Uint64(x[:]) & 0xffff
}

// between is log-uniform in [lo, hi].
func (g *builder) between(lo, hi float64) float64 {
	w := float64(g.next()) / 0xffff
	return math.Min(hi, math.Max(lo, math.Exp(math.Log(lo)*(1-w)+math.Log(hi)*w)))
}

func (g *builder) count(hi float64) int64 { return max(1, int64(g.between(1, hi))) }

func (g *builder) sensitivity() Sensitivity {
	switch g.next() % 4 {
	case 0:
		return Sensitivity{AddRemove: 3}
	case 1:
		return Sensitivity{AddRemove: 2, ReplaceOne: 3}
	case 2:
		return Sensitivity{ReplaceOne: 5}
	}
	return Sensitivity{}
}

func (g *builder) event(depth int) Event {
	kinds := uint64(16)
	if depth <= 0 {
		kinds = 8
	}
	switch g.next() % kinds {
	case 0:
		return Gaussian{Sigma: g.between(1e-3, 1e6), Sensitivity: g.sensitivity()}
	case 1:
		return Laplace{Scale: g.between(1e-4, 1e12), Sensitivity: g.sensitivity()}
	case 2:
		return DiscreteGaussian{Sigma: g.between(1e-2, 1e9), Sensitivity: g.sensitivity(), Coordinates: int64(g.next() % 5)}
	case 3:
		return DiscreteLaplace{Scale: g.between(1e-2, 1e9), Sensitivity: g.sensitivity()}
	case 4:
		return Pure{g.between(1e-12, 1e4)}
	case 5:
		return Approx{g.between(1e-12, 1e4), g.between(1e-300, 0.5)}
	case 6:
		return ZCDP{g.between(1e-24, 1e6)}
	case 7:
		return RandomizedResponse{2 + int(g.count(1e5)), g.between(1e-12, 1e3)}
	case 8:
		n := 1 + g.next()%3
		var out []Event
		for range n {
			out = append(out, g.event(depth-1))
		}
		return Compose{out}
	case 9, 10:
		return Repeat{g.count(1e9), g.event(depth - 1)}
	case 11, 12:
		return Poisson{g.between(1e-12, 1), g.event(depth - 1)}
	case 13:
		of := g.count(1e12)
		return WithoutReplacement{min(of, g.count(1e12)), of, g.event(depth - 1)}
	case 14:
		return WithReplacement{g.count(1e6), g.count(1e9), g.event(depth - 1)}
	}
	var st []Stage
	for range 1 + g.next()%3 {
		of := g.count(1e4)
		take := min(of, g.count(1e4))
		s := Stage{Take: take, Of: of}
		if g.next()%4 == 0 {
			s.MaxTake = take + int64(g.next()%7)
		}
		st = append(st, s)
	}
	return Multistage{st, g.event(depth - 1)}
}

// slow is a time that no query may take, on whatever machine: it is for loops that do not end.
const slow = time.Minute

func FuzzAnswer(f *testing.F) {
	for i := range 12 {
		b := make([]byte, 48)
		for j := range b {
			b[j] = byte(i*131 + j*j*57 + j*i)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g := &builder{b}
		e := g.event(3)
		delta, eps := g.between(1e-300, 0.5), g.between(1e-12, 1e4)
		for _, rel := range []Relation{AddRemove, ReplaceOne} {
			start := time.Now()
			a, err := EpsilonAt(e, rel, delta)
			check(t, e, a, err, a.Epsilon, start)
			start = time.Now()
			a, err = DeltaAt(e, rel, eps)
			check(t, e, a, err, a.Delta, start)
		}
	})
}

// check holds an answer against what every answer must be.
func check(t *testing.T, e Event, a Answer, err error, x float64, start time.Time) {
	t.Helper()
	if d := time.Since(start); d > slow {
		t.Errorf("%#v: %v", e, d)
	}
	if err != nil {
		if !errors.Is(err, ErrUnbounded) {
			t.Errorf("%#v: %v", e, err)
		}
		return
	}
	if !(x >= 0) || math.IsInf(x, 0) || !(a.Lower >= 0 && a.Lower <= a.Upper) || a.Upper != x {
		t.Errorf("%#v: %+v", e, a)
	}
	for m, b := range a.Methods {
		if !(b.Epsilon >= 0) || math.IsInf(b.Epsilon, 0) || !(b.Delta >= 0 && b.Delta <= 1) {
			t.Errorf("%#v: %s: %+v", e, m, b)
		}
	}
}
