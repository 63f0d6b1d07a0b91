package draft_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/design/draft"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/columns"
)

func write(t *testing.T, s draft.Source) string {
	t.Helper()
	b, err := draft.Write(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func save(t *testing.T, path, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// problems are the lines of a job that have a problem.
func problems(t *testing.T, text string) (lines []int) {
	t.Helper()
	_, err := language.Parse("job.yaml", []byte(text), language.Options{Mechanisms: []string{"count"}})
	var found job.Problems
	if err != nil && !errors.As(err, &found) {
		t.Fatal(err)
	}
	for _, p := range found {
		lines = append(lines, p.Line)
	}
	return lines
}

// The only problems of a draft are the places to fill in, whatever the columns are called and of whatever type.
func TestOnlyPlacesToFillIn(t *testing.T) {
	files, err := filepath.Glob("../../data/table/testdata/writers/*")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	dir := t.TempDir()
	files = append(files, save(t, filepath.Join(dir, "odd, $(names): [x] #1.csv"), "\"a, b\",c: d,#e,[f],\"g\nh\",,null,7,\"\"\"i\"\"\",*j,- k,true,<<,~\n"),
		save(t, filepath.Join(dir, "no\"thing.csv"), "\"a\nb\"\n"), "../../../examples/data/eusilc.parquet", "../../../examples/data/eusilc.csv")
	tried := 0
	for _, file := range files {
		if !slices.Contains([]string{".parquet", ".arrow", ".feather", ".csv"}, filepath.Ext(file)) {
			continue
		}
		tried++
		text := write(t, draft.Source{Path: file, Folder: "."})
		var want []int
		for i, line := range strings.Split(text, "\n") {
			if strings.Contains(line, draft.Mark) {
				want = append(want, i+1)
			}
		}
		if got := problems(t, text); len(want) < 4 || !slices.Equal(got, want) {
			t.Errorf("%s: problems in lines %v, places to fill in lines %v of\n%s", file, got, want, text)
		}
	}
	if tried < 8 {
		t.Fatalf("only %d tables were tried", tried)
	}
}

// Filled in as its comments say, a draft is a job without a problem.
func TestFilledIn(t *testing.T) {
	text := write(t, draft.Source{Path: "../../../examples/data/eusilc.parquet", Folder: "."})
	fill := map[string]string{"id": "people", "relation": "add-remove", "lower": "0", "upper": "120", "domain": "[a, b]", "epsilon": "0.1"}
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if key, _, ok := strings.Cut(line, ": "+draft.Mark); ok {
			value := fill[strings.TrimSpace(key)]
			if value == "" {
				t.Fatalf("%s is not known", line)
			}
			line = key + ": " + value
		}
		out = append(out, line)
	}
	if got := problems(t, strings.Join(out, "\n")); got != nil {
		t.Errorf("problems in lines %v of\n%s", got, strings.Join(out, "\n"))
	}
}

// Two tables with the same columns have the same draft, whatever they hold and however many rows they have: so no value
// and no number of rows was used.
func TestNothingButTheSchemaIsRead(t *testing.T) {
	dir := t.TempDir()
	parquet := func(n int, f float64, text string) string {
		r := table.Release{Columns: []columns.Column{{Name: "x", Float64: []float64{}}, {Name: "s", Texts: []string{}}, {Name: "n", Int64: []int64{}}}}
		for i := range n {
			r.Columns[0].Float64 = append(r.Columns[0].Float64, f*float64(i))
			r.Columns[1].Texts = append(r.Columns[1].Texts, fmt.Sprint(text, i))
			r.Columns[2].Int64 = append(r.Columns[2].Int64, int64(i))
		}
		var b bytes.Buffer
		if err := table.WriteParquet(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for name, pair := range map[string][2]map[string]string{
		"csv":     {{"t.csv": "age,name\n1,a\n"}, {"t.csv": "age,name\n" + strings.Repeat("7,\"hidden\n", 9) + "\xff,,,\n"}},
		"parquet": {{"t.parquet": parquet(3, 1, "a")}, {"t.parquet": parquet(5000, -7.5, "hidden")}},
		"folders": {{"t/year=1/a.csv": "x\n1\n", "t/year=2/a.csv": "x\n1\n"}, {"t/year=02/a.csv": "x\n7\n8\n", "t/year=__HIVE_DEFAULT_PARTITION__/b.csv": "x\n"}},
	} {
		var drafts [2]string
		for i, files := range pair {
			at := filepath.Join(dir, name, fmt.Sprint(i))
			path := ""
			for file, text := range files {
				save(t, filepath.Join(at, file), text)
				path = strings.SplitAfterN(file, "/", 2)[0]
			}
			t.Chdir(at)
			drafts[i] = write(t, draft.Source{Path: path, Folder: "."})
		}
		if drafts[0] != drafts[1] || strings.Contains(drafts[1], "hidden") {
			t.Errorf("%s: two drafts for one schema:\n%s\n%s", name, drafts[0], drafts[1])
		}
	}
	// Another schema has another draft.
	a := write(t, draft.Source{Path: save(t, filepath.Join(dir, "a/t.csv"), "age\n"), Folder: filepath.Join(dir, "a")})
	b := write(t, draft.Source{Path: save(t, filepath.Join(dir, "b/t.csv"), "sex\n"), Folder: filepath.Join(dir, "b")})
	if a == b {
		t.Error("the draft does not depend on the schema")
	}
}

func TestSourceOfADraft(t *testing.T) {
	dir := t.TempDir()
	save(t, filepath.Join(dir, "data/t.txt"), "a;b\n")
	text := write(t, draft.Source{Path: filepath.Join(dir, "data/t.txt"), Delimiter: ';', Folder: dir})
	if !strings.Contains(text, "\n  source: {path: "+filepath.Join(dir, "data/t.txt")+", delimiter: ';'}\n") {
		t.Error(text)
	}
	t.Chdir(dir)
	save(t, "data/t.txt", "a\tb\n")
	text = write(t, draft.Source{Path: "data/t.txt", Delimiter: '\t', Folder: "jobs"})
	if !strings.Contains(text, "\n  source: {path: ../data/t.txt, delimiter: tab}\n") {
		t.Error(text)
	}
	var f *failure.Failure
	if _, err := draft.Write(t.Context(), draft.Source{Path: "data"}); !errors.As(err, &f) || f.Code != "SOURCE_NOT_FOUND" {
		t.Error(err)
	}
}

// A job names its table as its folder sees it, and an address as it is.
func TestNamed(t *testing.T) {
	for _, c := range [][3]string{{"data/t.csv", ".", "data/t.csv"}, {"data/t.csv", "jobs", "../data/t.csv"}, {"/srv/t.csv", "jobs", "/srv/t.csv"},
		{"s3://bucket/t.parquet", "jobs", "s3://bucket/t.parquet"}} {
		if got := draft.Named(c[0], c[1]); got != c[2] {
			t.Errorf("%s in %s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
