package pipeline_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/columns"
	"github.com/dprelease/dprelease/privacy"
)

// keepJob draws a sample and keeps it; tests replace parts of it.
const keepJob = `version: 1
job: first
dataset:
  id: schools
  source: {path: TABLE}
  relation: replace-one
  size: 6194
  unit: row
  columns:
    api00: {lower: 200, upper: 1000}
    enrolled: {lower: 100, upper: 4000, missing: drop}
    school_type: {domain: [E, M, H]}
budget: {ledger: "sqlite:LEDGER", limit: {epsilon: 4, delta: 1e-5}}
samples:
  panel: {method: srswor, size: 800, keep: true}
releases:
  - {name: api, from: panel, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "0.5"}}
output: {dir: out, formats: [csv]}
`

// keeping writes a job that keeps a draw in a ledger, and a function that writes
// jobs which use it.
func keeping(t *testing.T, replace ...string) (first, at string, later func(id, name string, replace ...string) string) {
	t.Helper()
	at = filepath.Join(t.TempDir(), "ledger.db")
	first = write(t, keepJob, append(replace, "LEDGER", at)...)
	return first, at, func(id, name string, more ...string) string {
		t.Helper()
		text := strings.NewReplacer(append(append([]string{}, more...), "job: first", "job: "+name,
			"{method: srswor, size: 800, keep: true}", "{method: kept, id: "+id+"}",
			"{name: api, from: panel, mechanism: mean, params: {column: api00}", "{name: size, from: panel, mechanism: mean, params: {column: enrolled}")...).Replace(keepJob)
		return write(t, text, append(replace, "LEDGER", at)...)
	}
}

func openAt(t *testing.T, path string) *ledger.Ledger {
	t.Helper()
	a, err := ledger.ParseAddress("sqlite:"+path, ".")
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(background, a, ledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func plan(t *testing.T, path string) (*pipeline.Planned, error) {
	t.Helper()
	j, err := pipeline.Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	return pipeline.Plan(background, j, options())
}

func rat(t *testing.T, x float64) *big.Rat {
	t.Helper()
	return new(big.Rat).SetFloat64(x)
}

// One job draws and keeps, another one uses the draw with other columns: the same
// rows, composed with what was released before, and charged the difference.
func TestKeptSample(t *testing.T) {
	for _, method := range []string{"{method: srswor, size: 800, keep: true}", "{method: poisson, rate: 0.1, keep: true}"} {
		first, at, later := keeping(t)
		if method != "{method: srswor, size: 800, keep: true}" {
			text, _ := os.ReadFile(first)
			os.WriteFile(first, bytes.ReplaceAll(text, []byte("{method: srswor, size: 800, keep: true}"), []byte(method)), 0o644)
		}
		o, err := runWith(t, first, func(o *pipeline.Options) { o.Diagnostics = true })
		if err != nil {
			t.Fatal(err)
		}
		k := o.Report.Draws[0].Kept
		if k == nil || len(k.ID) != 32 || k.Reused || k.SampleBefore.Epsilon != 0 || k.Charged.Epsilon > .5 || k.Charged.Epsilon < .49 {
			t.Fatalf("kept %+v", k)
		}
		second := later(k.ID, "second")
		p, err := plan(t, second)
		if err != nil {
			t.Fatal(err)
		}
		o2, err := runWith(t, second, func(o *pipeline.Options) { o.Diagnostics = true })
		if err != nil {
			t.Fatal(err)
		}
		k2 := o2.Report.Draws[0].Kept
		planned := p.Report().Draws[0].Kept
		if *planned != *k2 || !k2.Reused || k2.Jobs != 1 || k2.SampleBefore != k.SampleAfter || k2.Before != k.After || k2.ID != k.ID {
			t.Errorf("planned %+v, ran %+v, after %+v", planned, k2, k)
		}
		if k2.Charged.Epsilon > .5 || k2.Charged.Epsilon < .49 || k2.SampleAfter.Epsilon <= k2.SampleBefore.Epsilon {
			t.Errorf("charged %+v", k2)
		}
		// A draw that was used is amplified less than a new one (P4).
		if grown := k2.SampleAfter.Epsilon - k2.SampleBefore.Epsilon; grown > .8*k.SampleAfter.Epsilon {
			t.Errorf("the second job may spend %g on the sample, the first %g", grown, k.SampleAfter.Epsilon)
		}
		if a, b := sampled(t, o.Dir), sampled(t, o2.Dir); a != b {
			t.Errorf("%d rows, then %d", a, b)
		}
		// The account holds what the draw costs in all, to the last bit.
		l := openAt(t, at)
		s, err := l.Node(background, k.ID)
		if err != nil {
			t.Fatal(err)
		}
		accounts, err := l.Accounts(background)
		if err != nil || accounts[0].Spent[0].Cmp(s.Charged.Epsilon) != 0 || s.Uses != 2 {
			t.Errorf("account %+v, sample %+v, %v", accounts[0], s, err)
		}
		event, err := s.Sampling()
		if err != nil {
			t.Fatal(err)
		}
		eps, _ := s.Spent.Epsilon.Float64()
		all, err := privacy.EpsilonAt(event.With(privacy.Pure{Eps: eps}), privacy.ReplaceOne, 0)
		if err != nil || s.Charged.Epsilon.Cmp(rat(t, all.Epsilon*(1-1e-9))) < 0 || s.Charged.Epsilon.Cmp(rat(t, all.Epsilon*(1+1e-9))) > 0 {
			t.Errorf("charged %v, composed and amplified once %g", s.Charged.Epsilon, all.Epsilon)
		}
		// Retries return what there is, though they are planned after their own debits.
		for _, path := range []string{first, second} {
			if again, err := run(t, path); err != nil || !again.Already {
				t.Errorf("a retry: %v", err)
			}
		}
		if p, err := plan(t, second); err != nil || !strings.Contains(p.Report().Budget.Note, "released before") {
			t.Errorf("the plan of a retry: %v", err)
		}
		seen, err := output.ReadReleases([]string{filepath.Dir(first), filepath.Dir(second)})
		if err != nil || len(seen) != 2 {
			t.Fatal(len(seen), err)
		}
		v, err := l.Verify(background, seen)
		if err != nil || len(v.Findings()) > 0 {
			t.Errorf("%v, %v", v.Findings(), err)
		}
		valid(t, schema(t, "report-v1.schema.json"), filepath.Join(o2.Dir, "report.json"))
		for _, page := range []string{"report.html", "report-public.html"} {
			b, err := os.ReadFile(filepath.Join(o2.Dir, page))
			if err != nil || !strings.Contains(string(b), k.ID+", used by earlier jobs (1)") {
				t.Errorf("%s does not say which draw it was: %v", page, err)
			}
		}
	}
}

// sampled returns the number of rows that the draw of a run had: private.
func sampled(t *testing.T, dir string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "CONFIDENTIAL-diagnostics.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Draws []struct {
			Rows int64 `json:"sample_size"`
		}
	}
	if err := json.Unmarshal(b, &d); err != nil || len(d.Draws) != 1 || d.Draws[0].Rows == 0 {
		t.Fatalf("diagnostics %s, %v", b, err)
	}
	return d.Draws[0].Rows
}

// What cannot be used is refused before anything is drawn or debited.
func TestKeptSampleIsRefused(t *testing.T) {
	tier.Full(t, "TestKeptSample")
	data := filepath.Join(t.TempDir(), "schools.parquet")
	if err := os.WriteFile(data, made(t, func(i int) float64 { return float64(i) }), 0o644); err != nil {
		t.Fatal(err)
	}
	first, at, later := keeping(t, "TABLE", data)
	if err := second(run(t, later(strings.Repeat("0", 32), "early"))); err == nil || !strings.Contains(err.Error(), "is not a sample of this data set") {
		t.Errorf("without a ledger: %v", err)
	}
	o, err := run(t, first)
	if err != nil {
		t.Fatal(err)
	}
	id := o.Report.Draws[0].Kept.ID
	for name, c := range map[string]struct {
		path string
		exit int
		says string
	}{
		"unknown":          {later(strings.Repeat("0", 32), "a"), 3, "is not a sample of this data set"},
		"another data set": {later(id, "b", "id: schools", "id: others"), 3, "is not a sample of this data set"},
		"another size":     {later(id, "c", "size: 6194", "size: 6193"), 3, "dataset.size was another number"},
		"too much":         {later(id, "d", `epsilon: "0.5"`, `epsilon: "3.9"`), 4, "BUDGET_EXCEEDED"},
	} {
		exit, code := exitOf(second(run(t, c.path)))
		err := second(run(t, c.path))
		if c.exit == 3 && exit != 3 || c.exit == 4 && (exit != 4 || code != c.says) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v (exit %d)", name, err, exit)
		}
	}
	// A change in a column that no job reads is enough: the rows may have been moved.
	if err := os.WriteFile(data, made(t, func(i int) float64 { return float64(i ^ 1) }), 0o644); err != nil {
		t.Fatal(err)
	}
	exit, code := exitOf(second(run(t, later(id, "f"))))
	if exit != failure.ExitSource || code != "SAMPLE_CHANGED" {
		t.Errorf("changed data: exit %d, code %s", exit, code)
	}
	l := openAt(t, at)
	if s, err := l.Node(background, id); err != nil || s.Uses != 1 {
		t.Errorf("sample %+v, %v", s, err)
	}
}

// made is a table of 6194 rows with a column that no job reads.
func made(t *testing.T, unread func(i int) float64) []byte {
	t.Helper()
	const rows = 6194
	api, enrolled, other := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	types := make([]string, rows)
	for i := range rows {
		api[i], enrolled[i], other[i], types[i] = float64(200+i%800), float64(100+i%3000), unread(i), "E"
	}
	b, err := os.ReadFile(tableOf(t, columns.Column{Name: "api00", Float64: api}, columns.Column{Name: "enrolled", Float64: enrolled},
		columns.Column{Name: "other", Float64: other}, columns.Column{Name: "school_type", Texts: types}))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Jobs that use one sample at once are planned again until each is charged what it
// adds; together they cost what the draw costs in all.
func TestKeptSampleAtOnce(t *testing.T) {
	tier.Full(t, "TestKeptSample")
	first, at, later := keeping(t)
	o, err := run(t, first)
	if err != nil {
		t.Fatal(err)
	}
	id := o.Report.Draws[0].Kept.ID
	const jobs = 4
	var wg sync.WaitGroup
	for i := range jobs {
		path := later(id, "job"+string(rune('a'+i)))
		wg.Go(func() {
			if _, err := run(t, path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	l := openAt(t, at)
	s, err := l.Node(background, id)
	if err != nil || s.Uses != 1+jobs {
		t.Fatalf("sample %+v, %v", s, err)
	}
	accounts, err := l.Accounts(background)
	if err != nil || accounts[0].Spent[0].Cmp(s.Charged.Epsilon) != 0 || accounts[0].Spent[0].Cmp(big.NewRat(5, 2)) > 0 {
		t.Errorf("spent %v, charged %v, %v", accounts[0].Spent, s.Charged, err)
	}
	v, err := l.Verify(background, nil)
	if err != nil || len(v.Findings()) > 0 {
		t.Errorf("%v, %v", v.Findings(), err)
	}
}

// A run that is cut off after its debit leaves a sample that nobody can use; one
// that is cut off after its seal leaves one that is paid for.
func TestKeptSampleAfterACrash(t *testing.T) {
	tier.Full(t, "TestKeptSample")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, point := range []string{"debited", "drawn", "sealed", "visible"} {
		first, at, later := keeping(t)
		if child(self, first, "PIPELINE_TEST_KILL="+point).Run() == nil {
			t.Fatalf("%s: the run was not killed", point)
		}
		l := openAt(t, at)
		all, err := l.Nodes(background, 0)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: samples %v, %v", point, all, err)
		}
		stored := point == "sealed" || point == "visible"
		if all[0].Open != stored || all[0].Charged.Epsilon.Sign() <= 0 {
			t.Errorf("%s: sample %+v", point, all[0])
		}
		err = second(run(t, later(all[0].ID, "second")))
		if stored != (err == nil) || !stored && !strings.Contains(err.Error(), "was never stored") {
			t.Errorf("%s: then %v", point, err)
		}
		o, err := runWith(t, first, func(o *pipeline.Options) { o.Again = true })
		if err != nil {
			t.Fatal(err)
		}
		// What was sealed is published with its id; else another sample is drawn.
		if id := o.Report.Draws[0].Kept.ID; (id == all[0].ID) != stored {
			t.Errorf("%s: sample %s, then %s", point, all[0].ID, id)
		}
		v, err := l.Verify(background, nil)
		if err != nil || len(v.Findings()) > 0 {
			t.Errorf("%s: %v, %v", point, v.Findings(), err)
		}
	}
}

// Releases that need a δ have one, in the first job and in later ones.
func TestKeptSampleWithDelta(t *testing.T) {
	tier.Full(t, "TestKeptSample")
	for _, sample := range []string{"method: srswor, size: 800", "method: poisson, rate: 0.1"} {
		gaussian := []string{"{column: api00}", "{column: api00, noise: gaussian}", "{column: enrolled}", "{column: enrolled, noise: gaussian}", "epsilon: \"0.5\"}", "epsilon: \"0.5\", delta: 1e-6}", "method: srswor, size: 800", sample}
		first, at, later := keeping(t, gaussian...)
		o, err := run(t, first)
		if err != nil {
			t.Fatal(err)
		}
		k := o.Report.Draws[0].Kept
		o2, err := run(t, later(k.ID, "second"))
		if err != nil {
			t.Fatal(err)
		}
		k2 := o2.Report.Draws[0].Kept
		for _, c := range []privacy.Point{k.Charged, k2.Charged} {
			if c.Delta <= .9e-6 || c.Delta > 1e-6 || c.Epsilon > .5 || c.Epsilon < .3 {
				t.Errorf("%s: charged %+v", sample, c)
			}
		}
		// Who saw the first release knows more of who was drawn: the same δ buys less.
		if first, later := k.SampleAfter.Delta, k2.SampleAfter.Delta-k2.SampleBefore.Delta; later <= 0 || later > .9*first {
			t.Errorf("%s: δ on the sample %g, then %g", sample, first, later)
		}
		l := openAt(t, at)
		a, err := l.Accounts(background)
		if err != nil || a[0].Spent[1].Sign() <= 0 || a[0].Spent[1].Cmp(rat(t, 2e-6)) > 0 {
			t.Errorf("spent %v, %v", a[0].Spent, err)
		}
		v, err := l.Verify(background, nil)
		if err != nil || len(v.Findings()) > 0 {
			t.Errorf("%v, %v", v.Findings(), err)
		}
	}
}
