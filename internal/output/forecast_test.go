package output

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/variance"
)

// direct plans with mechanisms of this process.
type direct map[string]sdk.Mechanism

func (m direct) Get(_ context.Context, name string) (planned.Mechanism, error) {
	return called{m[name]}, nil
}

type called struct{ sdk.Mechanism }

func (c called) About() sdk.Description       { return c.Describe() }
func (called) Origin() (bool, string)         { return true, "" }
func (called) Confined() string               { return "" }
func (called) Validate(json.RawMessage) error { return nil }
func (c called) Plan(_ context.Context, r sdk.PlanRequest) (sdk.Plan, error) {
	return c.Mechanism.Plan(r)
}

// fresh is a ledger that knows no sample.
type fresh struct{}

func (fresh) Node(context.Context, *job.Job, string) (*ledger.Node, error) { return nil, nil }

const forecasts = `version: 1
job: demo
dataset:
  id: people
  source: {path: none.csv}
  relation: replace-one
  size: 8000
  columns:
    y: {lower: 0, upper: 100, assume: {mean: 40, sd: 10}}
    x: {lower: 1, upper: 50, assume: {mean: 20, sd: 5}}
    k: {domain: [yes, no]}
    g: {domain: [a, b, c, d]}
budget: {limit: {epsilon: 30, delta: "0.1"}}
samples: {s: {method: srswor, size: 2000}}
releases:
  - {name: r, from: FROM, mechanism: MECHANISM, by: [g], interval: 95, guarantee: {epsilon: 1, delta: "1e-6"}}
output: {dir: out}
`

// The interval that is forecast of a group is the one that a release of an invented table has: by group, of the whole table and of a
// sample, and of every statistic that is a quotient. Before, nothing was forecast of them.
func TestForecastIsTheInterval(t *testing.T) {
	mechanisms := direct{"mean": mean.Mechanism{}, "proportion": proportion.Mechanism{}, "ratio": ratio.Mechanism{}, "variance": variance.Mechanism{}, "sd": variance.SD(),
		"quantiles": quantiles.Mechanism{}, "median": median.Mechanism{}}
	for _, from := range []string{"all", "s"} {
		for _, c := range []struct{ mechanism, more string }{
			{"mean", "params: {column: y}"}, {"proportion", "params: {column: k, values: [yes]}, assume_share: 0.2"},
			{"proportion", "params: {column: k, values: [yes]}"}, // at most
			{"ratio", "params: {numerator: y, denominator: x}"}, {"variance", "params: {column: y}"}, {"sd", "params: {column: y}"},
			{"quantiles", "params: {column: y, quantiles: [0.5]}"}, {"quantiles", "params: {column: y, quantiles: [0.2]}"},
		} {
			text := strings.NewReplacer("FROM", from, "MECHANISM", c.mechanism+", "+c.more).Replace(forecasts)
			j, err := language.Parse(filepath.Join(t.TempDir(), "job.yaml"), []byte(text), language.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.Make(t.Context(), j, mechanisms, fresh{})
			if err != nil {
				t.Fatal(c.mechanism, err)
			}
			rep, err := Describe(p, "test")
			if err != nil {
				t.Fatal(err)
			}
			even := rep.Releases[0].Expected[0].Even
			if even == nil || even.Both == nil {
				t.Errorf("%s of %s: no forecast: %+v", c.mechanism, from, rep.Releases[0].Expected[0])
				continue
			}
			for _, f := range rep.Releases[0].Fields { // one fact, one sentence, in the report, its page and beside the file
				want := map[string]string{"all": "; it is about the table", "s": "; it is about the sample, and not the population"}[from]
				if f.Name == "count" && !strings.HasSuffix(f.Doc, want) {
					t.Errorf("%s of %s: %s", c.mechanism, from, f.Doc)
				}
			}
			rows := map[string]int{"all": 8000, "s": 2000}[from]
			half := intervalOf(t, p.Releases()[0], mechanisms[c.mechanism], rows)
			low, high := 0.85, 1.2
			switch {
			case c.more == "params: {column: k, values: [yes]}":
				low, high = 1, 1.5
			case strings.HasPrefix(c.more, "params: {column: y}") && c.mechanism != "mean": // the noise at the worst mean
				low, high = 1, 2.6
			}
			if r := even.Both.Half95 / half; even.Groups != 4 || math.Abs(even.Rows-float64(rows)/4) > 1e-9 || r < low || r > high {
				t.Errorf("%s of %s: forecast ± %v, the interval is ± %v (%v times)", c.mechanism, from, even.Both.Half95, half, r)
			}
		}
	}
}

// intervalOf is half the mean interval of the groups of a release of an invented table, the same in each run of the test.
func intervalOf(t *testing.T, r *plan.PricedRelease, m sdk.Mechanism, rows int) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(16, 40))
	values := map[string]sdk.Values{}
	y, x, k, g := make([]float64, rows), make([]float64, rows), make([]int32, rows), make([]int32, rows)
	for i := range rows {
		y[i], x[i], g[i] = min(max(40+10*rng.NormFloat64(), 0), 100), min(max(20+5*rng.NormFloat64(), 1), 50), int32(i%4)
		if rng.Float64() > 0.2 {
			k[i] = 1
		}
	}
	values["y"], values["x"], values["k"] = sdk.Values{Float64: y}, sdk.Values{Float64: x}, sdk.Values{Codes: k}
	var columns []sdk.Values
	for _, name := range r.Plan.Columns {
		v, ok := values[name]
		if !ok {
			v = sdk.Values{Codes: g}
		}
		columns = append(columns, v)
	}
	result, err := m.Release(t.Context(), r.Request(), &batch{b: &sdk.Batch{Rows: rows, Columns: columns}}, &planner.Dice{Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, c := range result.Columns {
		for _, v := range c.Float64 {
			switch c.Name {
			case "interval_low":
				sum -= v / 8
			case "interval_high":
				sum += v / 8
			}
		}
	}
	return sum
}

// A quantile has its error in shares of ranks, and in values where the job assumes how they are spread; the noise of many releases of
// one table is as large. Nothing is said of a median whose noise follows the data.
func TestForecastOfQuantiles(t *testing.T) {
	const text = `version: 1
job: demo
dataset:
  id: people
  source: {path: none.csv}
  relation: replace-one
  size: 8000
  columns: {y: {lower: 0, upper: 100, ASSUME}}
budget: {limit: {epsilon: 30, delta: "0.1"}}
releases: [{name: r, mechanism: MECHANISM, guarantee: {epsilon: "0.1", delta: "1e-6"}}]
output: {dir: out}
`
	rng := rand.New(rand.NewPCG(20, 40))
	values := make([]float64, 8000)
	for _, c := range []struct {
		mechanism, assume string
		none, noValue     bool
		draw              func() float64
	}{
		{"median, params: {column: y}", "assume: {mean: 40, sd: 10}", false, false, func() float64 { return 40 + 10*rng.NormFloat64() }},
		{"quantiles, params: {column: y, quantiles: [0.9]}", "assume: {mean: 20, sd: 15, distribution: lognormal}", false, false, func() float64 {
			v := math.Log1p(15. * 15 / 400)
			return math.Exp(math.Log(20) - v/2 + math.Sqrt(v)*rng.NormFloat64())
		}},
		{"median, params: {column: y}", "missing: refuse", false, true, nil},
		{"median, params: {column: y, method: smooth-laplace}", "assume: {mean: 40, sd: 10}", true, true, nil},
	} {
		mechanisms := direct{"median": median.Mechanism{}, "quantiles": quantiles.Mechanism{}}
		text := strings.NewReplacer("MECHANISM", c.mechanism, "ASSUME", c.assume).Replace(text)
		j, err := language.Parse(filepath.Join(t.TempDir(), "job.yaml"), []byte(text), language.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Make(t.Context(), j, mechanisms, fresh{})
		if err != nil {
			t.Fatal(c.mechanism, err)
		}
		rep, err := Describe(p, "test")
		if err != nil {
			t.Fatal(err)
		}
		x := rep.Releases[0].Expected[0]
		if none := x.Ranks == nil; none != c.none || (x.Even == nil) != c.noValue {
			t.Errorf("%s, %s: %+v", c.mechanism, c.assume, x)
		}
		if c.draw == nil {
			continue
		}
		for i := range values {
			values[i] = min(max(c.draw(), 0), 100)
		}
		r, sum, truth := p.Releases()[0], 0.0, 0.0
		const runs = 400
		for i := range runs + 1 {
			dice := &planner.Dice{Rand: rng, Quiet: i == 0}
			name, _, _ := strings.Cut(c.mechanism, ",")
			rows := &batch{b: &sdk.Batch{Rows: 8000, Columns: []sdk.Values{{Float64: values}}}}
			result, err := mechanisms[name].Release(t.Context(), r.Request(), rows, dice)
			if err != nil {
				t.Fatal(err)
			}
			for _, col := range result.Columns {
				switch {
				case col.Name != "estimate":
				case i == 0:
					truth = col.Float64[0]
				default:
					sum += (col.Float64[0] - truth) * (col.Float64[0] - truth) / runs
				}
			}
		}
		if k := math.Sqrt(sum) / x.Even.NoiseSD; k < 0.7 || k > 1.4 {
			t.Errorf("%s: the noise is %.3g times the forecast %+v", c.mechanism, k, *x.Even)
		}
	}
}
