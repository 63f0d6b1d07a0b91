package linear

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Every lane of Add and Count computes what Value computes, to the last step.
func TestAddIsSumOfValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		low := (rng.Float64() - 0.5) * math.Exp2(float64(rng.IntN(40)-20))
		high := low + rng.ExpFloat64()*math.Exp2(float64(rng.IntN(40)-20))
		l := NewLattice([]float64{low, low + (high-low)/2, 0}[rng.IntN(3)], Step(math.Max(math.Abs(low), math.Abs(high)), high-low, 1<<32), 1, 9)
		b := Block{Rows: rng.IntN(50), Columns: make([]sdk.Values, 1)}
		x := make([]float64, b.Rows)
		b.Columns[0].Float64 = x
		if rng.IntN(2) == 0 {
			b.Weights = make([]float64, b.Rows)
		}
		if rng.IntN(2) == 0 {
			b.Cells = make([]int32, b.Rows)
		}
		want, counted := make([]int64, 3), make([]int64, 3)
		for i := range x {
			x[i] = math.Min(low+rng.Float64()*(high-low), high)
			w := 1.0
			if b.Weights != nil {
				b.Weights[i] = 10 * rng.Float64() // some are beyond the bounds
				w = math.Min(math.Max(b.Weights[i], 1), 9)
			}
			if b.Cells != nil {
				b.Cells[i] = int32(rng.IntN(4) - 1)
			}
			v := math.RoundToEven((x[i] - l.Centre) * w / l.Step)
			if lo, hi := l.Ends(low, high); int64(v) < lo || int64(v) > hi {
				t.Fatalf("%v with weight %v is %v, beyond [%v, %v]", x[i], w, v, lo, hi)
			}
			if c := b.Cell(i); c >= 0 {
				want[c] += int64(v)
				counted[c] += int64(math.RoundToEven(w * 8))
			}
		}
		got, count := make([]int64, 3), make([]int64, 3)
		l.Add(b, 0, got)
		NewLattice(0, 0.125, 1, 9).Count(b, count)
		for c := range want {
			if got[c] != want[c] || count[c] != counted[c] {
				t.Fatalf("cell %d: %d and %d, want %d and %d (%+v)", c, got[c], count[c], want[c], counted[c], b)
			}
		}
	}
}

// The total of a column is the sum of its values, however many there are and wherever they begin, for every lattice that Step
// chooses.
func TestTotal(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, width := range []float64{5e-324, 1e-308, 1, 1e100, 1e300} {
		for _, centre := range []float64{0, width / 2, -width} {
			l := NewLattice(centre, Step(width, width*math.Exp2(float64(rng.IntN(60)-30)), 1<<20), 1, 1)
			all := make([]float64, 200)
			for i := range all {
				all[i] = centre + (2*rng.Float64()-1)*width
			}
			for n := range len(all) {
				from, want := rng.IntN(len(all)-n), int64(0)
				for _, y := range all[from : from+n] {
					want += l.Value(y, 1)
				}
				if got := l.total(all[from : from+n]); got != want {
					t.Fatalf("%+v: %d values have the total %d, want %d", l, n, got, want)
				}
			}
		}
	}
}

// At the ends of float64 no row counts for more than the ends of the lattice say, which
// fit: the inverse of a subnormal step would be infinite.
func TestLatticeAtTheEndsOfFloat64(t *testing.T) {
	for _, c := range []sdk.Column{
		{Upper: 1e-308}, {Upper: 5e-324}, {Lower: 1e-320, Upper: 2e-320}, {Lower: -1e-300, Upper: 1e-300},
		{Lower: 1e100, Upper: math.Nextafter(1e100, 2e100)}, {Upper: 1e300}, {Lower: -1e307, Upper: 1e307},
	} {
		for _, epsilon := range []float64{1e-300, 1e-17, 1, 1e17, 1e300} {
			for _, rows := range []float64{1, 7, 1 << 32, 1 << 50} {
				width := c.Upper - c.Lower
				l := NewLattice(Middle(c), Step(width, width/epsilon, rows), 1, 1)
				low, high := l.Ends(c.Lower, c.Upper)
				for _, y := range []float64{c.Lower, c.Upper, c.Lower + width/2, c.Lower + width/3} {
					v := []int64{0}
					l.Add(Block{Rows: 1, Columns: []sdk.Values{{Float64: []float64{y}}}}, 0, v)
					if v[0] != l.Value(y, 1) || v[0] < low || v[0] > high || high-low > maxSteps || float64(high-low)*rows > 0x1p62 {
						t.Errorf("%+v, epsilon %g, %g rows: %g counts for %d, by value %d, beyond [%d, %d]", c, epsilon, rows, y, v[0], l.Value(y, 1), low, high)
					}
				}
			}
		}
	}
}

// The lattice is a power of two, and rounding to it does not show beside the noise.
func TestStep(t *testing.T) {
	for _, c := range [][4]float64{{1, 1, 1 << 32, 0x1p-20}, {1, 1e6, 1 << 32, 0x1p-10}, {1, 1e-6, 1 << 32, 0x1p-30}, {1, 1e-6, 8, 0x1p-40}, {1e-300, 1, 8, 0x1p-1000}} {
		if got := Step(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("Step%v = %v, want %v", c[:3], got, c[3])
		}
	}
}
