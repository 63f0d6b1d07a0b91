package median

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// naive is the formula of P13 as it is written, all pairs.
func naive(t table, m int, beta float64) float64 {
	best := 0.0
	for k := 0; k <= len(t.sorted)+1; k++ {
		widest := 0.0
		for i := 0; i <= k+1; i++ {
			widest = math.Max(widest, t.at(m+i)-t.at(m+i-k-1))
		}
		best = math.Max(best, math.Exp(-float64(k)*beta)*widest)
	}
	return best
}

func sortedTable(values []float64, lower, upper float64) table {
	v := slices.Clone(values)
	slices.Sort(v)
	return table{sorted: v, lower: lower, upper: upper}
}

// floorOf is the smallest floor that the contract allows.
func floorOf(t table) float64 { return (t.upper - t.lower) * 0x1p-42 }

func checkNaive(t *testing.T, what string, tab table, m int, beta float64) {
	t.Helper()
	floor := floorOf(tab)
	got := tab.smoothSensitivity(m, beta, floor)
	want, least := math.Max(floor, naive(tab, m, beta-guard(beta))), naive(tab, m, beta)
	if math.Abs(got/want-1) > 2e-12 || got < least {
		t.Fatalf("%s, n=%d m=%d beta=%g: %v, naive %v (%v)", what, len(tab.sorted), m, beta, got, want, got/want-1)
	}
}

// The search finds what the quadratic formula finds.
func TestSmoothSensitivityIsTheFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := []func() float64{
		rng.Float64,
		func() float64 { return float64(rng.IntN(4)) / 4 },                      // ties
		func() float64 { return float64(rng.IntN(2)) },                          // all at the bounds
		func() float64 { return 0.5 },                                           // all equal
		func() float64 { return 0 },                                             // all at one bound
		func() float64 { return 1 },                                             //
		func() float64 { return math.Min(1, 0.01*math.Exp(rng.NormFloat64())) }, // skewed
		func() float64 { return 0.5 + 1e-9*rng.NormFloat64() },                  // crowded
		func() float64 { return math.Exp2(-40 * rng.Float64()) },                // every scale
		func() float64 { // two clumps with a gap
			if rng.IntN(2) == 0 {
				return 0.2 + 0.01*rng.Float64()
			}
			return 0.8 + 0.01*rng.Float64()
		},
	}
	for trial := range 6000 {
		n := rng.IntN(60)
		if trial%40 == 0 {
			n = rng.IntN(400)
		}
		kind := rng.IntN(len(kinds))
		x := make([]float64, n)
		for i := range x {
			x[i] = kinds[kind]()
		}
		m := 0
		if n > 0 {
			m = 1 + rng.IntN(n)
		}
		beta := math.Exp(-9 * rng.Float64())
		checkNaive(t, fmt.Sprint("kind ", kind), sortedTable(x, 0, 1), m, beta)
	}
}

// Tables made to mislead the search for the best place: gaps that grow as fast as
// the weights fall, on one side, on both, and with steps.
func TestSmoothSensitivityOfAdversarialTables(t *testing.T) {
	for _, beta := range []float64{1e-4, 0.003, 0.02, 0.2, 1, 4} {
		for n := range 90 {
			for shape := range 5 {
				x := make([]float64, n)
				for i := range x {
					d := math.Expm1(beta*math.Abs(float64(i-n/2))) / math.Expm1(beta*float64(n+1))
					side := 1.0
					if i < n/2 {
						side = -1
					}
					switch shape {
					case 0:
						x[i] = 0.5 + side*d/2
					case 1:
						x[i] = 0.5 + math.Max(0, side*d/2)
					case 2:
						x[i] = 0.5 + math.Min(0, side*d/2)
					case 3:
						x[i] = 0.5 + side*math.Floor(d*8)/16
					case 4:
						x[i] = float64(i) / float64(n+1)
					}
				}
				tab := sortedTable(x, 0, 1)
				for _, m := range []int{min(n, 1), (n + 1) / 2, (9*n + 9) / 10, n} {
					checkNaive(t, fmt.Sprint("shape ", shape), tab, min(m, n), beta)
				}
			}
		}
	}
}

func TestSmoothSensitivityOfKnownTables(t *testing.T) {
	for name, c := range map[string]struct {
		x    []float64
		m    int
		beta float64
		want float64
	}{
		"nothing":       {nil, 0, 0.5, 1},
		"one value":     {[]float64{0.25}, 1, 0.5, 0.75},                                                   // the value may go to the upper bound
		"two points":    {[]float64{0, 1}, 1, 0.5, 1},                                                      // half at each bound
		"four zeros":    {[]float64{0, 0, 0, 0}, 2, 0.5, math.Exp(-1)},                                     // two values must go to the upper bound first
		"at the centre": {[]float64{.5, .5, .5, .5, .5}, 3, 1, 0.5 * math.Exp(-2)},                         // half the range, three wide
		"even spacing":  {[]float64{.1, .2, .3, .4, .5, .6, .7, .8, .9}, 5, 0.25, 0.4 * math.Exp(-0.25*3)}, // k+1 = 1/β
	} {
		tab := table{sorted: c.x, lower: 0, upper: 1}
		if got := tab.smoothSensitivity(c.m, c.beta, 1e-9); math.Abs(got/c.want-1) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	tab := table{sorted: make([]float64, 1000), lower: 0, upper: 1}
	if got := tab.smoothSensitivity(500, 1, 1e-9); got != 1e-9 {
		t.Errorf("all equal and far from the other bound: %v, want the floor", got)
	}
}

// neighbours calls visit with every table that differs by one value that was
// added, removed or replaced, over the given points.
func neighbours(x, points []float64, visit func([]float64)) {
	for _, p := range points {
		visit(append(slices.Clone(x), p))
	}
	for i := range x {
		visit(slices.Delete(slices.Clone(x), i, i+1))
		for _, p := range points {
			y := slices.Clone(x)
			y[i] = p
			visit(y)
		}
	}
}

// Every table of up to five values on five points, every neighbour under either
// relation: the quantile moves by at most S on both sides, and S by at most e^β.
func TestSmoothUnderBothRelations(t *testing.T) {
	points := []float64{0, 0.1, 0.5, 0.75, 1}
	ranks := []rank{{1, 2, .5}, {1, 10, .1}, {1, 4, .25}, {9, 10, .9}}
	var tables [][]float64
	var grow func(x []float64, from int)
	grow = func(x []float64, from int) {
		tables = append(tables, slices.Clone(x))
		if len(x) == 5 {
			return
		}
		for i := from; i < len(points); i++ {
			grow(append(x, points[i]), i)
		}
	}
	grow(nil, 0)
	for _, beta := range []float64{0.001, 0.3, 2} {
		for _, r := range ranks {
			for _, x := range tables {
				checkSmoothPairs(t, x, points, r, beta)
			}
		}
	}
}

func checkSmoothPairs(t *testing.T, x, points []float64, r rank, beta float64) {
	t.Helper()
	a := sortedTable(x, 0, 1)
	ma := r.place(len(x))
	sa := a.smoothSensitivity(ma, beta, floorOf(a))
	neighbours(x, points, func(y []float64) {
		b := sortedTable(y, 0, 1)
		mb := r.place(len(y))
		sb := b.smoothSensitivity(mb, beta, floorOf(b))
		moved := math.Abs(a.at(ma) - b.at(mb))
		if moved > math.Min(sa, sb) || sb > sa*math.Exp(beta) || sa > sb*math.Exp(beta) {
			t.Fatalf("p=%v β=%v %v → %v: moved %v, S %v → %v", r.value, beta, x, y, moved, sa, sb)
		}
	})
}

// Random tables with extreme, tied and missing neighbours.
func TestSmoothOnRandomNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 150 {
		x := make([]float64, rng.IntN(40))
		for i := range x {
			x[i] = math.Round(rng.Float64()*float64(1+rng.IntN(50))) / 50
			x[i] = math.Min(1, x[i])
		}
		r := rank{num: int64(1 + rng.IntN(19)), den: 20}
		checkSmoothPairs(t, x, []float64{0, 1, rng.Float64(), 0.5}, r, math.Exp(-8*rng.Float64()))
	}
}

// Ten million values cost little more than their sort, whatever they are.
func BenchmarkSmoothSensitivity(b *testing.B) {
	const n = 10_000_000
	x := make([]float64, n)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range x {
		x[i] = rng.Float64()
	}
	b.Run("sort", func(b *testing.B) {
		for range b.N {
			slices.Sort(slices.Clone(x))
		}
	})
	slices.Sort(x)
	grown := make([]float64, n) // gaps grow as the weights fall: nothing is pruned
	beta := 30.0 / n
	for i := range grown {
		d := math.Expm1(beta*math.Abs(float64(i-n/2))) / math.Expm1(beta*n/2)
		grown[i] = 0.5 + math.Copysign(d, float64(i-n/2))/2
	}
	for name, c := range map[string]struct {
		x    []float64
		beta float64
	}{"uniform": {x, 0.02}, "uniform-tiny-beta": {x, 2e-5}, "adversarial": {grown, math.Max(beta, 1e-5)}, "ties": {make([]float64, n), 1e-5}} {
		b.Run(name, func(b *testing.B) {
			tab := table{sorted: c.x, lower: 0, upper: 1}
			for range b.N {
				tab.smoothSensitivity(n/2, c.beta, 0x1p-41)
			}
		})
	}
}
