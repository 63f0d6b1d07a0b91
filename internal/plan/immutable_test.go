package plan

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/sdk"
	total "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

const immutableJob = `version: 1
job: groups
dataset:
  id: people
  source: {path: people.arrow}
  relation: replace-one
  size: 1000COLLECTED
  columns: {region: {domain: [north, south], immutable: true}}
budget: {limit: {epsilon: 10}}
samples:
  srs: {method: srswor, size: 100}
  pois: {method: poisson, rate: 0.5}
releases:
  - {name: all, from: all, mechanism: count, params: {by: region}, guarantee: {epsilon: 1}}
  - {name: some, from: srs, mechanism: count, params: {by: region}, guarantee: {epsilon: 1}}
  - {name: half, from: pois, mechanism: count, params: {by: region}, guarantee: {epsilon: 1}}
output: {dir: out}
`

// In a sample of fixed size another unit, of another group, takes the place of the
// one that is left out: there no group is fixed, whatever the table says (P3, P11).
func TestImmutableOnlyWhereTheUnitStays(t *testing.T) {
	for _, c := range []struct {
		collected, sample string
		want              bool
	}{
		{"", "all", true}, {"", "pois", true}, {"", "srs", false},
		{"\n  collected: {method: srswor, population: 5000}", "all", false},
	} {
		j, err := language.Parse("job.yaml", []byte(strings.Replace(immutableJob, "COLLECTED", c.collected, 1)), language.Options{})
		if err != nil {
			t.Fatal(err)
		}
		design, err := planned.Design(j, c.sample, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := planned.Facts(j, design, nil, &job.Release{}).Columns[0].Immutable; got != c.want {
			t.Errorf("%s%s: immutable %v, want %v", c.sample, c.collected, got, c.want)
		}
	}
}

// A filter lets the row of a unit through or not: it keeps its group (P11). A filter of the rows that
// are folded may leave others, a cap other cells, and an account is told of a column that is counted on.
func TestFilteredGroupsThatStay(t *testing.T) {
	const unit = "\n  unit: {column: id, name: person}\n  fold: {region: mode, x: sum}"
	for _, c := range []struct {
		dataset, from, filter string
		cells                 float64
	}{
		{"", "all", "where: \"x > 0\"", 1}, {"", "pois", "where: \"x > 0\"", 1}, {"", "srs", "where: \"x > 0\"", 2},
		{unit, "all", "having: \"x > 0\"", 1}, {unit, "all", "where: \"x > 0\"", 2},
		{"\n  unit: {column: id, name: person}\n  cap: {groups: 1, rows: 1}", "all", "where: \"x > 0\"", 2},
		{"\n  collected: {method: srswor, population: 5000}", "all", "where: \"x > 0\"", 2},
	} {
		text := strings.NewReplacer("COLLECTED", c.dataset, "columns: {", "columns: {x: {lower: 0, upper: 1}, ").Replace(immutableJob)
		text, _, _ = strings.Cut(text, "  - {name: all")
		text += "  - {name: r, from: " + c.from + ", mechanism: count, by: [region], " + c.filter + ", guarantee: {epsilon: 1}}\n"
		j, err := language.Parse("job.yaml", []byte(text+"output: {dir: out}\n"), language.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Make(t.Context(), j, direct{"count": count.Mechanism{}}, fresh{})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Draws[0]
		e := d.Releases[0].Plan.Event.(privacy.DiscreteLaplace)
		if got := e.Sensitivity.Under(privacy.ReplaceOne); got != c.cells {
			t.Errorf("%q, %s, %s: %v cells, want %v", c.dataset, c.from, c.filter, got, c.cells)
		}
		if kept := p.Plan.Draws[0].PublicColumns(j); slices.Contains(kept, "region") != (c.cells == 1) {
			t.Errorf("%q, %s, %s: the account keeps %q", c.dataset, c.from, c.filter, kept)
		}
	}
}

// The trap of P27, enumerated. Two records in two groups that neighbours keep, one of
// them drawn, sums by group. On the sample another group takes the place, so that the
// maximum over groups (P11) is not what amplification starts from: the plan that the
// pipeline makes keeps its promise, and one that takes the groups for fixed breaks it.
func TestKeptGroupsInASampleOfFixedSize(t *testing.T) {
	text := strings.NewReplacer("COLLECTED", "", "size: 1000", "size: 2", "size: 100}", "size: 1}", "columns: {", "columns: {x: {lower: 0, upper: 1}, ").Replace(immutableJob)
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	design, err := planned.Design(j, "srs", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []float64{0.1, 0.5, 0.814, 2} {
		for _, broken := range []bool{false, true} {
			point := privacy.Point{Epsilon: target}
			share, err := privacy.SampleBudget(samplers.Sampling(design), privacy.ReplaceOne, point)
			if err != nil {
				t.Fatal(err)
			}
			req := sdk.PlanRequest{Params: []byte(`{"column":"x","by":"region","noise":"laplace"}`), Target: share,
				Public: planned.Facts(j, design, []privacy.Relation{privacy.ReplaceOne}, &job.Release{})}
			for i := range req.Public.Columns {
				req.Public.Columns[i].Immutable = req.Public.Columns[i].Immutable || broken && req.Public.Columns[i].Name == "region"
			}
			plan, err := total.Mechanism{}.Plan(req)
			if err != nil {
				t.Fatal(err)
			}
			noise, ok := plan.Event.(privacy.DiscreteLaplace)
			if !ok {
				t.Fatalf("the event is %T", plan.Event)
			}
			if truth := worstOfOneInTwo(float64(noise.Sensitivity.AddRemove) / noise.Scale); (truth <= target*(1+1e-9)) == broken {
				t.Errorf("target %g, groups taken for fixed %v: the truth is %g", target, broken, truth)
			}
		}
	}
}

// worstOfOneInTwo is the largest privacy loss of sums by group, each with discrete Laplace
// noise of one range in steps·ratio, where one of two records in two groups is drawn and
// one record changes its value and keeps its group.
func worstOfOneInTwo(ratio float64) float64 {
	const steps = 4 // of the range of a value
	f := func(k int) float64 { return math.Exp(-math.Abs(float64(k)) * ratio / steps) }
	worst := 0.0
	for _, other := range []int{0, steps} {
		output := func(x, a, b int) float64 { return (f(a-x)*f(b) + f(a)*f(b-other)) / 2 }
		for a := -3 * steps; a <= 3*steps; a++ {
			for b := -3 * steps; b <= 3*steps; b++ {
				worst = math.Max(worst, math.Abs(math.Log(output(steps, a, b)/output(0, a, b))))
			}
		}
	}
	return worst
}

// Strata of two records, one drawn of each, sums by stratum: a changed record is noticed in the
// cell of its own stratum alone, and so is the record that takes its place. The plan counts one
// cell, and keeps its promise for every table and every neighbour; it is attained. With half of
// the noise it is broken. A cell that is not a stratum is counted twice (P27).
func TestCellsOfStrata(t *testing.T) {
	folder := t.TempDir()
	frame := filepath.Join(folder, "frame.csv")
	if err := os.WriteFile(frame, []byte("region,rows\nnorth,2\nsouth,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("COLLECTED", "\n  frame: {path: "+frame+", records: rows}", "size: 1000", "size: 4", "immutable: true", "",
		"columns: {", "columns: {x: {lower: 0, upper: 1}, other: {domain: [a, b]}, ",
		"{method: srswor, size: 100}", "{method: stratified, strata: region, take: {north: 1, south: 1}}").Replace(immutableJob)
	j, err := language.Parse(filepath.Join(folder, "job.yaml"), []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	design, err := planned.Design(j, "srs", nil)
	if err != nil {
		t.Fatal(err)
	}
	noise := func(by string, target float64) privacy.DiscreteLaplace {
		share, err := privacy.SampleBudget(samplers.Sampling(design), privacy.ReplaceOne, privacy.Point{Epsilon: target})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := total.Mechanism{}.Plan(sdk.PlanRequest{Params: []byte(`{"column":"x","noise":"laplace","by":"` + by + `"}`), Target: share,
			Public: planned.Facts(j, design, []privacy.Relation{privacy.ReplaceOne}, &job.Release{})})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Event.(privacy.DiscreteLaplace)
	}
	if e := noise("other", 1); e.Sensitivity.ReplaceOne != 2*e.Sensitivity.AddRemove {
		t.Errorf("cells that are no strata: %v", e.Sensitivity)
	}
	for _, target := range []float64{0.1, 1, 3} {
		e := noise("region", target)
		const steps = 4 // of the range of a value
		for _, less := range []float64{1, 2} {
			f := func(k int) float64 {
				return math.Exp(-less * math.Abs(float64(k)) * e.Sensitivity.AddRemove / e.Scale / steps)
			}
			output := func(o, x, y int) float64 { return (f(o-x) + f(o-y)) / 2 } // of the stratum with x and y
			worst := 0.0
			for x := range steps + 1 {
				for changed := range steps + 1 {
					for y := range steps + 1 {
						for o := -2 * steps; o <= 3*steps; o++ {
							worst = math.Max(worst, math.Log(output(o, changed, y)/output(o, x, y)))
						}
					}
				}
			}
			if less == 1 && (worst > target || worst < 0.999*target) || less == 2 && worst <= target {
				t.Errorf("target %v, noise divided by %v: the truth is %v", target, less, worst)
			}
		}
	}
}
