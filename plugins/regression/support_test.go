package regression

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

var (
	distance = sdk.Column{Name: "distance", Type: sdk.Number, Lower: 0, Upper: 5000, Missing: sdk.MissingRefuse}
	hour     = sdk.Column{Name: "hour", Type: sdk.Number, Lower: 1, Upper: 24, Missing: sdk.MissingDrop}
	carrier  = sdk.Column{Name: "carrier", Type: sdk.Category, Domain: []string{"a", "b", "c"}, Missing: sdk.MissingRefuse}
	weekend  = sdk.Column{Name: "weekend", Type: sdk.Category, Domain: []string{"no", "yes"}, Missing: sdk.MissingDrop}
	delay    = sdk.Column{Name: "delay", Type: sdk.Number, Lower: -60, Upper: 300, Missing: sdk.MissingRefuse}
)

func request(rel privacy.Relation, population int64, params string) sdk.PlanRequest {
	return sdk.PlanRequest{
		Params: json.RawMessage(params),
		Public: sdk.Public{
			Relation: rel, SampleRelations: []privacy.Relation{rel}, Population: population,
			Design:  sdk.Design{Kind: "full", Rate: 1, SampleSize: population, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
			Columns: []sdk.Column{distance, hour, carrier, weekend, delay},
		},
		Target: privacy.Point{Epsilon: 1, Delta: 1e-6},
	}
}

// record is one row: numbers (NaN where missing), codes and a weight.
type record struct {
	distance, hour, delay float64
	carrier, weekend      int32
	weight                float64
}

func table(records []record, weighted bool) sdktest.Table {
	n := len(records)
	numbers := func(get func(record) float64) sdk.Values {
		v := sdk.Values{Float64: make([]float64, n), Valid: make([]byte, n/8+1)}
		for i, r := range records {
			if x := get(r); !math.IsNaN(x) {
				v.Float64[i] = x
				v.Valid[i>>3] |= 1 << (i & 7)
			}
		}
		return v
	}
	codes := func(get func(record) int32) sdk.Values {
		v := sdk.Values{Codes: make([]int32, n)}
		for i, r := range records {
			v.Codes[i] = get(r)
		}
		return v
	}
	t := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{
		"distance": numbers(func(r record) float64 { return r.distance }), "hour": numbers(func(r record) float64 { return r.hour }),
		"delay":   numbers(func(r record) float64 { return r.delay }),
		"carrier": codes(func(r record) int32 { return r.carrier }), "weekend": codes(func(r record) int32 { return r.weekend }),
	}}
	if weighted {
		for _, r := range records {
			t.Weights = append(t.Weights, r.weight)
		}
	}
	return t
}

// flights are rows in which the delay falls slowly with the distance, as in a real
// table: most distances fill a small part of their bounds.
func flights(rng *rand.Rand, n int) []record {
	out := make([]record, n)
	for i := range out {
		r := record{
			distance: math.Min(5000, 150+550*rng.ExpFloat64()), hour: 1 + 23*rng.Float64(),
			carrier: int32(rng.IntN(3)), weekend: int32(rng.IntN(2)), weight: 1 + 4*rng.Float64(),
		}
		r.delay = math.Max(-60, math.Min(300, 8-0.00065*r.distance+0.4*r.hour+2*float64(r.carrier)+30*(rng.ExpFloat64()-1)))
		out[i] = r
	}
	return out
}

// release is a release by the names of its rows.
type row struct{ value, noise, all float64 }

func released(t *testing.T, r sdk.Result) map[string]row {
	t.Helper()
	out := map[string]row{}
	for i, name := range r.Columns[1].Texts {
		v := row{r.Columns[2].Float64[i], r.Columns[3].Float64[i], r.Columns[4].Float64[i]}
		if blank := r.Columns[5].Texts[i] != ""; blank != math.IsNaN(v.value) || blank != math.IsNaN(v.noise+v.all) || math.IsInf(v.value+v.noise+v.all, 0) || v.noise < 0 || v.all < 0 {
			t.Errorf("%s is %+v", name, v)
		}
		if r.Columns[0].Texts[i] == "verdict" {
			name = "verdict"
			if r.Verdict() != none && (r.Verdict() == hidden) != (v.value > 0) {
				t.Errorf("the verdict %q, of %v directions", r.Verdict(), v.value)
			}
		}
		out[name] = v
	}
	return out
}

func run(t *testing.T, req sdk.PlanRequest, tab sdktest.Table, host sdk.Host) map[string]row {
	t.Helper()
	out, err := sdktest.Run(Mechanism{}, req, tab, host)
	if err != nil {
		t.Fatal(err)
	}
	return released(t, out.Result)
}
