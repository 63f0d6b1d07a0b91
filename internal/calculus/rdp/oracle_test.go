package rdp

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// row is one line of a reference table: independent values by 50-digit quadrature, exact sums or a named formula in 300 digits.
type row struct {
	ID     string `json:"id"`
	Inputs struct {
		Q, Sigma, Alpha, B, P, Gamma, Delta, Eps, Rho float64
		Steps                                         int64
		Mechanism, Orders, Curve, Quantity            string
		Conversion                                    string
		BoundKind                                     string `json:"bound_kind"`
	} `json:"inputs"`
	Expected *float64       `json:"expected"`
	Bound    string         `json:"bound"`
	Lower    *float64       `json:"lower"`
	Upper    *float64       `json:"upper"`
	TolRel   float64        `json:"tol_rel"`
	TolAbs   float64        `json:"tol_abs"`
	Cross    map[string]any `json:"cross"`
}

func (r row) cross(name string) (float64, bool) {
	v, ok := r.Cross[name].(float64)
	return v, ok
}

// table reads testdata/<name>.json.gz and fails when it is missing or empty.
func table(t testing.TB, name string) []row {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Rows []row }
	if err := json.NewDecoder(z).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Rows) < 100 {
		t.Fatalf("%s: only %d rows", name, len(doc.Rows))
	}
	return doc.Rows
}

// worst keeps the largest relative deviations seen, for the log.
type worst struct{ below, above float64 }

func (w *worst) see(got, want float64) {
	if want != 0 {
		w.below = math.Max(w.below, 1-got/want)
		w.above = math.Max(w.above, got/want-1)
	}
}

func TestPoissonGaussianTable(t *testing.T) {
	var w worst
	for _, r := range table(t, "t2a_rdp_poisson_gaussian") {
		got := PoissonGaussian(r.Inputs.Q, r.Inputs.Sigma)(r.Inputs.Alpha)
		want := *r.Expected
		w.see(got, want)
		if math.Abs(got-want) > r.TolAbs+r.TolRel*want {
			t.Errorf("%s q=%g sigma=%g alpha=%g: %g, want %g (ratio-1 = %g)", r.ID, r.Inputs.Q, r.Inputs.Sigma, r.Inputs.Alpha, got, want, got/want-1)
		}
		// The table has 50 digits rounded to a float64: an upper bound may not be below it at all, up to that rounding.
		if got < want*(1-3e-16) {
			t.Errorf("%s: %.17g is below the truth %.17g", r.ID, got, want)
		}
	}
	t.Logf("relative to the truth: at most %.2g below, %.2g above", w.below, w.above)
}

func TestPoissonGeneralTable(t *testing.T) {
	var w worst
	tighter := 0
	for _, r := range table(t, "t3a_rdp_poisson_general") {
		in := r.Inputs
		var base Curve
		if in.Mechanism == "laplace" {
			base = Laplace(in.B)
		} else {
			base = RandomizedResponse(2, math.Log(in.P)-math.Log1p(-in.P))
		}
		if in.BoundKind == "exact_worst_direction" {
			continue
		}
		got := Poisson(in.Gamma, base, in.BoundKind == "zhu_wang_improved")(in.Alpha)
		want := *r.Expected
		exact, _ := r.cross("exact_remove")
		if add, ok := r.cross("exact_add"); ok {
			exact = math.Max(exact, add)
		}
		if exact > 0 && got < exact*(1-1e-15) {
			t.Errorf("%s %+v: %.17g is below the exact divergence %.17g", r.ID, in, got, exact)
		}
		switch {
		case got < want-(r.TolAbs+r.TolRel*want):
			// Only the caps may be tighter than the formula.
			limit := math.Min(base(in.Alpha), math.Log1p(in.Gamma*math.Expm1(base(math.Inf(1)))))
			if math.Abs(got-limit) > 1e-10*limit {
				t.Errorf("%s %+v: %g, formula says %g, caps say %g", r.ID, in, got, want, limit)
			}
			tighter++
		case got > want+r.TolAbs+r.TolRel*want:
			t.Errorf("%s %+v: %g, want %g", r.ID, in, got, want)
		default:
			w.see(got, want)
		}
	}
	t.Logf("relative to the formula: at most %.2g below, %.2g above; %d rows tighter by the caps", w.below, w.above, tighter)
}

// onePair is the divergence of (1−γ)Q + γP from Q at a whole order, where the one of P from Q is c:
// log Σ C(α,k)(1−γ)^{α−k}γ^k e^{(k−1)c(k)} over α − 1.
func onePair(alpha, gamma float64, c Curve) float64 {
	if alpha > 64 {
		return math.Inf(1) // the orders of the table end there
	}
	top, terms := math.Inf(-1), []float64{}
	all, _ := math.Lgamma(alpha + 1)
	for k := 0.0; k <= alpha; k++ {
		in, _ := math.Lgamma(k + 1)
		out, _ := math.Lgamma(alpha - k + 1)
		x := all - in - out + (alpha-k)*math.Log1p(-gamma) + k*math.Log(gamma)
		if k > 1 {
			x += (k - 1) * c(k)
		}
		top, terms = math.Max(top, x), append(terms, x)
	}
	sum := 0.0
	for _, x := range terms {
		sum += math.Exp(x - top)
	}
	return (top + math.Log(sum)) / (alpha - 1)
}

func TestPoissonGeneralEpsilonTable(t *testing.T) {
	var orders []float64
	for a := 2.0; a <= 64; a++ {
		orders = append(orders, a)
	}
	tighter, checked := 0, 0
	for _, r := range tier.Some(table(t, "t3b_eps_poisson_general"), 5) {
		in := r.Inputs
		var base Curve
		if in.Mechanism == "laplace" {
			base = Laplace(in.B)
		} else {
			base = RandomizedResponse(2, math.Log(in.P)-math.Log1p(-in.P))
		}
		c := Repeat(in.Steps, Poisson(in.Gamma, base, in.BoundKind == "zhu_wang_improved"))
		got, at := EpsilonAt(c, in.Delta, orders)
		auto, _ := Epsilon(c, in.Delta)
		want := *r.Expected
		if got > want+r.TolAbs+r.TolRel*want {
			t.Errorf("%s %+v: %g, want %g", r.ID, in, got, want)
		}
		if got < want-(r.TolAbs+r.TolRel*want) {
			// Only the caps may be tighter than the formula.
			limit := math.Min(base(at), math.Log1p(in.Gamma*math.Expm1(base(math.Inf(1)))))
			if one := c(at) / float64(in.Steps); math.Abs(one-limit) > 1e-10*limit {
				t.Errorf("%s %+v: %g, table %g, and at order %g the curve has %g where the caps have %g", r.ID, in, got, want, at, one, limit)
			}
			tighter++
		}
		// The unit's record is there or not, and all others are alike: two laws whose divergence at whole orders is a sum of
		// binomial terms. No bound may be below what they have.
		pair := Repeat(in.Steps, func(alpha float64) float64 { return onePair(alpha, in.Gamma, base) })
		if exact, _ := EpsilonAt(pair, in.Delta, orders); got < exact*(1-1e-9) {
			t.Errorf("%s %+v: %g is below the %g of one pair of data sets", r.ID, in, got, exact)
		}
		if auto > got*(1+1e-9) {
			t.Errorf("%s %+v: automatic orders give %g, the grid %g", r.ID, in, auto, got)
		}
		checked++
	}
	if checked < 20 {
		t.Fatalf("only %d rows", checked)
	}
	t.Logf("%d rows tighter than the table (caps)", tighter)
}

// The tables t4a and t4b hold the bound of Wang, Balle and Kasiviswanathan, with 300 digits. The curve from the profile is nowhere
// above it, and nowhere below the pair of a Poisson draw, which two populations have whose other records are all alike.
func TestWithoutReplacementGaussianTable(t *testing.T) {
	var ratios []float64
	for _, r := range table(t, "t4a_rdp_wor_gaussian") {
		in := r.Inputs
		got := WithoutReplacementGaussian(in.Q, in.Sigma)(in.Alpha)
		if exact := PoissonGaussian(in.Q, in.Sigma)(in.Alpha); got < exact*(1-2e-11) {
			t.Errorf("%s %+v: %g is below the exact %g of one pair of data sets", r.ID, in, got, exact)
		}
		if got > *r.Expected+r.TolAbs+r.TolRel**r.Expected {
			t.Errorf("%s %+v: %g, the older bound has %g", r.ID, in, got, *r.Expected)
		}
		ratios = append(ratios, got / *r.Expected)
	}
	slices.Sort(ratios)
	t.Logf("relative to the older bound: %.3f, %.3f, %.3f (least, median, most)", ratios[0], ratios[len(ratios)/2], ratios[len(ratios)-1])
}

// accountingOrders is the grid of the tables t2b and t4b.
func accountingOrders() []float64 {
	var out []float64
	for i := 11; i < 110; i++ {
		out = append(out, float64(i)/10)
	}
	for i := 11; i < 64; i++ {
		out = append(out, float64(i))
	}
	return append(out, 128, 256, 512, 1024)
}

func TestWithoutReplacementEpsilonTable(t *testing.T) {
	var ratios []float64
	for _, r := range tier.Some(table(t, "t4b_eps_wor_gaussian"), 5) {
		in := r.Inputs
		c := Repeat(in.Steps, WithoutReplacementGaussian(in.Q, in.Sigma))
		got, _ := EpsilonAt(c, in.Delta, accountingOrders())
		auto, _ := Epsilon(c, in.Delta)
		if got > *r.Expected+r.TolAbs+r.TolRel**r.Expected {
			t.Errorf("%s %+v: %g, the older bound has %g", r.ID, in, got, *r.Expected)
		}
		if auto > got*(1+1e-9) {
			t.Errorf("%s %+v: automatic orders give %g, the grid %g", r.ID, in, auto, got)
		}
		if exact, _ := EpsilonAt(Repeat(in.Steps, PoissonGaussian(in.Q, in.Sigma)), in.Delta, accountingOrders()); got < exact*(1-1e-9) {
			t.Errorf("%s %+v: %g is below %g, what one pair of data sets has at these orders", r.ID, in, got, exact)
		}
		ratios = append(ratios, got / *r.Expected)
	}
	slices.Sort(ratios)
	t.Logf("relative to the older bound: %.3f, %.3f, %.3f (least, median, most)", ratios[0], ratios[len(ratios)/2], ratios[len(ratios)-1])
}

func TestPoissonGaussianEpsilonTable(t *testing.T) {
	var gain []float64
	for _, r := range table(t, "t2b_eps_poisson_gaussian") {
		in := r.Inputs
		c := Repeat(in.Steps, PoissonGaussian(in.Q, in.Sigma))
		grid, _ := EpsilonAt(c, in.Delta, accountingOrders())
		auto, order := Epsilon(c, in.Delta)
		if want, ok := r.cross("rdp_exact_default_orders"); ok && math.Abs(grid-want) > 1e-8*want+1e-9 {
			t.Errorf("%s %+v: %.10g, want %.10g", r.ID, in, grid, want)
		}
		if r.Lower != nil && auto < *r.Lower-1e-9 {
			t.Errorf("%s %+v: %.10g is below the certified lower bound %.10g", r.ID, in, auto, *r.Lower)
		}
		if auto > grid*(1+1e-9) {
			t.Errorf("%s %+v: automatic orders give %g (order %g), the grid %g", r.ID, in, auto, order, grid)
		}
		if auto > 0 {
			gain = append(gain, grid/auto)
		}
	}
	most := 0.0
	for _, g := range gain {
		most = math.Max(most, g)
	}
	t.Logf("automatic orders are up to %.3g times tighter than the fixed grid", most)
}

func TestConversionTable(t *testing.T) {
	grids := map[string][]float64{"dpa_default": accountingOrders()}
	for a := 2.0; a <= 64; a++ {
		grids["int2_64"] = append(grids["int2_64"], a)
	}
	var dense []float64
	for i := 0; i < 400; i++ {
		dense = append(dense, 1.02+0.01*float64(i))
	}
	for i := 1; i < 600; i++ {
		dense = append(dense, 5+0.1*float64(i))
	}
	for i := 1; i < 2000; i += 3 {
		dense = append(dense, float64(65+i))
	}
	grids["dense"] = dense
	checked := 0
	for _, r := range table(t, "t8_conversion") {
		in := r.Inputs
		if in.Conversion != "cks20" {
			continue // the old conversion is not offered (P10)
		}
		var c Curve
		switch in.Curve {
		case "gaussian":
			c = Gaussian(in.Sigma)
		case "laplace":
			c = Laplace(in.B)
		default:
			c = ZCDP(in.Rho)
		}
		c = Repeat(max(in.Steps, 1), c) // rows of the zCDP curve name no number of steps
		orders, ok := grids[in.Orders]
		if !ok {
			t.Fatalf("%s: unknown order grid %q", r.ID, in.Orders)
		}
		want := *r.Expected
		var got, auto, floor float64
		if in.Quantity == "eps" {
			got, _ = EpsilonAt(c, in.Delta, orders)
			auto, _ = Epsilon(c, in.Delta)
			floor = want
		} else {
			auto, _ = Delta(c, in.Eps)
			got, floor = 1, want
			for _, a := range orders {
				// The Bretagnolle–Huber bound may be the smaller.
				bound := math.Sqrt(-math.Expm1(-c(a)))
				floor, got = math.Min(floor, bound), math.Min(got, math.Min(bound, math.Exp(logDeltaOf(a, c(a), in.Eps))))
			}
		}
		checked++
		if want == 0 && got == math.SmallestNonzeroFloat64 {
			got = 0 // the table underflowed; the truth is positive and is reported as the smallest float64
		}
		if got > want+r.TolAbs+r.TolRel*want || got < floor-r.TolAbs-r.TolRel*floor {
			t.Errorf("%s %+v: %.12g, want %.12g", r.ID, in, got, want)
		}
		if auto > got*(1+1e-9)+math.SmallestNonzeroFloat64 {
			t.Errorf("%s %+v: automatic orders give %g, the grid %g", r.ID, in, auto, got)
		}
	}
	if checked == 0 {
		t.Fatal("no row checked")
	}
}
