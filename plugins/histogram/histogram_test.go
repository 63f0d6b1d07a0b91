package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

func number(missing sdk.Missing) sdk.Column {
	return sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 10, Missing: missing}
}

// All units, under both relations, with and without a cap, behind a filter and by group.
// The values that are tried are 0, 5 and 10.
func TestAllUnits(t *testing.T) {
	for _, edges := range []string{"[0,4,7,10]", "[0,4,7]", "[2,6]"} {
		for _, missing := range []sdk.Missing{sdk.MissingRefuse, sdk.MissingDrop} {
			lineartest.Check(t, Mechanism{}, lineartest.Cases(`,"column":"x","edges":`+edges+`}`, number(missing))...)
		}
	}
	// One bin that a value may miss is no public number, under replace-one either.
	one := lineartest.Request(`{"column":"x","edges":[2,6]}`, 7, number(sdk.MissingRefuse))
	lineartest.Check(t, Mechanism{}, lineartest.Case{Name: "one bin", Request: one})
}

func TestKnownHistogram(t *testing.T) {
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b"}, Missing: sdk.MissingRefuse}
	req := lineartest.Request(`{"column":"x","by":"g","edges":[1,2,5,10]}`, 0, number(sdk.MissingDrop), g)
	tab := sdktest.Table{Rows: 8, Columns: map[string]sdk.Values{
		"x": {Float64: []float64{0.5, 1, 2, 4.999, 5, 10, 3, 7}, Valid: []byte{0b10111111}}, "g": {Codes: []int32{0, 0, 0, 0, 0, 0, 1, 1}},
	}}
	out, err := sdktest.Run(Mechanism{}, req, tab, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(lineartest.Get(out, "estimate"), []float64{1, 2, 2, 0, 0, 1}) || !slices.Equal(lineartest.Get(out, "lower"), []float64{1, 2, 5, 1, 2, 5}) ||
		!slices.Equal(lineartest.Get(out, "upper"), []float64{2, 5, 10, 2, 5, 10}) || !slices.Equal(out.Result.Columns[0].Texts, []string{"a", "a", "a", "b", "b", "b"}) {
		t.Errorf("%+v", out.Result)
	}
}

// A value is found in the bin whose edges it lies between, whatever the edges are.
func TestFind(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		edges := []float64{math.Ldexp(rng.NormFloat64(), rng.IntN(60)-30)}
		for range 1 + rng.IntN(40) {
			last := edges[len(edges)-1]
			edges = append(edges, math.Max(math.Nextafter(last, math.Inf(1)), last+math.Ldexp(rng.ExpFloat64(), rng.IntN(60)-30)))
		}
		b, err := newBins(edges)
		if err != nil {
			t.Fatal(err)
		}
		tries := []float64{math.Inf(-1), math.Inf(1), 0, math.NaN()}
		for _, e := range edges {
			tries = append(tries, e, math.Nextafter(e, math.Inf(-1)), math.Nextafter(e, math.Inf(1)))
		}
		for range 50 {
			tries = append(tries, edges[0]+rng.Float64()*(edges[len(edges)-1]-edges[0]))
		}
		for _, x := range tries {
			want := sort.Search(len(edges), func(i int) bool { return edges[i] > x }) - 1
			if last := len(edges) - 1; x == edges[last] {
				want = last - 1
			} else if want == last || math.IsNaN(x) {
				want = -1
			}
			if got := b.find(x); got != want {
				t.Fatalf("%v in %v: bin %d, want %d", x, edges, got, want)
			}
		}
	}
	tiny, err := newBins([]float64{0, 5e-324})
	if err != nil || tiny.find(0) != 0 || tiny.find(5e-324) != 0 || tiny.find(1e-300) != -1 {
		t.Errorf("the smallest bin: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	named := sdk.Column{Name: "upper", Type: sdk.Category, Domain: []string{"a"}}
	for params, want := range map[string]string{
		`{"column":"x","edges":[1]}`:                        "between 2 and",
		`{"column":"x","edges":[1,1]}`:                      "ascend",
		`{"column":"x","edges":[2,1]}`:                      "ascend",
		`{"column":"x","edges":[-1e308,1e308]}`:             "too far apart",
		`{"column":"upper","edges":[0,1]}`:                  "not a number",
		`{"column":"x","edges":[0,1],"by":"upper"}`:         "rename",
		`{"column":"x","edges":[0,1],"bins":4}`:             "unknown field",
		`{"column":"x","edges":[0,1],"noise":"gumbel"}`:     "noise: must be",
		`{"column":"y","edges":[0,1],"noise":"auto"}`:       "not declared",
		`{"column":"x","edges":[0,1],"by":["upper","z"]}`:   "rename",
		`{"column":"x","edges":[0,1,2],"by":["z","upper"]}`: "not declared",
	} {
		if _, err := (Mechanism{}).Plan(lineartest.Request(params, 0, number(sdk.MissingRefuse), named)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", params, err, want)
		}
	}
}
