package sgd

import (
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

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

// remainders predicts as the product does that is given exactly the rows: it adds the terms of the last one to three rows in
// another order.
func remainders(g *gradient, rows []float64, n int, w []float64) []float64 {
	dots := make([]float64, n)
	blas64.Gemv(blas.NoTrans, 0x1p-18, g.general(rows, n), blas64.Vector{N: g.m.width, Inc: 1, Data: w[1:]}, 0, blas64.Vector{N: n, Inc: 1, Data: dots})
	for i := range dots {
		dots[i] += w[0] * g.e.constant * 0x1p-18
	}
	return dots
}

// A prediction depends on the record and on the coefficients alone: it is the same to the last bit at each place of each number
// of rows, among other records, and for a batch and all records in order. Whatever lies behind the rows does not count.
func TestPredictionHasNoPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	moved := 0
	for width := 1; width <= 21; width++ {
		e, m := random(rng, 2*together, width, false)
		w := make([]float64, width+1)
		for j := range w {
			w[j] = rng.NormFloat64()
		}
		g := newGradient(e, m, 1)
		o := g.workers[0]
		want := map[int64]float64{}
		for n := 1; n <= together; n++ {
			sample := make([]int64, n)
			for i := range sample {
				sample[i] = rng.Int64N(m.n)
			}
			rows := o.side(m, sample, 0, n, nil)
			twin := remainders(g, rows, n, w)
			o.predict(g, rows, n, w)
			for i, r := range sample {
				if known, ok := want[r]; ok && known != o.dots[i] {
					t.Fatalf("width %d: record %d has another prediction at place %d of %d", width, r, i, n)
				}
				want[r] = o.dots[i]
				if twin[i] != o.dots[i] {
					moved++
				}
			}
			o.predict(g, o.side(m, nil, 0, n, nil), n, w)
			for i := range n {
				if known, ok := want[int64(i)]; ok && known != o.dots[i] {
					t.Fatalf("width %d: record %d of the table in order has another prediction, of %d", width, i, n)
				}
			}
		}
	}
	if moved == 0 && runtime.GOARCH == "amd64" {
		t.Error("a product of exactly the rows has no predictions that depend on their places: the twin is not found")
	}
}

// The falsifier looks for a record that moves the sum by more than the norm: the targets of some records lie so that a residual
// is half a unit, and what the last bit of a prediction is decides how it is rounded. The twin predicts as products of exactly
// the rows do, and is found.
func TestRecordsDoNotMoveOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	square := new(big.Int).Lsh(big.NewInt(1), 68)
	pairs, found, largest := 0, 0, 0.0
	for trial := range 4000 {
		width, n := 1+trial%9, 1+rng.IntN(9)
		e, m := random(rng, n+1, width, false)
		g := newGradient(e, m, 0.5)
		g.workers = g.workers[:1]
		o := g.workers[0]
		w := make([]float64, width+1)
		for j := range w {
			w[j] = rng.NormFloat64()
		}
		all := make([]int64, n+1)
		for i := range all {
			all[i] = int64(i)
		}
		for i, p := range remainders(g, o.side(m, all, 0, n+1, nil), n+1, w) {
			row := m.row(int64(i))
			row[width+1] = e.limit(row[:width])
			units := float64(rng.IntN(2000)-1000) + 0.5
			if i == n {
				units = 1 << 20 // the record that joins counts as much as it may
			}
			row[width] = p - units*0.5/coefficientSteps
		}
		move := func(predict func(sample []int64)) *big.Int {
			sums := [2][]int64{}
			for i, sample := range [][]int64{all[:n], all} {
				predict(sample)
				o.clipped(g, o.side(m, sample, 0, len(sample), nil), len(sample))
				o.settle()
				sums[i] = slices.Clone(o.total)
				clear(o.total)
			}
			return norm2(sums[0], sums[1])
		}
		pairs++
		if d := move(func(sample []int64) {
			o.predict(g, o.side(m, sample, 0, len(sample), nil), len(sample), w)
		}); d.Cmp(square) > 0 {
			t.Fatalf("trial %d: a record moves the sum by more than the norm at width %d", trial, width)
		}
		if d := move(func(sample []int64) {
			copy(o.dots, remainders(g, o.side(m, sample, 0, len(sample), nil), len(sample), w))
		}); d.Cmp(square) > 0 {
			f, _ := new(big.Float).SetInt(d).Float64()
			found, largest = found+1, math.Max(largest, math.Sqrt(f)/normSteps)
		}
	}
	t.Logf("the twin moves by more than the norm in %d of %d pairs, at most %.7f of it", found, pairs, largest)
	if found == 0 && runtime.GOARCH == "amd64" {
		t.Error("the twin is not found")
	}
}
