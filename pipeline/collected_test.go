package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/pipeline"
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
	if exit, _ := exitOf(second(run(t, job("other", "population: 61940", "population: 70000")))); exit != pipeline.ExitInvalidJob {
		t.Errorf("another population: exit %d", exit)
	}
	if _, code := exitOf(second(run(t, job("plain", "\n  collected: {method: srswor, population: 61940}", "")))); code != "LEDGER_SAMPLE" {
		t.Errorf("without the collection: %s", code)
	}
	v, err := l.Verify(background, nil)
	if err != nil || len(v.Findings()) > 0 {
		t.Errorf("%v, %v", v.Findings(), err)
	}
}
