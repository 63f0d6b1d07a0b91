package pipeline_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/privacy"
)

// A table that is itself a sample was drawn once: jobs on it are amplified together
// (P4), and the next one may spend less on the table than the one before.
func TestCollectedIsAmplifiedOnce(t *testing.T) {
	first, at, _ := keeping(t, "  unit: row", "  unit: row\n  collected: {method: srswor, population: 61940}", "size: 800, keep: true", "size: 800")
	text, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	job := func(name string, replace ...string) string {
		path := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(path, []byte(strings.NewReplacer(append(replace, "job: first", "job: "+name)...).Replace(string(text))), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	o, err := run(t, first)
	if err != nil {
		t.Fatal(err)
	}
	c := o.Report.Collection
	if c == nil || c.Reused || c.SampleAfter.Epsilon < 2 || c.Charged.Epsilon > .5 || c.Charged.Epsilon < .49 {
		t.Fatalf("collection %+v", c)
	}
	next := job("second")
	o2, err := run(t, next)
	if err != nil {
		t.Fatal(err)
	}
	c2 := o2.Report.Collection
	if !c2.Reused || c2.SampleBefore != c.SampleAfter || c2.Charged.Epsilon > .5 || c2.Charged.Epsilon < .49 {
		t.Errorf("collection %+v", c2)
	}
	if grown := c2.SampleAfter.Epsilon - c2.SampleBefore.Epsilon; grown > .5*c.SampleAfter.Epsilon {
		t.Errorf("the second job spends %g on the table, the first %g", grown, c.SampleAfter.Epsilon)
	}
	l := openAt(t, at)
	accounts, err := l.Accounts(background)
	if err != nil {
		t.Fatal(err)
	}
	all, err := privacy.EpsilonAt(privacy.WithoutReplacement{Take: 6194, Of: 61940, Event: privacy.Pure{Eps: c2.SampleAfter.Epsilon}}, privacy.ReplaceOne, 0)
	if err != nil || accounts[0].Spent[0].Cmp(rat(t, all.Epsilon*(1-1e-9))) < 0 {
		t.Errorf("spent %v, composed and amplified once %g, %v", accounts[0].Spent, all.Epsilon, err)
	}
	for _, path := range []string{first, next} {
		if again, err := run(t, path); err != nil || !again.Already {
			t.Errorf("a retry: %v", err)
		}
	}
	valid(t, schema(t, "report-v1.schema.json"), filepath.Join(o2.Dir, "report.json"))
	if _, code := exitOf(second(run(t, job("other", "population: 61940", "population: 70000")))); code != "LEDGER_PINNED" {
		t.Errorf("another population: %s", code)
	}
	if _, code := exitOf(second(run(t, job("plain", "\n  collected: {method: srswor, population: 61940}", "")))); code != "LEDGER_SAMPLE" {
		t.Errorf("without the collection: %s", code)
	}
	v, err := l.Verify(background, nil)
	if err != nil || len(v.Findings()) > 0 {
		t.Errorf("%v, %v", v.Findings(), err)
	}
}

// The weights of a survey hold the chances of its collection: a total adds up weight times value, and multiplies by
// nothing else. A release without them takes the chances of the collection.
func TestWeightsOfACollectedTable(t *testing.T) {
	tier.Full(t, "TestCollected")
	dir := t.TempDir()
	data := filepath.Join(dir, "t.csv")
	text := "h,y,w\n" + strings.Repeat("a,1,3\n", 400) + strings.Repeat("b,1,9\n", 100)
	if err := os.WriteFile(data, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	path := write(t, `
version: 1
job: survey
dataset:
  id: survey
  source: {path: `+data+`}
  relation: replace-one
  size: 500
  collected: {method: stratified, strata: h, take: {a: 400, b: 100}, population: {a: 800, b: 400}, allocation: fixed-before}
  weights: {column: w, at_most: 10}
  columns:
    h: {domain: [a, b]}
    y: {lower: 0, upper: 1}
    w: {lower: 1, upper: 10}
budget: {ledger: "sqlite:ledger.db", limit: {epsilon: "100"}}
releases:
  - {name: weighted, mechanism: sum, params: {column: y}, guarantee: {epsilon: "40"}}
  - {name: plain, mechanism: sum, params: {column: y}, weights: none, guarantee: {epsilon: "40"}}
output: {dir: out, formats: [csv]}
`)
	o, err := run(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if c := o.Report.Collection; c == nil || c.SampleAfter.Epsilon < c.Charged.Epsilon+0.5 {
		t.Errorf("collection %+v", c)
	}
	out := filepath.Join(filepath.Dir(path), "out")
	for name, want := range map[string]float64{"weighted": 400*3 + 100*9, "plain": 400*2 + 100*4} {
		if got := estimates(t, filepath.Join(out, name+".csv"), "estimate"); len(got) != 1 || math.Abs(got[0]-want) > 20 {
			t.Errorf("%s: %v, want %g", name, got, want)
		}
	}
}

// The example of lab/studies/energy.md prints both numbers: at most 6.8 on the sample, and at most 4.72 on the population. With
// another number from one stratum, the largest rate counts; without the collection, the sample's number does.
func TestEnergyExample(t *testing.T) {
	text, err := os.ReadFile("../../examples/energy/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	planned := func(replace ...string) (sample, charged float64) {
		path := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(path, []byte(strings.NewReplacer(append(replace, "../data", filepath.Dir(example(t, "energy.csv")))...).Replace(string(text))), 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := pipeline.Load(path, os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pipeline.Plan(background, j, options())
		if err != nil {
			t.Fatal(err)
		}
		r := p.Report()
		if r.Collection != nil {
			sample = r.Collection.SampleAfter.Epsilon
		}
		return sample, r.Guarantee.Epsilon
	}
	sample, charged := planned()
	if sample < 6.6 || sample > 6.8 || charged > 4.72 {
		t.Errorf("ε %g on the sample, %g charged", sample, charged)
	}
	exact, err := privacy.EpsilonAt(privacy.WithoutReplacement{Take: 31, Of: 250, Event: privacy.Pure{Eps: sample}}, privacy.ReplaceOne, 0)
	if err != nil || charged < exact.Epsilon || charged > exact.Epsilon*1.001 {
		t.Errorf("%g charged, and 12.4 %% of %g is %g", charged, sample, exact.Epsilon)
	}
	fewer := []string{"hills-house: 434", "hills-house: 1085", "hills-flat: 124", "hills-flat: 40", "size: 4960", "size: 5527", "allocation: proportional", "allocation: fixed-before"}
	if less, same := planned(fewer...); less > sample-0.5 || same < charged-0.2 {
		t.Errorf("with 31 %% of a stratum ε is %g on the sample and %g on the population", less, same)
	}
	_, whole := planned("  collected:\n", "  # ", "    method:", "#", "    strata:", "#", "    take:", "#", "    population:", "#", "    allocation:", "#",
		`"2.98"`, `"4.3"`, `"1.01e-8"`, `"4.08e-8"`, `"0.87"`, `"1.25"`, `"4.73"`, `"6.8"`, `"1.1e-8"`, `"5e-8"`)
	if whole < 6.5 || whole > 6.8 {
		t.Errorf("without the collection %g", whole)
	}
}
