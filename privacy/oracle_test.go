package privacy_test

import (
	"math"
	"os"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	. "github.com/dprelease/dprelease/privacy" //nolint:staticcheck // the events read as in the package's own tests
	"github.com/dprelease/dprelease/privacy/oracles"
)

// oracleRows are tables t2b, t2c, t3b, t4b, t5, t6, t7 (numeric clones) and t7b: the numeric packages
// test every row; here the expressions go through the whole calculus.
func oracleRows(t *testing.T) []oracles.Row {
	t.Helper()
	rows, err := oracles.Rows()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// No charged epsilon lies below a certified lower bound, and none is looser than the tolerance beyond the certified upper one.
func TestOracleEpsilons(t *testing.T) {
	every := map[string]int{"t2b": 6, "t2c": 6, "t3b": 5, "t4b": 8, "t6": 5, "t7": 4, "t7b": 4}
	thin := tier.Of(5, 1)
	count, seen := map[string]int{}, map[string]int{}
	for _, r := range oracleRows(t) {
		e, rel := r.Event()
		if e == nil || r.Expected == nil {
			continue
		}
		if seen[r.Table]++; os.Getenv("ALL_ORACLES") == "" && seen[r.Table]%(every[r.Table]*thin) != 0 {
			continue
		}
		count[r.Table]++
		a, err := EpsilonAt(e, rel, r.Inputs.Delta)
		if err != nil {
			t.Errorf("%s: %v", r.ID, err)
			continue
		}
		if a.Lower > a.Upper {
			t.Errorf("%s: lower %g above upper %g", r.ID, a.Lower, a.Upper)
		}
		if r.Lower != nil && a.Epsilon < *r.Lower-1e-9 {
			t.Errorf("%s: charged %.10g by %s, the truth is at least %.10g: %+v", r.ID, a.Epsilon, a.Method, *r.Lower, a.Methods)
		}
		if r.Bound[:5] == "lower" {
			if a.Epsilon < r.Known()*(1-r.TolRel)-r.TolAbs {
				t.Errorf("%s: charged %.10g, an exact lower bound is %.10g", r.ID, a.Epsilon, *r.Expected)
			}
			continue
		}
		upper := r.Upper
		if upper == nil {
			upper = r.Expected
		}
		if len(a.Warnings) > 0 && a.Epsilon <= *upper*1.1 {
			t.Logf("%s: charged %.6g, known is %.6g: %v", r.ID, a.Epsilon, *upper, a.Warnings)
			continue
		}
		if a.Epsilon > *upper*(1+math.Max(r.TolRel, 1e-7))+math.Max(r.TolAbs, 1e-7) {
			t.Errorf("%s (%s): charged %.10g by %s, known is %.10g: %v %v", r.ID, r.Bound, a.Epsilon, a.Method, *upper, a.Methods, a.Warnings)
		}
	}
	for table := range every {
		if count[table] == 0 {
			t.Errorf("no rows of %s were tested", table)
		}
	}
	t.Log("rows tested:", count)
}

// Profiles and calibrations of single mechanisms, every row.
func TestOracleProfiles(t *testing.T) {
	n := 0
	for _, r := range oracleRows(t) {
		if r.Table != "t5" {
			continue
		}
		n++
		in := r.Inputs
		near := func(got float64, up bool) {
			t.Helper()
			tol := r.TolAbs + r.TolRel*math.Abs(*r.Expected)
			if up && got < *r.Expected*(1-1e-13)-1e-16*math.Min(1, r.TolAbs*1e14) || math.Abs(got-*r.Expected) > tol*1.0001+1e-300 {
				t.Errorf("%s: %+v: got %.15g, want %.15g", r.ID, in, got, *r.Expected)
			}
		}
		var e Event
		switch in.Mechanism {
		case "gaussian":
			e = Gaussian{Sigma: in.Sigma}
		case "laplace":
			e = Laplace{Scale: in.B}
		case "discrete_laplace":
			e = DiscreteLaplace{Scale: 1 / in.A, Sensitivity: Sensitivity{AddRemove: in.Sensitivity}}
		case "discrete_gaussian":
			e = DiscreteGaussian{Sigma: in.Sigma, Sensitivity: Sensitivity{AddRemove: in.Sensitivity}}
		default:
			t.Fatalf("%s: unknown mechanism %q", r.ID, in.Mechanism)
		}
		switch in.Quantity {
		case "sigma(eps,delta)":
			s, err := GaussianSigma(1, Point{in.Eps, in.Delta})
			if err != nil {
				t.Fatal(err)
			}
			near(s, true)
		case "delta(eps)":
			a, err := DeltaAt(e, AddRemove, in.Eps)
			if err != nil {
				t.Fatal(err)
			}
			near(a.Delta, true)
		case "eps(delta)":
			a, err := EpsilonAt(e, AddRemove, in.Delta)
			if err != nil {
				t.Fatal(err)
			}
			near(a.Epsilon, true)
		default:
			t.Fatalf("%s: unknown quantity %q", r.ID, in.Quantity)
		}
	}
	if n < 100 {
		t.Fatalf("only %d rows", n)
	}
}
