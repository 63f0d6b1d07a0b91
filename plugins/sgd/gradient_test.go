package sgd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/plugins/features"
)

// random is an encoded table of its own making.
func random(rng *rand.Rand, rows, width int, logistic bool) (*encoder, *matrix) {
	e := &encoder{logistic: logistic, Set: features.Set{Width: width}, radius: math.Sqrt(float64(1 + width))}
	e.steps = math.Ldexp(1/e.radius, rowBits)
	e.constant = math.RoundToEven(e.steps)
	m := newMatrix(width)
	one := make([]float64, m.stride)
	for i := range rows {
		clear(one)
		if i%17 != 3 { // else empty
			for j := range width {
				one[j] = math.RoundToEven((2*rng.Float64() - 1) * e.steps)
			}
			one[width] = float64(rng.IntN(2))
			one[width+1] = e.limit(one[:width])
		}
		m.add(one)
	}
	return e, m
}

// naive is the sum, record by record, in integers.
func naive(e *encoder, m *matrix, clip float64, sample []int64, w []float64) []int64 {
	out := make([]int64, m.width+1)
	for _, i := range sample {
		r := m.row(i)
		p := w[0] * e.constant * 0x1p-18
		for j := range m.width {
			p += w[j+1] * 0x1p-18 * r[j]
		}
		if e.logistic {
			p = 1 / (1 + math.Exp(-p))
		}
		unit := int64(math.Max(-r[m.width+1], math.Min(r[m.width+1], math.RoundToEven((p-r[m.width])*coefficientSteps/clip))))
		out[0] += unit * int64(e.constant)
		for j := range m.width {
			out[j+1] += unit * int64(r[j])
		}
	}
	return out
}

// The blocked, parallel sum is the plain one to a unit per record, the rounding of
// the products that make the prediction; and exactly the same for every number of
// workers and every order.
func TestGradientIsTheSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct{ rows, width int }{{1, 1}, {63, 2}, {64, 5}, {65, 32}, {9000, 7}, {20000, 33}} {
		e, m := random(rng, c.rows, c.width, c.rows%2 == 0)
		w := make([]float64, c.width+1)
		for j := range w {
			w[j] = rng.NormFloat64() * 3
		}
		var sample []int64
		for i := range c.rows {
			if rng.IntN(3) > 0 {
				sample = append(sample, int64(i))
			}
		}
		g := newGradient(e, m, 0.5)
		got := slices.Clone(g.over(sample, w))
		for j, want := range naive(e, m, 0.5, sample, w) {
			if math.Abs(float64(got[j]-want)) > float64(len(sample))*e.steps {
				t.Fatalf("%+v, coordinate %d: %d, want %d", c, j, got[j], want)
			}
		}
		g.workers = g.workers[:1]
		if one := g.over(sample, w); !slices.Equal(one, got) {
			t.Fatalf("%+v: one worker makes another sum", c)
		}
		all := make([]int64, c.rows)
		for i := range all {
			all[i] = int64(i)
		}
		everything := slices.Clone(newGradient(e, m, 0.5).over(nil, w))
		if whole := newGradient(e, m, 0.5).over(all, w); !slices.Equal(whole, everything) {
			t.Fatalf("%+v: all records and the batch of all records differ", c)
		}
		for _, v := range g.over([]int64{}, w) {
			if v != 0 {
				t.Fatalf("%+v: the empty batch sums to %d", c, v)
			}
		}
	}
}
