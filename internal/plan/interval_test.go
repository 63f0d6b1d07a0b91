package plan

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/sdk"
	totals "github.com/dprelease/dprelease/plugins/sum"
)

const intervals = `version: 1
job: demo
dataset:
  id: people
  source: {path: none.csv}
  relation: replace-one
  size: 1000
  columns:
    age: {lower: 0, upper: 120}
    town: {domain: [a, b]}
budget: {limit: {epsilon: 30, delta: "0.1"}}
samples: {s: {method: srswor, size: 100}}
releases:
  - {name: r, from: s, mechanism: mean, params: {column: age}, interval: 95, guarantee: {epsilon: 1, delta: "1e-6"}}
output: {dir: out}
`

// fresh is a ledger that knows no sample.
type fresh struct{}

func (fresh) Node(context.Context, *job.Job, string) (*ledger.Node, error) { return nil, nil }

func planIntervals(t *testing.T, replace ...string) (*Priced, error) {
	t.Helper()
	j, err := language.Parse("job.yaml", []byte(strings.NewReplacer(replace...).Replace(intervals)), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Make(t.Context(), j, direct{"mean": mean.Mechanism{}, "proportion": proportion.Mechanism{}, "median": median.Mechanism{}, "sum": totals.Mechanism{}}, fresh{})
}

// A mechanism is told the level and how the design's variance is estimated; the parameters of
// the job stay as they are, and so does its digest where it asks for no interval.
func TestIntervalReachesTheMechanism(t *testing.T) {
	p, err := planIntervals(t)
	if err != nil {
		t.Fatal(err)
	}
	r := p.Releases()[0]
	var got struct{ Interval interval }
	if err := json.Unmarshal(r.Params, &got); err != nil {
		t.Fatal(err)
	}
	if i := got.Interval; i.Level != 95 || i.Square != 0.9*100/99 || i.Mean != 0.9/99 || i.Rows != 100 {
		t.Errorf("%+v", i)
	}
	if string(r.Job.Params) != `{"column":"age"}` {
		t.Errorf("the job's parameters became %s", r.Job.Params)
	}
	p, err = planIntervals(t, "interval: 95,", "interval: 95, suppress: {below: 7.5},", "params:", "by: [town], params:")
	if err != nil {
		t.Fatal(err)
	}
	if got.Interval = (interval{}); json.Unmarshal(p.Releases()[0].Params, &got) != nil || got.Interval.Shown != 7.5 {
		t.Errorf("an interval given that a group is shown is told %+v", got.Interval)
	}
	has := func(fields []sdk.Field, name string) bool {
		for _, f := range fields {
			if f.Name == name {
				return true
			}
		}
		return false
	}
	if !has(r.Output(), "interval_low") || has(r.Output(), "noise_low") {
		t.Errorf("%+v", r.Output())
	}
	without, err := planIntervals(t, "interval: 95, ", "")
	if err != nil {
		t.Fatal(err)
	}
	if p.Job.Digest() == without.Job.Digest() || has(without.Releases()[0].Output(), "interval_low") {
		t.Error("an interval is part of what a job asks for")
	}
	if strings.Contains(string(without.Releases()[0].Params), "interval") {
		t.Error("a mechanism is told of an interval that nobody asks for")
	}
}

// Where there is no valid interval the plan says why, at the key.
func TestIntervalRefused(t *testing.T) {
	for want, replace := range map[string][]string{
		"gives no interval":        {"mechanism: mean", "mechanism: median"},
		"must stand beside params": {"{column: age}", "{column: age, interval: {level: 95}}", "interval: 95, ", ""},
		"one drawn row":            {"size: 100}", "size: 1}"},
		"is about a share":         {"interval: 95, ", "assume_share: 0.1, "},
	} {
		if _, err := planIntervals(t, replace...); err == nil || !strings.Contains(err.Error(), "releases[0].") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The total of a table that is a simple random sample is that of its population, and the interval is about it.
func TestTotalOfACollectedTable(t *testing.T) {
	p, err := planIntervals(t, "  size: 1000", "  size: 1000\n  collected: {method: srswor, population: 50000}", "from: s, ", "",
		"samples: {s: {method: srswor, size: 100}}", "", "mechanism: mean", "mechanism: sum")
	if err != nil {
		t.Fatal(err)
	}
	r := p.Releases()[0]
	if d := r.Public.Design; r.Public.Population != 50000 || d.MaxWeight != 50 || r.Plan.Errors[0].Linear.Scale != 50 {
		t.Errorf("%+v, %+v", r.Public, r.Plan.Errors)
	}
}

// The random choice of the row that counts of a unit is in every error that is published, and so in the coefficient of variation.
func TestChoiceIsInTheWholeError(t *testing.T) {
	p, err := planIntervals(t, "relation: replace-one\n  size: 1000", "relation: add-remove\n  unit: {column: u, name: person}\n  cap: {groups: 1, rows: 1, binds: definition}",
		"{method: srswor, size: 100}", "{method: poisson, rate: 0.1}", "params:", "by: [town], params:")
	if err != nil {
		t.Fatal(err)
	}
	r := p.Releases()[0]
	var in sdk.Result
	for _, f := range r.Plan.Output {
		c := sdk.ResultColumn{Name: f.Name}
		switch x := map[string]float64{"estimate": 40, "noise_sd": 3, "standard_error": 4, "cv": 0.1, "count": 100, "interval_low": 32, "interval_high": 48}[f.Name]; f.Type {
		case sdk.Float64:
			c.Float64 = []float64{x, x}
		default:
			c.Texts = []string{"", ""}
		}
		in.Columns = append(in.Columns, c)
	}
	in.Columns[0].Texts = []string{"a", "b"}
	choice := 10 * 40 * 80.0 / 100 // (y − 0)(120 − y) of a row, which weighs 10, over the rows
	for _, c := range r.Stated(r.Blanked(in)).Columns {
		want, ok := map[string]float64{"noise_sd": math.Sqrt(9 + choice), "standard_error": math.Sqrt(16 + choice), "cv": math.Round(1e4*math.Sqrt(16+choice)/40) / 1e4}[c.Name]
		if ok && math.Abs(c.Float64[1]-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", c.Name, c.Float64[1], want)
		}
	}
	if in.Columns[1].Float64 == nil && in.Columns[2].Float64 == nil {
		t.Error("nothing was compared")
	}
}
