package pipeline_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/pipeline"
)

var background = context.Background()

// schoolsJob is a small job; tests replace parts of it.
const schoolsJob = `version: 1
job: schools
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
budget: {limit: {epsilon: 2}}
samples:
  srs: {method: srswor, size: 800}
  pois: {method: poisson, rate: 0.2}
releases:
  - {name: all, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "0.5"}}
  - {name: some, from: srs, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "0.5"}}
  - {name: groups, from: pois, mechanism: mean, params: {column: enrolled, by: school_type}, guarantee: {epsilon: "0.5"}}
output: {dir: out, formats: [csv, json, parquet, arrow]}
`

// write puts a job with some parts replaced into a new folder.
func write(t testing.TB, text string, replace ...string) string {
	t.Helper()
	text = strings.NewReplacer(append(replace, "TABLE", example(t, "schools.parquet"))...).Replace(text)
	path := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, path string) (*pipeline.Outcome, error) {
	t.Helper()
	return runWith(t, path, func(*pipeline.Options) {})
}

func runWith(t *testing.T, path string, set func(*pipeline.Options)) (*pipeline.Outcome, error) {
	t.Helper()
	j, err := pipeline.Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	o := options()
	set(&o)
	return pipeline.Run(background, j, o)
}

// estimates reads a column of a released CSV file.
func estimates(t *testing.T, path, column string) []float64 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for i, name := range rows[0] {
		if name != column {
			continue
		}
		for _, r := range rows[1:] {
			x, err := strconv.ParseFloat(r[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, x)
		}
	}
	return out
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if got < want-within || got > want+within {
		t.Errorf("%s: %g, want %g ± %g", what, got, want, within)
	}
}

// The estimates are those of the real table. The tolerances are more than 30
// standard deviations of noise and sampling: a false alarm has a probability
// below 1e-12.
func TestRunReleasesWhatIsTrue(t *testing.T) {
	path := write(t, schoolsJob)
	o, err := run(t, path)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(path), "out")
	if o.Dir != dir || o.Already {
		t.Fatalf("outcome %+v", o)
	}
	near(t, "all", estimates(t, filepath.Join(dir, "all.csv"), "estimate")[0], 664.7126, 20)
	near(t, "some", estimates(t, filepath.Join(dir, "some.csv"), "estimate")[0], 664.7126, 150)
	groups := estimates(t, filepath.Join(dir, "groups.csv"), "estimate")
	if len(groups) != 3 {
		t.Fatalf("%d groups", len(groups))
	}
	near(t, "elementary", groups[0], 421, 300)
	for _, name := range []string{"all", "some", "groups"} {
		for _, ext := range []string{".csv", ".json", ".parquet", ".arrow", ".meta.json"} {
			if _, err := os.Stat(filepath.Join(dir, name+ext)); err != nil {
				t.Error(err)
			}
		}
	}
	sameInEveryFormat(t, dir, "groups")
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".out.partial-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// sameInEveryFormat reads the binary formats back and compares them with the JSON, and with the digits of the CSV.
func sameInEveryFormat(t *testing.T, dir, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ Estimate float64 }
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	var want []float64
	for _, r := range rows {
		want = append(want, r.Estimate)
	}
	shown, noise := estimates(t, filepath.Join(dir, name+".csv"), "estimate"), estimates(t, filepath.Join(dir, name+".csv"), "noise_sd")
	for i, x := range shown {
		if math.Abs(x-want[i]) > noise[i]/10 {
			t.Errorf("row %d: the CSV says %v of %v with noise of %v", i, x, want[i], noise[i])
		}
	}
	for _, ext := range []string{".parquet", ".arrow"} {
		tab, err := table.Open(background, table.Spec{Path: filepath.Join(dir, name+ext)})
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		err = tab.Scan(background, table.ScanOptions{Columns: []string{"estimate"}}, func(b table.Batch) error {
			got = append(got, b.Columns[0].Float64...)
			return nil
		})
		tab.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d rows, want %d", ext, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s row %d: %v, want %v", ext, i, got[i], want[i])
			}
		}
	}
}

// A second run of the same job draws nothing and changes nothing.
func TestSecondRunReturnsTheSame(t *testing.T) {
	path := write(t, schoolsJob)
	if _, err := run(t, path); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(path), "out", "all.csv")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o, err := run(t, path)
	if err != nil {
		t.Fatal(err)
	}
	after, _ := os.ReadFile(file)
	if !o.Already || !bytes.Equal(before, after) {
		t.Fatalf("already %v, same %v", o.Already, bytes.Equal(before, after))
	}
}

// A job that names a plugin of a catalog names the catalog.
func TestApprovedNeedsACatalog(t *testing.T) {
	text := strings.Replace(schoolsJob, "mechanism: mean", "mechanism: trimmed@1.2.0", 1)
	_, err := pipeline.Parse("job.yaml", []byte(text), nil)
	if err == nil || !strings.Contains(err.Error(), "is a plugin of a catalog, and the job names none") {
		t.Error(err)
	}
}
