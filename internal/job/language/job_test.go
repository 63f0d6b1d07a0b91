package language_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
)

func TestPos(t *testing.T) {
	j := mustParse(t, "job.yaml", strings.Replace(base, "    age:", "    \"a.b [x]\": {lower: 0, upper: 1}\n    age:", 1), nil)
	for path, want := range map[string]string{
		"samples.srs.size":                       "job.yaml:14:25",
		"releases[0].params.column":              "job.yaml:16:59",
		"releases[0].guarantee.epsilon":          "job.yaml:16:85",
		"releases[0].guarantee.delta":            "job.yaml:16:73", // not there: the key around it
		`dataset.columns["a.b [x]"].lower`:       "job.yaml:9:17",
		`dataset.columns["a.b [x]"].missing`:     "job.yaml:9:5",
		"releases[7].name":                       "job.yaml:15:1",
		"nowhere.to.be[3].found":                 "job.yaml:1:1",
		job.Key("dataset.columns", "a.b [x]"):    "job.yaml:9:5",
		job.Key(job.Item("releases", 0), "name"): "job.yaml:16:6",
	} {
		if got := j.Pos(path).String(); got != want {
			t.Errorf("%s stands at %s, want %s", path, got, want)
		}
	}
	if !j.Has("samples.srs.size") || j.Has("samples.srs.keep") {
		t.Error("Has does not know what the file has")
	}
	p := j.Problem("samples.srs.size", "is odd", "take another")
	if p.Error() != "job.yaml:14:25: samples.srs.size: is odd (take another)" {
		t.Error(p.Error())
	}
}

func TestValues(t *testing.T) {
	j := mustParse(t, "dir/job.yaml", strings.NewReplacer(
		"{lower: 0, upper: 120}", `{lower: -0.5, upper: 1.2e2, missing: {impute: 40.0}}
    sex: {domain: [m, 1, "2"], outside: {impute: 1}, missing: drop, immutable: true}`,
		"{method: srswor, size: 100}", "{method: poisson, rate: 0.1, keep: true}",
		"limit:", "ledger: sqlite:books.db\n  limit:",
		"{column: age}", "{column: age, n: 0x1F, f: -.50, l: [~, TRUE, \"a\\tb\", <x>]}",
	).Replace(base), nil)
	age, _ := j.Dataset.Column("age")
	sex, _ := j.Dataset.Column("sex")
	switch {
	case age.Type != job.Number || age.Lower.RatString() != "-1/2" || age.Missing.Rule != job.Impute || age.Missing.Number.RatString() != "40":
		t.Errorf("age is %+v", age)
	case sex.Type != job.Category || fmt.Sprint(sex.Domain) != "[m 1 2]" || sex.Outside.Text != "1" || sex.Missing.Rule != job.Drop || !sex.Immutable:
		t.Errorf("sex is %+v", sex)
	case j.Dataset.Source.Path != "dir/people.parquet" || j.Output.Dir != "dir/out" || j.Dir != "dir":
		t.Errorf("paths are %s and %s", j.Dataset.Source.Path, j.Output.Dir)
	case j.Budget.Ledger.Reveal() != "sqlite:books.db":
		t.Errorf("the ledger is %s", j.Budget.Ledger.Reveal())
	case fmt.Sprint(j.Output.Formats) != "[csv json]":
		t.Errorf("formats are %v", j.Output.Formats)
	}
	if got, want := string(j.Releases[0].Params), `{"column":"age","n":31,"f":-0.50,"l":[null,true,"a\tb","<x>"]}`; got != want || !json.Valid([]byte(got)) {
		t.Errorf("params are %s, want %s", got, want)
	}
	s, ok := j.Sample("srs")
	if !ok || s.Method != job.Poisson || s.Rate.RatString() != "1/10" || !s.Keep {
		t.Errorf("the sample is %+v", s)
	}
	if _, ok := j.Sample("other"); ok {
		t.Error("a sample that is not there was found")
	}
	if _, ok := j.Plugin("other"); ok {
		t.Error("a plugin that is not there was found")
	}
}

// No way of printing a job shows the address of its ledger.
func TestSecret(t *testing.T) {
	j := mustParse(t, "job.yaml", strings.Replace(base, "limit:", "ledger: \"postgres://u:${PW}@h/d\"\n  limit:", 1), map[string]string{"PW": "hunter2"})
	if got := j.Budget.Ledger.Reveal(); got != "postgres://u:hunter2@h/d" {
		t.Fatalf("the ledger is %s", got)
	}
	b, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "ledger", j.Budget.Ledger)
	for _, s := range []string{string(b), log.String(), fmt.Sprintf("%v %+v %#v %s %q %x", j.Budget, j.Budget, j.Budget.Ledger, j.Budget.Ledger, j.Budget.Ledger, j.Budget.Ledger)} {
		if strings.Contains(s, "hunter2") || strings.Contains(s, "68756e74657232") {
			t.Errorf("printed: %s", s)
		}
	}
}

// What changes the releases changes the digest; what does not, does not.
func TestDigest(t *testing.T) {
	digest := func(file, text string, env map[string]string) string {
		return mustParse(t, file, text, env).Digest()
	}
	want := digest("job.yaml", base, nil)
	if got := digest("/elsewhere/other.yaml", base, nil); got != want {
		t.Error("the digest depends on where the job stands")
	}
	if got := digest("job.yaml", strings.Replace(base, "people.parquet", `"${P}.parquet"`, 1), map[string]string{"P": "people"}); got != want {
		t.Error("the digest depends on how the path is spelled")
	}
	same := [][2]string{{"dir: out", "dir: out2"}, {"epsilon: 3", "epsilon: 4"}, {"{dir: out}", "{dir: out, formats: [arrow]}"}, {"1000", "1e3"}, {"people.parquet", "./people.parquet"}, {"people.parquet", "/srv/people2.parquet"}, {"path: people.parquet", "path: people.parquet, delimiter: tab"},
		{"{column: age}", "{'column': 'age'}"}}
	for _, c := range same {
		if digest("job.yaml", strings.Replace(base, c[0], c[1], 1), nil) != want {
			t.Errorf("%s in place of %s changes the digest", c[1], c[0])
		}
	}
	other := [][2]string{{"job: demo", "job: demo2"}, {"size: 1000", "size: 1001"}, {"size: 100}", "size: 101}"},
		{"upper: 120", "upper: 121"}, {"upper: 120", "upper: 120, missing: drop"}, {`"0.5"`, "0.25"}, {`"0.5"`, "0.5, delta: 1e-9"}, {"{column: age}", "{column: age, x: 1}"},
		{"from: srs, ", ""}, {"mechanism: mean", "mechanism: median"}, {"size: 100}", "size: 100, keep: true}"},
		{"method: srswor, size: 100", "method: poisson, rate: 0.1"}}
	seen := map[string]string{want: "base"}
	for _, c := range other {
		d := digest("job.yaml", strings.Replace(base, c[0], c[1], 1), nil)
		if before, twice := seen[d]; twice {
			t.Errorf("%s in place of %s has the digest of %s", c[1], c[0], before)
		}
		seen[d] = c[1]
	}
}

// A job that could not be read in part is still checked in part.
func TestJobWithProblemsIsReturned(t *testing.T) {
	j, err := language.Parse("job.yaml", []byte(strings.Replace(base, "job: demo", "job: 1", 1)), language.Options{})
	var problems job.Problems
	if !errors.As(err, &problems) || len(problems) != 1 || j.Dataset.Size != 1000 {
		t.Errorf("got %v and %+v", err, j)
	}
	if problems[:0].Err() != nil {
		t.Error("no problems are an error")
	}
}

// Where the built-in mechanisms are not known when the file is read, their names
// are checked later.
func TestCheckMechanisms(t *testing.T) {
	text := strings.Replace(base, "mechanism: mean", "mechanism: maen", 1)
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := `job.yaml:15:33: releases[0].mechanism: "maen" is neither a built-in mechanism nor a plugin of this job (did you mean mean?)`
	if got := language.CheckMechanisms(j, builtins, nil).Err(); got == nil || got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if got := language.CheckMechanisms(mustParse(t, "job.yaml", base, nil), builtins, nil).Err(); got != nil {
		t.Error(got)
	}
}

// A job with variables is the job with the values written out: the same digest.
func TestVariablesAreTheirValues(t *testing.T) {
	written := strings.NewReplacer("size: 1000", "size: 1000 # the table", "lower: 0, upper: 120", `lower: 0, upper: 120, missing: {impute: 17}`, "mean_age", "mean_north").Replace(base)
	set := strings.NewReplacer("size: 1000 # the table", "size: $(n)", "impute: 17", "impute: $(age)", "mean_north", "mean_$(place)", "path: people.parquet", "path: p$(eople).parquet").Replace(written) +
		"variables: {n: {type: number}, age: {type: number, default: 16}, place: {type: text}, eople: {type: text, default: eople}}\n"
	want := mustParse(t, "job.yaml", written, nil)
	read := func(age string) *job.Job {
		j, err := language.Parse("job.yaml", []byte(set), language.Options{Mechanisms: builtins, Set: map[string]string{"n": "1e3", "age": age, "place": "north"}})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	if j := read("17"); j.Digest() != want.Digest() || j.Variables[1].Value != "17" {
		t.Error("the values of variables make another job than the same values written out")
	}
	if read("18").Digest() == want.Digest() {
		t.Error("another value, the same job")
	}
}
