package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// squaredRows are all rows of Squared.
func squaredRows(low, high, d int64) (rows [][]int64) {
	for v := low; v <= high; v++ {
		rows = append(rows, []int64{v, v * v / d})
	}
	return rows
}

// Every unit of rows with their squares, with vectors side by side, and with a number in one
// of several parts. A reach that forgets the squares, or takes them for smaller, is refuted.
func TestReachOfSquares(t *testing.T) {
	type example struct {
		name          string
		reach, forget sdk.Reach
		rows          [][]int64
	}
	var all []example
	for _, b := range [][2]int64{{0, 3}, {-3, 3}, {-2, 5}, {4, 6}, {-5, -3}} {
		m := max(-b[0], b[1])
		for _, d := range []int64{m, m + 1, 2 * m, 3 * m} {
			forget := Scalar(b[0], b[1])
			forget.Parts, forget.Touch = 2, 2
			all = append(all, example{fmt.Sprint("squared ", b, d), Squared(b[0], b[1], d), forget, squaredRows(b[0], b[1], d)})
		}
	}
	var side [][]int64
	for v := int64(-2); v <= 2; v += 2 {
		for s := range int64(2) {
			for _, h := range [][2]int64{{v / 2, 0}, {0, v / 2}} {
				side = append(side, []int64{v, s, h[0], h[1]})
			}
		}
	}
	box := Box([2]int64{-2, 2}, [2]int64{0, 1})
	wider := box
	wider.Parts, wider.Touch = 4, 3
	all = append(all, example{"side by side", Beneath(box, Single(2, 1)), wider, side})

	refuted := map[string]bool{}
	for _, x := range all {
		for _, u := range worlds() {
			if u.Cells > 2 || len(x.rows) > 7 && u.Groups*u.Rows > 2 {
				continue // as many vectors as a test can try
			}
			if why := exceeded(x.reach.Claim(u), x.rows, u); why != "" {
				t.Errorf("%s, %+v: %s", x.name, u, why)
			}
			refuted[x.name] = refuted[x.name] || exceeded(x.forget.Claim(u), x.rows, u) != ""
		}
	}
	for _, x := range all {
		if !refuted[x.name] {
			t.Errorf("%s: a reach without the squares is not refuted", x.name)
		}
	}
}

// Where rows are replaced, squares of half the size of the values cost no more than the
// values, but for the rounding.
func TestSquaresAreFree(t *testing.T) {
	m := int64(1 << 30)
	c := Squared(-m, m, 2*m).Claim(sdk.Units{Cells: 1, Groups: 1, Rows: 1})
	l1, l2 := c.L1, c.L2
	if l1.ReplaceOne != float64(2*m) || l2.ReplaceOne > float64(2*m)+4 {
		t.Errorf("%v and %v", l1.ReplaceOne, l2.ReplaceOne)
	}
	if l1.AddRemove != float64(m+m/2) {
		t.Errorf("a row that comes: %v", l1.AddRemove)
	}
}

// The parts of a row are at least 0 and add up to its weight, also for numbers at the ends.
func TestBernstein(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 20000 {
		k := 1 + trial%4
		x := []float64{0, 1, rng.Float64(), math.Nextafter(1, 0), 1e-300}[rng.IntN(5)]
		whole := []int64{0, 1, 7, 1 << 20, 1<<40 + 3}[rng.IntN(5)]
		parts := make([]int64, k+1)
		bernstein(x, whole, parts)
		sum, binomial := int64(0), 1.0
		for i, p := range parts {
			if p < 0 {
				t.Fatalf("degree %d at %v: %v", k, x, parts)
			}
			want := binomial * math.Pow(x, float64(i)) * math.Pow(1-x, float64(k-i)) * float64(whole)
			if math.Abs(float64(p)-want) > 1.001+1e-9*want {
				t.Fatalf("degree %d at %v: part %d is %d, want %v", k, x, i, p, want)
			}
			sum += p
			binomial *= float64(k-i) / float64(i+1)
		}
		if sum != whole {
			t.Fatalf("degree %d at %v: %v adds up to %d of %d", k, x, parts, sum, whole)
		}
	}
}

// A polynomial is the sum of its coefficients times the Bernstein polynomials.
func TestControl(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := range 1000 {
		k := 1 + trial%4
		poly := make([]float64, 1+rng.IntN(k+1))
		for i := range poly {
			poly[i] = rng.NormFloat64()
		}
		x, want, got, binomial := rng.Float64(), 0.0, 0.0, 1.0
		for i, c := range poly {
			want += c * math.Pow(x, float64(i))
		}
		for i, b := range control(poly, k) {
			got += b * binomial * math.Pow(x, float64(i)) * math.Pow(1-x, float64(k-i))
			binomial *= float64(k-i) / float64(i+1)
		}
		if math.Abs(got-want) > 1e-12 {
			t.Fatalf("degree %d, %v at %v: %v, want %v", k, poly, x, got, want)
		}
	}
}

// The width of a normal variable with Laplace noise: the ends are known, and in between a
// simulation agrees within five standard errors.
func TestWidth(t *testing.T) {
	iv := &Interval{Level: 95}
	if w := iv.exactWidth(0, true); math.Abs(w-1.959964) > 1e-6 {
		t.Errorf("normal: %v", w)
	}
	if w := iv.exactWidth(1, true); math.Abs(w-math.Log(20)/math.Sqrt2) > 1e-9 {
		t.Errorf("Laplace: %v", w)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, share := range []float64{0.1, 0.5, 0.9} {
		w, beyond := iv.exactWidth(share, true), 0
		const n = 200000
		for range n {
			x := math.Sqrt(1-share*share)*rng.NormFloat64() + share/math.Sqrt2*(rng.ExpFloat64()-rng.ExpFloat64())
			if math.Abs(x) > w {
				beyond++
			}
		}
		if miss := float64(beyond) / n; miss > 0.05+5*math.Sqrt(0.05*0.95/n) || share > 0.4 && miss < 0.05-5*math.Sqrt(0.05*0.95/n) {
			t.Errorf("share %v: %v beyond %v", share, miss, w)
		}
	}
	for _, freedom := range []float64{20, 50, 1000} {
		if a, b := studentsT(0.975, freedom), (distuv.StudentsT{Sigma: 1, Nu: freedom}).Quantile(0.975); math.Abs(a-b) > 2e-5 {
			t.Errorf("%v degrees of freedom: %v, want %v", freedom, a, b)
		}
	}
}

// The ends of a count's interval are as far from it as their own error allows.
func TestScore(t *testing.T) {
	n := noiseOf(privacy.DiscreteGaussian{Sigma: 3})
	for _, x := range []float64{-2, 0, 1, 10, 500} {
		for _, iv := range []*Interval{{Level: 95, Square: 0.9}, {Level: 95, Square: 0.9009, Mean: 0.0009, Rows: 1000}} {
			a := Additive{lattice: NewLattice(0, 1, 1, 1), interval: iv, zeroOne: true}
			low, high := a.score(x, n)
			if !(low <= math.Max(x, 0) && high > x) {
				t.Errorf("%v: [%v, %v]", x, low, high)
			}
			error := 1.959964 * math.Sqrt(9+iv.Square*high-iv.Mean*high*high)
			if math.Abs(high-x-0.5-error) > 1e-3*error {
				t.Errorf("%v: %v above, its error is %v", x, high-x, error)
			}
		}
	}
}

// With its margin an interval holds often enough, whatever the variance of the draw is and
// however large the noise in its estimate; one without a margin does not.
func TestMargin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 100000
	for _, level := range tier.Some([]float64{95, 90, 99}, 3) {
		iv, short := &Interval{Level: level, Square: 1}, 0
		gaussian := noiseOf(privacy.DiscreteGaussian{Sigma: 1})
		for _, unsure := range []float64{0.3, 1, 3, 10} {
			for _, draw := range []float64{0, 0.3 * unsure, unsure, 3 * unsure, 30 * unsure} {
				held, bare := 0, 0
				z := distuv.UnitNormal.Quantile(0.5 + level/200)
				for range n {
					s := spread{draw: draw + unsure*rng.NormFloat64(), unsure: unsure, noise: 1}
					x := math.Abs(rng.NormFloat64() * math.Sqrt(draw+1))
					if x <= iv.half(s, gaussian, 0) {
						held++
					}
					if x <= z*math.Sqrt(math.Max(s.draw, 0)+1) {
						bare++
					}
				}
				allowed := level/100 - 4*math.Sqrt(level/100*(1-level/100)/n)
				if float64(held)/n < allowed {
					t.Errorf("level %v, variance %v ± %v: holds in %v", level, draw, unsure, float64(held)/n)
				}
				if float64(bare)/n < allowed {
					short++
				}
			}
		}
		if short == 0 {
			t.Errorf("level %v: an interval without a margin holds too", level)
		}
	}
}

// What the planner adds to the variance is what an interval adds where the draw seems to have
// none; without squares there is nothing to add.
func TestUnsure(t *testing.T) {
	c := sdk.Column{Name: "x", Type: sdk.Number, Lower: -1000, Upper: 1000, Missing: sdk.MissingDrop}
	req := sdk.PlanRequest{Target: privacy.Point{Epsilon: 1}, Public: sdk.Public{SampleRelations: []privacy.Relation{privacy.AddRemove},
		Design: sdk.Design{Kind: "poisson", EqualWeights: true, MaxWeight: 10}}}
	n := noiseOf(privacy.DiscreteLaplace{Scale: 50})
	for _, square := range []float64{0, 0.9} {
		a, err := NewAdditive(NewLattice(0, 1, 1, 1), -1000, 1000, &c, Cells{N: 1}, req, &Interval{Level: 95, Square: square}, Laplace)
		if err != nil {
			t.Fatal(err)
		}
		got := a.Unsure(n, 10)
		if square == 0 {
			if got != 0 {
				t.Errorf("%v without a draw", got)
			}
			continue
		}
		low, high := a.Interval([]int64{0, 0}, n, 0, 10)
		half, least := (high-low)/2, 1.96*math.Sqrt(got+100*n.SD*n.SD)
		if half < 0.999*least || half > 1.4*least || got < 100*n.SD*n.SD {
			t.Errorf("an interval of ±%v, forecast at least ±%v", half, least)
		}
	}
}

// The interval of a total of numbers that are not negative begins at 0, or at the noisy total where
// that is negative, and still holds every total that it held before. One of numbers of any sign is
// left alone.
func TestTotalsAreNotNegative(t *testing.T) {
	for _, clustered := range []bool{false, true} {
		req, iv := staged(4, sdk.Column{Name: "x", Type: sdk.Number, Upper: 10})
		if !clustered {
			iv.Clusters = nil
		}
		n := Noise{SD: 20, Event: privacy.DiscreteLaplace{Scale: 14}}
		interval := func(low float64, sums ...int64) (float64, float64) {
			x := req.Public.Columns[0]
			x.Lower = low
			a, err := NewAdditive(NewLattice(0, 1, 1, 2), low, 10, &x, Cells{N: 1}, req, iv, Laplace)
			if err != nil {
				t.Fatal(err)
			}
			return a.Interval(sums, n, 0, 1)
		}
		for _, x := range []int64{-90, -5, 0, 5, 900} {
			free, top := interval(-10, x, 10)
			low, high := interval(0, x, 10)
			if free >= 0 && x < 900 {
				t.Errorf("%d: the free interval begins at %g", x, free)
			}
			if want := math.Min(0, float64(x)); low < want || high < 0 || low > float64(x) || high < float64(x) {
				t.Errorf("%d: [%g, %g]", x, low, high)
			}
			if x > -90 && (low > math.Max(free, 0) || high < top*0.5) {
				t.Errorf("%d: [%g, %g] of [%g, %g]", x, low, high, free, top)
			}
		}
	}
}
