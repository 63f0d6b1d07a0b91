package sgd

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

var (
	x1  = sdk.Column{Name: "x1", Type: sdk.Number, Lower: -3, Upper: 7, Missing: sdk.MissingRefuse}
	x2  = sdk.Column{Name: "x2", Type: sdk.Number, Lower: 10, Upper: 1000, Missing: sdk.MissingDrop}
	cat = sdk.Column{Name: "c", Type: sdk.Category, Domain: []string{"a", "b", "c"}, Missing: sdk.MissingDrop}
	y   = sdk.Column{Name: "y", Type: sdk.Number, Lower: -20, Upper: 30, Missing: sdk.MissingRefuse}
	yes = sdk.Column{Name: "yes", Type: sdk.Number, Lower: 0, Upper: 1, Missing: sdk.MissingRefuse}
	two = sdk.Column{Name: "two", Type: sdk.Category, Domain: []string{"no", "yes"}, Missing: sdk.MissingDrop}
)

func request(rel privacy.Relation, population int64, params string, args ...any) sdk.PlanRequest {
	return sdk.PlanRequest{
		Params: json.RawMessage(fmt.Sprintf(params, args...)),
		Public: sdk.Public{
			Relation: rel, SampleRelations: []privacy.Relation{rel}, Population: population,
			Design:  sdk.Design{Kind: "full", Rate: 1, SampleSize: population, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
			Columns: []sdk.Column{x1, x2, cat, y, yes, two},
		},
		Target: privacy.Point{Epsilon: 2, Delta: 1e-6},
	}
}

// record is one row of a test's table.
type record struct {
	x1, x2, y, yes float64
	x2ok           bool
	c, two         int32
}

// pick returns an extreme of the column, or a value between.
func pick(rng *rand.Rand, c sdk.Column) float64 {
	return []float64{c.Lower, c.Upper, c.Lower + rng.Float64()*(c.Upper-c.Lower)}[rng.IntN(3)]
}

func anyRecord(rng *rand.Rand) record {
	return record{
		x1: pick(rng, x1), x2: pick(rng, x2), y: pick(rng, y), yes: pick(rng, yes), x2ok: rng.IntN(5) > 0,
		c: int32(rng.IntN(4) - 1), two: int32(rng.IntN(3) - 1),
	}
}

func table(records []record) sdktest.Table {
	n := len(records)
	v := func(get func(r record) float64) sdk.Values {
		out := make([]float64, n)
		for i, r := range records {
			out[i] = get(r)
		}
		return sdk.Values{Float64: out}
	}
	codes := func(get func(r record) int32) sdk.Values {
		out := make([]int32, n)
		for i, r := range records {
			out[i] = get(r)
		}
		return sdk.Values{Codes: out}
	}
	second := v(func(r record) float64 { return r.x2 })
	second.Valid = make([]byte, (n+7)/8)
	for i, r := range records {
		if r.x2ok {
			second.Valid[i>>3] |= 1 << (i & 7)
		}
	}
	return sdktest.Table{Rows: n, BatchRows: 8, Columns: map[string]sdk.Values{
		"x1": v(func(r record) float64 { return r.x1 }), "x2": second, "c": codes(func(r record) int32 { return r.c }),
		"y": v(func(r record) float64 { return r.y }), "yes": v(func(r record) float64 { return r.yes }), "two": codes(func(r record) int32 { return r.two }),
	}}
}

// script is a host that draws the given batches and answers with the given noisy
// sums: the same for two neighbouring tables, whatever they ask. Without answers it
// adds the given noise.
type script struct {
	sdktest.NoNoise
	batches [][]int64
	answers [][]int64
	noise   func(coordinate int) int64
	drawn   int
	turn    int64
	added   int
	gave    [][]int64
}

func (s *script) NextSample(context.Context, privacy.Sampling) ([]int64, error) {
	s.drawn++
	return s.batches[s.drawn-1], nil
}

// NextBatch takes the rows in the order of the table.
func (s *script) NextBatch(_ context.Context, ev privacy.LastIterate) ([]int64, error) {
	from := s.turn % ev.Batches() * ev.Batch
	s.turn++
	out := []int64{}
	for i := from; i < min(ev.N, from+ev.Batch); i++ {
		out = append(out, i)
	}
	return out, nil
}

func (s *script) AddGaussian(_ context.Context, _ privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	s.added++
	out := slices.Clone(v)
	if s.answers != nil {
		out = slices.Clone(s.answers[s.added-1])
	} else if s.noise != nil {
		for i := range out {
			out[i] += s.noise(i)
		}
	}
	s.gave = append(s.gave, slices.Clone(out))
	return out, nil
}

// released returns a release by the names of its rows.
func released(t *testing.T, r sdk.Result) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for i, name := range r.Columns[1].Texts {
		v := r.Columns[2].Float64[i]
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%s is %v", name, v)
		}
		out[name] = v
	}
	return out
}

func queries(calls []sdktest.Call) [][]int64 {
	var out [][]int64
	for _, c := range calls {
		if c.Method == "AddGaussian" {
			out = append(out, c.Values)
		}
	}
	return out
}

// planOnce is the mechanism with a memory for plans, which take longer to make
// than small tables to release from.
type planOnce struct {
	Mechanism
	plans map[string]sdk.Plan
}

func (m planOnce) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	key := req.Public.Relation.String() + string(req.Params)
	if p, ok := m.plans[key]; ok {
		return p, nil
	}
	p, err := m.Mechanism.Plan(req)
	m.plans[key] = p
	return p, err
}
