package output

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
	sums "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// batch is one batch of rows.
type batch struct {
	b    *sdk.Batch
	read bool
}

func (r *batch) Next() (*sdk.Batch, error) {
	if r.read {
		return nil, io.EOF
	}
	r.read = true
	return r.b, nil
}

// quiet is the released column estimate of rows, without noise.
func quiet(t *testing.T, m sdk.Mechanism, req sdk.ReleaseRequest, columns []sdk.Values, weights []float64, rows int) []float64 {
	t.Helper()
	b := &sdk.Batch{Rows: rows, Columns: columns, Weights: weights}
	r, err := m.Release(context.Background(), req, &batch{b: b}, &planner.Dice{Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Columns {
		if c.Name == req.Plan.Errors[0].Field {
			return c.Float64
		}
	}
	t.Fatal("no such column")
	return nil
}

// What a plan says of its value without noise is true: between two samples of rows
// it moves by Scale·Σ w·z, and every z lies between Low and High.
func TestLinearClaims(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	public := sdk.Public{Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne}, Population: 100,
		Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: -3, Upper: 10, Missing: sdk.MissingRefuse},
			{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c"}, Missing: sdk.MissingRefuse}}}
	designs := map[string]sdk.Design{
		"srswor":     {Kind: "srswor", SampleSize: 20, Rate: 0.2, MinWeight: 5, MaxWeight: 5, EqualWeights: true, LargestCount: 20},
		"poisson":    {Kind: "poisson", Rate: 0.25, MinWeight: 4, MaxWeight: 4, EqualWeights: true, LargestCount: 100},
		"multistage": {Kind: "multistage", MinWeight: 1, MaxWeight: 6, LargestCount: 40},
	}
	checked := 0
	for name, d := range designs {
		for _, c := range []struct {
			m      sdk.Mechanism
			params string
			z      func(x float64, g, cell int) float64
			column bool
		}{
			{mean.Mechanism{}, `{"column": "x", "difference": true}`, func(x float64, _, _ int) float64 { return x - 3.5 }, true},
			{count.Mechanism{}, `{"by": "g"}`, func(_ float64, g, cell int) float64 { return is(g == cell) }, false},
			{sums.Mechanism{}, `{"column": "x", "by": "g"}`, func(x float64, g, cell int) float64 { return x * is(g == cell) }, false},
			{sums.Mechanism{}, `{"column": "x", "difference": true}`, func(x float64, _, _ int) float64 { return x - 3.5 }, true},
		} {
			public := public
			public.Design = d
			req := sdk.PlanRequest{Params: json.RawMessage(c.params), Public: public, Target: privacy.Point{Epsilon: 1}}
			plan, err := c.m.Plan(req)
			if err != nil {
				t.Fatalf("%s %s: %v", name, c.params, err)
			}
			l := plan.Errors[0].Linear
			if l == nil || (l.Column != "") != c.column {
				t.Fatalf("%s %s: linear is %+v", name, c.params, l)
			}
			release := sdk.ReleaseRequest{PlanRequest: sdk.PlanRequest{Params: req.Params, Public: public, Target: req.Target}, Plan: plan}
			sample := func() (values, sum []float64) {
				x, g, w := make([]float64, 20), make([]int32, 20), make([]float64, 20)
				sum = make([]float64, 3)
				for i := range x {
					x[i], g[i], w[i] = []float64{-3, 10, 10*rng.Float64() - 2}[rng.IntN(3)], rng.Int32N(3), 1
					if !d.EqualWeights {
						w[i] = 1 + 5*rng.Float64()
					}
					for cell := range sum {
						z := c.z(x[i], int(g[i]), cell)
						if z < l.Low-1e-12 || z > l.High+1e-12 {
							t.Fatalf("%s %s: z is %g, outside [%g, %g]", name, c.params, z, l.Low, l.High)
						}
						sum[cell] += w[i] * z
					}
				}
				if d.EqualWeights {
					w = nil
				}
				var columns []sdk.Values
				for _, n := range plan.Columns {
					if n == "x" {
						columns = append(columns, sdk.Values{Float64: x})
					} else {
						columns = append(columns, sdk.Values{Codes: g})
					}
				}
				return quiet(t, c.m, release, columns, w, 20), sum
			}
			first, sum1 := sample()
			for range 20 {
				second, sum2 := sample()
				for cell := range first {
					moved, want := second[cell]-first[cell], l.Scale*(sum2[cell]-sum1[cell])
					if math.Abs(moved-want) > 1e-4*(1+math.Abs(want)) { // the lattice rounds
						t.Fatalf("%s %s: the value moved by %g, not by %g", name, c.params, moved, want)
					}
					checked++
				}
			}
		}
	}
	if checked < 200 {
		t.Fatalf("only %d values were compared", checked)
	}
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The sampling error of a mean is the textbook's, and what cannot be known is said.
func TestSamplingOf(t *testing.T) {
	wor, err := samplers.NewSRSWOR(100, 1000)
	if err != nil {
		t.Fatal(err)
	}
	full, err := samplers.NewFull(1000)
	if err != nil {
		t.Fatal(err)
	}
	rate, err := samplers.ParseRate("0.2")
	if err != nil {
		t.Fatal(err)
	}
	pois, err := samplers.NewPoisson(rate, 0)
	if err != nil {
		t.Fatal(err)
	}
	column := job.Column{Name: "x", Lower: big.NewRat(0, 1), Upper: big.NewRat(10, 1), Assume: &job.Assume{SD: big.NewRat(2, 1)}}
	j := &job.Job{Dataset: job.Dataset{Size: 1000, Columns: []job.Column{column}}}
	linear := sdk.ExpectedError{Field: "estimate", NoiseSD: 0.3, Half95: 0.6,
		Linear: &sdk.Linear{Column: "x", Low: -5, High: 5, Scale: 0.01}}

	e := expectedError(j, wor, &job.Release{}, linear)
	worst := math.Sqrt(0.9 * 25 * 1000 / 999 / 100)
	if s := e.Sampling; math.Abs(*s.BoundSD-worst) > 1e-12 || math.Abs(s.AssumedSD-2*math.Sqrt(0.9/100)) > 1e-12 ||
		s.Assumption != "x has standard deviation 2, as the job assumes" {
		t.Errorf("%+v, want at most %g", s, worst)
	}
	if s := e.Sampling; math.Abs(s.Worst.SD-math.Hypot(0.3, worst)) > 1e-12 || math.Abs(s.Worst.Half95-2*s.Worst.SD) > 1e-12 || s.Assumed.SD >= s.Worst.SD {
		t.Errorf("%+v and %+v", s.Worst, s.Assumed)
	}
	if e := expectedError(j, full, &job.Release{}, linear); *e.Sampling.BoundSD != 0 || e.Sampling.Worst != nil {
		t.Errorf("the whole table: %+v", e.Sampling)
	}
	if e := expectedError(j, pois, &job.Release{}, linear); e.Sampling.BoundSD != nil || !strings.Contains(e.Sampling.Unknown, "0.02·√n") {
		t.Errorf("a secret size: %+v", e.Sampling)
	}
	if e := expectedError(j, wor, &job.Release{}, sdk.ExpectedError{Field: "estimate", NoiseSD: 1}); e.Sampling.Unknown != "the mechanism does not say" {
		t.Errorf("a silent mechanism: %+v", e.Sampling)
	}
	if e := expectedError(j, wor, &job.Release{}, sdk.ExpectedError{Field: "estimate", Note: "a remark"}); e.Sampling != nil {
		t.Errorf("a remark: %+v", e.Sampling)
	}
	// An assumption that the bounds rule out is left out.
	column.Assume.SD = big.NewRat(9, 1)
	if e := expectedError(j, wor, &job.Release{}, linear); e.Sampling.Assumption != "" || e.Sampling.Assumed != nil {
		t.Errorf("an impossible assumption: %+v", e.Sampling)
	}
	// A table that is itself a sample: the collection's variance, too.
	j.Dataset.Collected = &job.Collected{Sample: job.Sample{Method: job.SRSWOR}, Population: 20_000}
	table, draws := 25*20000.0/19999/1000*0.95, 0.9*25*1000/999/100
	if e := expectedError(j, wor, &job.Release{}, linear); math.Abs(*e.Sampling.BoundSD-math.Sqrt(table+draws)) > 1e-9 {
		t.Errorf("a collected table: %g, want %g", *e.Sampling.BoundSD, math.Sqrt(table+draws))
	}
}

// The error that is forecast of a share that the job assumes is what is measured over draws, the same in each run of the test; without
// the assumption it is that of one half.
func TestForecastOfAShare(t *testing.T) {
	const all, n, draws = 2000, 100, 4000
	wor, err := samplers.NewSRSWOR(n, all)
	if err != nil {
		t.Fatal(err)
	}
	j := &job.Job{Dataset: job.Dataset{Size: all}}
	e := sdk.ExpectedError{Field: "estimate", NoiseSD: 0.005, Linear: &sdk.Linear{Low: -0.5, High: 0.5, Scale: 1.0 / n}}
	rng := rand.New(rand.NewPCG(16, 40))
	for _, p := range []float64{0.02, 0.05, 0.3} {
		sum := 0.0
		for range draws {
			left, got := int(p*all), 0
			for i := range n {
				if rng.IntN(all-i) < left {
					left, got = left-1, got+1
				}
			}
			sum += (float64(got)/n - p) * (float64(got)/n - p)
		}
		measured := math.Hypot(math.Sqrt(sum/draws), e.NoiseSD)
		said := expectedError(j, wor, &job.Release{AssumeShare: new(big.Rat).SetFloat64(p)}, e)
		if r := said.Sampling.Assumed.SD / measured; r < 0.95 || r > 1.05 {
			t.Errorf("a share of %v: the forecast is %v times the error", p, r)
		}
		if r := expectedError(j, wor, &job.Release{}, e).Sampling.Worst.SD / measured; p < 0.1 && r < 2 {
			t.Errorf("a share of %v: without an assumption the forecast is %v times the error", p, r)
		}
	}
}
