package privacy

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// row is one published or high-precision figure. Tables t2b, t2c, t3b, t4b, t5, t6, t7 (numeric clones) and t7b: the numeric packages
// test every row; here the expressions go through the whole calculus.
type row struct {
	ID, Table, Bound string
	Inputs           struct {
		Mechanism, Quantity, Relation           string
		Q, Sigma, Delta, Eps, B, A, Gamma, P    float64
		Eps0, Sensitivity                       float64
		Steps, N, SampleSize, DatasetSize, Mean int64
		K                                       int
		Parts                                   []struct {
			Kind        string
			B, Q, Sigma float64
			Count       int64
		}
	}
	Expected, Lower, Upper *float64
	TolRel                 float64 `json:"tol_rel"`
	TolAbs                 float64 `json:"tol_abs"`
}

func oracles(t *testing.T) []row {
	t.Helper()
	f, err := os.Open("testdata/oracles.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	if err := json.NewDecoder(z).Decode(&rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) < 500 {
		t.Fatalf("only %d rows", len(rows))
	}
	return rows
}

// expression is the event of a row, nil for rows that are no query of epsilon.
func (r row) expression() (Event, Relation) {
	in := r.Inputs
	one := Sensitivity{AddRemove: 1, ReplaceOne: 1}
	repeat := func(e Event) Event {
		if in.Steps <= 1 {
			return e
		}
		return Repeat{in.Steps, e}
	}
	switch r.Table {
	case "t2b":
		return repeat(Poisson{in.Q, Gaussian{Sigma: in.Sigma}}), AddRemove
	case "t2c":
		return repeat(Poisson{in.Q, Gaussian{Sigma: in.Sigma}}), ReplaceOne
	case "t3b":
		if in.Mechanism == "laplace" {
			return repeat(Poisson{in.Gamma, Laplace{Scale: in.B}}), AddRemove
		}
		return repeat(Poisson{in.Gamma, Pure{math.Log(in.P/(1-in.P)) * (1 + 1e-15)}}), AddRemove
	case "t4b":
		return repeat(WithoutReplacement{int64(math.Round(in.Q * 1e6)), 1e6, Gaussian{Sigma: in.Sigma, Sensitivity: one}}), ReplaceOne
	case "t6":
		if in.Mechanism == "k_randomized_response" {
			return repeat(RandomizedResponse{in.K, in.Eps0}), ReplaceOne
		}
		var events []Event
		for _, p := range in.Parts {
			var e Event = Laplace{Scale: p.B}
			if p.Kind == "gaussian" {
				e = Gaussian{Sigma: p.Sigma}
			}
			if p.Q != 0 && p.Q < 1 {
				e = Poisson{p.Q, e}
			}
			events = append(events, Repeat{max(1, p.Count), e})
		}
		return Compose{events}, AddRemove
	case "t7":
		return Shuffled{in.N, Pure{in.Eps0}}, ReplaceOne
	case "t7b":
		return Shuffled{in.N, RandomizedResponse{in.K, in.Eps0}}, ReplaceOne
	}
	return nil, 0
}

// No charged epsilon lies below a certified lower bound, and none is looser than the tolerance beyond the certified upper one.
func TestOracleEpsilons(t *testing.T) {
	every := map[string]int{"t2b": 6, "t2c": 6, "t3b": 5, "t4b": 8, "t6": 5, "t7": 4, "t7b": 4}
	thin := 1
	if testing.Short() {
		thin = 3
	}
	count, seen := map[string]int{}, map[string]int{}
	for _, r := range oracles(t) {
		e, rel := r.expression()
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
			if a.Epsilon < *r.Expected*(1-r.TolRel)-r.TolAbs {
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
	for _, r := range oracles(t) {
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
