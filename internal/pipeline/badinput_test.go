package pipeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/columns"
)

// canary is a value that must not appear in any message.
const canary = 31337.25

// tableOf writes a small table and returns its path.
func tableOf(t testing.TB, columns ...columns.Column) string {
	t.Helper()
	var b bytes.Buffer
	if err := table.WriteParquet(&b, table.Release{Columns: columns}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "table.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const tinyJob = `version: 1
job: tiny
dataset:
  id: tiny
  source: {path: TABLE}
  relation: replace-one
  size: 4
  unit: row
  columns:
    x: {lower: 0, upper: 10}
    g: {domain: [a, b]}
budget: {limit: {epsilon: 1}}
releases:
  - {name: r, mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}}
output: {dir: out, formats: [csv]}
`

func good(t testing.TB) string {
	return tableOf(t, columns.Column{Name: "x", Float64: []float64{1, 2, 3, canary}}, columns.Column{Name: "g", Texts: []string{"a", "b", "a", "b"}})
}

func exitOf(err error) (int, string) {
	var f *failure.Failure
	var ps job.Problems
	switch {
	case errors.As(err, &f):
		return f.Exit, f.Code
	case errors.As(err, &ps):
		return failure.ExitInvalidJob, "PROBLEM"
	case err == nil:
		return 0, ""
	}
	return -1, fmt.Sprintf("%T", err)
}

func TestBadInput(t *testing.T) {
	nulls := func() string {
		return tableOf(t, columns.Column{Name: "x", Float64: []float64{1, 2, 3, 4}, Blank: []bool{true, true, true, true}}, columns.Column{Name: "g", Texts: []string{"a", "b", "a", "b"}})
	}
	foreign := func() string {
		return tableOf(t, columns.Column{Name: "x", Float64: []float64{1, 2, 3, 4}}, columns.Column{Name: "g", Texts: []string{"a", "b", "CANARY", "b"}})
	}
	text := func() string {
		return tableOf(t, columns.Column{Name: "x", Texts: []string{"CANARY", "b", "a", "b"}}, columns.Column{Name: "g", Texts: []string{"a", "b", "a", "b"}})
	}
	truncated := func() string {
		p := good(t)
		b, _ := os.ReadFile(p)
		os.WriteFile(p, b[:len(b)/2], 0o644)
		return p
	}
	empty := func() string {
		p := good(t)
		os.WriteFile(p, nil, 0o644)
		return p
	}
	grouped := []string{"params: {column: x}", "params: {column: x, by: g}"}
	for i, c := range []struct {
		name    string
		table   string
		replace []string
		exit    int
		says    string
	}{
		{"missing file", "nowhere.parquet", nil, failure.ExitSource, "no such file"},
		{"empty file", empty(), nil, failure.ExitSource, "table.parquet"},
		{"truncated file", truncated(), nil, failure.ExitSource, "table.parquet"},
		{"column not there", good(t), []string{"x: {lower", "y: {lower", "column: x", "column: y"}, failure.ExitSource, "y"},
		{"column not declared", good(t), []string{"column: x", "column: z"}, failure.ExitInvalidJob, "z"},
		{"text for numbers", text(), nil, failure.ExitInvalidJob, "text"},
		{"bounds missing", good(t), []string{"{lower: 0, upper: 10}", "{lower: 0}"}, failure.ExitInvalidJob, "upper"},
		{"bounds reversed", good(t), []string{"lower: 0, upper: 10", "lower: 10, upper: 0"}, failure.ExitInvalidJob, "lower"},
		{"size disagrees", good(t), []string{"size: 4", "size: 5"}, failure.ExitInvalidJob, "dataset.size"},
		{"all null, refused", nulls(), nil, failure.ExitSource, "DATA_MISSING"},
		{"all null, dropped", nulls(), []string{"upper: 10}", "upper: 10, missing: drop}"}, 0, ""},
		{"all null, imputed", nulls(), []string{"upper: 10}", "upper: 10, missing: {impute: 3}}"}, 0, ""},
		{"group outside the domain, refused", foreign(), grouped, failure.ExitSource, "DATA_OUTSIDE"},
		{"group outside the domain, dropped", foreign(), append([]string{"domain: [a, b]", "domain: [a, b], outside: drop"}, grouped...), 0, ""},
		{"group without rows", good(t), append([]string{"[a, b]", "[a, b, nobody]"}, grouped...), 0, ""},
		{"sample larger than the table", good(t), []string{"releases:", "samples: {s: {method: srswor, size: 9}}\nreleases:", "{name: r,", "{name: r, from: s,"}, failure.ExitInvalidJob, "9 > 4"},
		{"unknown mechanism", good(t), []string{"mechanism: mean", "mechanism: meen"}, failure.ExitInvalidJob, "meen"},
		{"unknown parameter", good(t), []string{"{column: x}", "{colum: x}"}, failure.ExitInvalidJob, "colum"},
		{"unlike every parameter", good(t), []string{"{column: x}", "{column: x, zzz: 1}"}, failure.ExitInvalidJob, "the parameters are "},
		{"over the limit", good(t), []string{"limit: {epsilon: 1}", "limit: {epsilon: 0.5}"}, failure.ExitBudget, ""},
		{"ledger of an unknown kind", good(t), []string{"budget: {", "budget: {ledger: 'mysql://h/d', "}, failure.ExitInvalidJob, "budget.ledger"},
		{"frame missing", good(t), []string{"releases:", "samples: {s: {method: multistage, stages: [{unit: g, take: 1}, {take: 1}]}}\nreleases:", "{name: r,", "{name: r, from: s,"}, failure.ExitInvalidJob, "frame"},
	} {
		if testing.Short() && i%4 != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			path := write(t, tinyJob, append(c.replace, "TABLE", c.table)...)
			_, err := run(t, path)
			exit, code := exitOf(err)
			if exit != c.exit {
				t.Fatalf("exit %d (%s), want %d: %v", exit, code, c.exit, err)
			}
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %q, want %q in it", err, c.says)
			}
			for _, leak := range []string{"31337", "CANARY"} {
				if strings.Contains(err.Error(), leak) {
					t.Errorf("leaks %s: %v", leak, err)
				}
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "out")); err == nil {
				t.Error("an output folder was left")
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".out*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A length that a page of text states falsely is found before anything is spent, and not even a ledger is left.
func TestDamageIsFoundBeforeTheDebit(t *testing.T) {
	p := good(t)
	b, err := os.ReadFile(p)
	at := bytes.Index(b, []byte{1, 0, 0, 0, 'a'})
	if err != nil || at < 0 {
		t.Fatal(err, at)
	}
	b[at] = 0xee
	if err := os.WriteFile(p, b, 0o644); err != nil {
		t.Fatal(err)
	}
	path := write(t, tinyJob, "TABLE", p, "params: {column: x}", "params: {column: x, by: g}")
	_, err = run(t, path)
	if exit, code := exitOf(err); exit != failure.ExitSource || code != "SOURCE_CORRUPT" || !strings.Contains(err.Error(), "nothing debited") {
		t.Errorf("exit %d: %v", exit, err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Under add-remove the number of rows is secret: nothing that a run says about a
// table of another size differs.
func TestAddRemoveDoesNotRevealTheSize(t *testing.T) {
	job := strings.NewReplacer("replace-one", "add-remove", "  size: 4\n", "").Replace(tinyJob)
	for _, rows := range []int{0, 1, 3, 4} {
		x, g := []float64{}, []string{}
		for i := range rows {
			x, g = append(x, float64(i)), append(g, "a")
		}
		p := tableOf(t, columns.Column{Name: "x", Float64: x}, columns.Column{Name: "g", Texts: g})
		if _, err := run(t, write(t, job, "TABLE", p)); err != nil {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

var verdictLine = regexp.MustCompile(`(?m)^ *"verdict": .*\n`)

// Two tables that differ in one record give the same report but for what is made from the
// released values: digests of the files, and the verdict of a release that tells nothing (report-v1).
func TestReportDoesNotDependOnTheData(t *testing.T) {
	var reports [2]string
	for i, last := range []float64{4, canary} {
		p := tableOf(t, columns.Column{Name: "x", Float64: []float64{1, 2, 3, last}}, columns.Column{Name: "g", Texts: []string{"a", "b", "a", "b"}})
		path := write(t, tinyJob, "TABLE", p)
		o, err := run(t, path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(o.Dir, "report.json"))
		if err != nil {
			t.Fatal(err)
		}
		text := verdictLine.ReplaceAllString(string(b), "")
		for _, f := range o.Report.Releases[0].Files {
			text = strings.ReplaceAll(text, f.SHA256, "DIGEST")
		}
		// The job names the table by path, the two tables lie in two places, and each
		// job has a ledger of its own.
		text = strings.ReplaceAll(text, o.Report.Job.Digest, "JOB")
		text = strings.ReplaceAll(text, o.Report.Budget.Ledger, "LEDGER")
		reports[i] = strings.ReplaceAll(text, o.Report.Budget.Head, "HEAD")
	}
	if reports[0] != reports[1] {
		t.Errorf("the reports differ:\n%s\n%s", reports[0], reports[1])
	}
	if strings.Contains(reports[1], "31337") {
		t.Error("the report holds a value")
	}
}
