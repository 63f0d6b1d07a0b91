package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/table"
)

// The two canaries: a number beyond the declared bounds and a text outside the
// declared domain.
const (
	canaryNumber = 31337.25
	canaryText   = "CANARY-7f3a"
)

// privateJobs are jobs over the same columns under each relation; SIZE is the
// public size, where there is one.
var privateJobs = map[string]string{
	"replace-one": `
  relation: replace-one
  size: 400
`,
	"add-remove": `
  relation: add-remove
`,
}

const privateJob = `version: 1
job: private
dataset:
  id: private
  source: {path: table.parquet}
  unit: row%s  columns:
    x: {lower: 0, upper: 10, missing: drop}
    g: {domain: [a, b], missing: drop, outside: drop}
budget: {limit: {epsilon: 3}}
samples:
  some: {method: %s}
releases:
  - {name: all, mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}}
  - {name: groups, from: some, mechanism: mean, params: {column: x, by: g}, guarantee: {epsilon: 1}}
output: {dir: out, formats: [csv, json, arrow]}
`

var sampleOf = map[string]string{"replace-one": "srswor, size: 100", "add-remove": "poisson, rate: 0.25"}

// people makes a table of n rows; some of them are changed.
func people(n int, change func(i int, x *float64, g *string, present *bool)) table.Release {
	x, g, valid := make([]float64, n), make([]string, n), make([]bool, n)
	for i := range n {
		x[i], g[i], valid[i] = float64(i%11), []string{"a", "b"}[i%2], true
		if change != nil {
			change(i, &x[i], &g[i], &valid[i])
		}
	}
	return table.Release{Columns: []table.ReleaseColumn{{Name: "x", Float64: x, Valid: valid}, {Name: "g", Text: g},
		{Name: "secret", Text: slices.Repeat([]string{canaryText}, n)}}}
}

// seen is all that leaves a run but the released values.
type seen struct {
	output string            // exit code, standard output and error
	files  map[string]string // what is in the job's folder, values masked
	raw    []byte            // everything, for the search for canaries
}

var (
	// Digests and the ledger's own marks follow from the released bytes or from chance.
	marks = regexp.MustCompile(`[0-9a-f]{16,}|"ledger":\s*"[^"]*"|<dt>Ledger</dt><dd class="digest">[^<]*`)
	// The released values stand in these cells of a page.
	valueCells = regexp.MustCompile(`(?s)(aria-label="Values of [^"]*">.*?<tbody>).*?(</tbody>)`)
)

func observe(t *testing.T, relation string, content table.Release) seen {
	t.Helper()
	dir := t.TempDir()
	var b bytes.Buffer
	if err := table.WriteParquet(&b, content); err != nil {
		t.Fatal(err)
	}
	job := fmt.Sprintf(privateJob, privateJobs[relation], sampleOf[relation])
	for name, text := range map[string][]byte{"table.parquet": b.Bytes(), "job.yaml": []byte(job)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "dprelease")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "run", "--json", "job.yaml")
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	lines := strings.Split(out.String(), "\n")
	slices.Sort(lines) // releases of one draw run side by side
	s := seen{output: mask(strings.Join(lines, "\n")+errs.String(), dir), files: map[string]string{}}
	s.raw = append(out.Bytes(), errs.Bytes()...)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || name == "table.parquet" || name == "job.yaml" {
			return err
		}
		b, err := os.ReadFile(path)
		s.raw = append(s.raw, b...)
		switch filepath.Ext(name) {
		case ".html":
			s.files[name] = mask(valueCells.ReplaceAllString(string(b), "$1$2"), dir)
		case ".arrow":
			s.files[name] = fmt.Sprint(len(b), " bytes")
		case ".csv":
			s.files[name] = fmt.Sprint(bytes.Count(b, []byte("\n")), " lines")
		case ".json":
			s.files[name] = mask(string(b), dir)
			if name != filepath.Join("out", "report.json") && !strings.HasSuffix(name, ".meta.json") {
				s.files[name] = fmt.Sprint(bytes.Count(b, []byte("\n")), " lines")
			}
		default:
			s.files[name] = "there" // the ledger, which no one publishes
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mask(s, dir string) string {
	return marks.ReplaceAllString(strings.ReplaceAll(s, dir, "DIR"), "MARK")
}

// Runs on neighbouring tables, and on one stuffed with canaries, differ in the
// released values and in nothing else: not in a page, a message, the progress, a
// file's name or size, or the exit code (P19).
func TestNothingButTheReleasesDependsOnData(t *testing.T) {
	for relation := range privateJobs {
		t.Run(relation, func(t *testing.T) {
			base := observe(t, relation, people(400, nil))
			if len(base.files) < 10 || !strings.Contains(base.output, `"progress"`) {
				t.Fatalf("the run shows too little: %d files\n%s", len(base.files), base.output)
			}
			neighbour := people(400, func(i int, x *float64, g *string, _ *bool) {
				if i == 17 {
					*x, *g = 10, "b"
				}
			})
			if relation == "add-remove" {
				neighbour = people(399, nil)
			}
			same(t, "a neighbour", base, observe(t, relation, neighbour))
			canaries := observe(t, relation, people(400, func(i int, x *float64, g *string, present *bool) {
				switch i % 4 {
				case 0:
					*x = canaryNumber
				case 1:
					*g = canaryText
				case 2:
					*present = false
				}
			}))
			same(t, "canaries", base, canaries)
			for _, c := range []string{"31337", canaryText} {
				if at := bytes.Index(canaries.raw, []byte(c)); at >= 0 {
					t.Errorf("the canary %s is in what the run left: …%q", c, canaries.raw[max(0, at-60):at+20])
				}
			}
		})
	}
}

func same(t *testing.T, what string, a, b seen) {
	t.Helper()
	if a.output != b.output {
		t.Errorf("%s: the output differs%s", what, firstDifference(a.output, b.output))
	}
	for name := range b.files {
		if _, ok := a.files[name]; !ok {
			t.Errorf("%s: only one run has %s", what, name)
		}
	}
	for name, text := range a.files {
		if other, ok := b.files[name]; !ok {
			t.Errorf("%s: only one run has %s", what, name)
		} else if other != text {
			t.Errorf("%s: %s differs%s", what, name, firstDifference(text, other))
		}
	}
}

func firstDifference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string { return s[min(len(s), max(0, i-80)):min(len(s), i+80)] }
	return fmt.Sprintf(":\n  …%q\n  …%q", cut(a), cut(b))
}
