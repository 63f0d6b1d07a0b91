package shuffle

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// row is one line of a reference table.
type row struct {
	ID     string `json:"id"`
	Inputs struct {
		N                    int64
		K                    int
		Eps0, Delta          float64
		Analysis, Randomizer string
	} `json:"inputs"`
	Expected *float64       `json:"expected"`
	Bound    string         `json:"bound"`
	TolRel   float64        `json:"tol_rel"`
	TolAbs   float64        `json:"tol_abs"`
	Cross    map[string]any `json:"cross"`
}

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

// categories reads k from "kRR k=16"; 0 for other randomizers.
func categories(randomizer string) int {
	_, num, ok := strings.Cut(randomizer, "kRR k=")
	k := 0
	for _, c := range num {
		k = k*10 + int(c-'0')
	}
	if !ok {
		return 0
	}
	return k
}

func TestShuffleTable(t *testing.T) {
	type query struct {
		n           int64
		k           int
		eps0, delta float64
	}
	memo := map[query]Interval{}
	response := func(n int64, k int, eps0, delta float64) (Interval, error) {
		q := query{n, k, eps0, delta}
		if v, ok := memo[q]; ok {
			return v, nil
		}
		v, err := ResponseEpsilon(n, k, eps0, delta)
		memo[q] = v
		return v, err
	}
	seen := map[string]int{}
	for i, r := range table(t, "t7_shuffle") {
		if testing.Short() && i%20 != 0 {
			continue
		}
		in := r.Inputs
		switch in.Analysis {
		case "fmt21_numeric":
			got, err := Epsilon(in.N, in.Eps0, in.Delta)
			if err != nil {
				t.Fatal(err)
			}
			want := *r.Expected
			if math.Abs(got.Upper-want) > r.TolAbs+r.TolRel*want || got.Upper < want*(1-1e-9)-1e-12 || got.Lower > want*(1+1e-9) {
				t.Errorf("%s %+v: [%.10g, %.10g], exact %.10g", r.ID, in, got.Lower, got.Upper, want)
			}
			seen["clones"]++
		case "fmt21_closed_form":
			got, err := ClosedForm(in.N, in.Eps0, in.Delta)
			if r.Expected == nil {
				if err == nil {
					t.Errorf("%s %+v: outside validity, got %g", r.ID, in, got)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", r.ID, err)
				continue
			}
			if want := *r.Expected; math.Abs(got-want) > r.TolAbs+r.TolRel*want {
				t.Errorf("%s %+v: %.10g, want %.10g", r.ID, in, got, want)
			}
			seen["closed form"]++
		case "privacy_blanket_bennett", "privacy_blanket_hoeffding":
			// Tail bounds on the sum we evaluate exactly: never below it.
			k := categories(in.Randomizer)
			if k == 0 {
				continue
			}
			got, err := response(in.N, k, in.Eps0, in.Delta)
			if err != nil {
				t.Fatal(err)
			}
			if want := *r.Expected; got.Upper > want+r.TolAbs+r.TolRel*want {
				t.Errorf("%s %+v: exact blanket %.10g above its tail bound %.10g", r.ID, in, got.Upper, want)
			}
			seen["blanket"]++
		}
		if strings.HasPrefix(in.Analysis, "variation_ratio") {
			k := categories(in.Randomizer)
			if strings.Contains(in.Randomizer, "exact for binary") {
				k = 2
			}
			if k == 0 {
				continue
			}
			got, err := response(in.N, k, in.Eps0, in.Delta)
			if err != nil {
				t.Fatal(err)
			}
			want := *r.Expected
			if k == 2 && math.Abs(got.Upper-want) > r.TolAbs+r.TolRel*want {
				t.Errorf("%s %+v: %.10g, exact %.10g", r.ID, in, got.Upper, want)
			}
			if k <= 3 && got.Upper < want*(1-r.TolRel)-r.TolAbs {
				t.Errorf("%s %+v: %.10g is below the exact %.10g", r.ID, in, got.Upper, want)
			}
			t.Logf("n=%d k=%d eps0=%g delta=%g: blanket %.6g, variation ratio %.6g (%.3g)", in.N, k, in.Eps0, in.Delta, got.Upper, want, got.Upper/want)
			seen["variation"]++
		}
	}
	t.Log(seen)
	for _, kind := range []string{"clones", "closed form", "blanket", "variation"} {
		if seen[kind] == 0 {
			t.Errorf("no row of kind %q", kind)
		}
	}
}

func TestResponseTable(t *testing.T) {
	loosest := 1.0
	for _, r := range table(t, "t7b_krr_exact_lower") {
		in := r.Inputs
		got, err := ResponseEpsilon(in.N, in.K, in.Eps0, in.Delta)
		if err != nil {
			t.Fatal(err)
		}
		exact := *r.Expected
		if got.Upper < exact*(1-1e-9)-1e-12 {
			t.Errorf("%s %+v: %.12g is below the exact value %.12g of one pair", r.ID, in, got.Upper, exact)
		}
		if exact > 1e-3 {
			loosest = math.Max(loosest, got.Upper/exact)
		}
		general, err := Epsilon(in.N, in.Eps0, in.Delta)
		if err != nil {
			t.Fatal(err)
		}
		if general.Upper < exact*(1-1e-9)-1e-12 {
			t.Errorf("%s %+v: the clones bound %.12g is below the exact value %.12g", r.ID, in, general.Upper, exact)
		}
		t.Logf("n=%d k=%d eps0=%g delta=%g: blanket %.6g (%.4g of exact), clones %.6g, exact %.6g", in.N, in.K, in.Eps0, in.Delta, got.Upper, got.Upper/exact, general.Upper, exact)
	}
	t.Logf("blanket bound at most %.3f times the exact value of the worst pair known", loosest)
}
