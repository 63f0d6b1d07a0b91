package language_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

func TestReadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(base), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := language.Read(file, language.Options{Mechanisms: builtins})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(file), "people.parquet"); j.Dataset.Source.Path != want || j.File != file {
		t.Errorf("source is %s, want %s", j.Dataset.Source.Path, want)
	}
}

// A file that cannot be opened is not a problem of the job language.
func TestReadNoFile(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none.yaml"), dir} {
		_, err := language.Read(path, language.Options{})
		var problems job.Problems
		var pathErr *os.PathError
		if errors.As(err, &problems) || !errors.As(err, &pathErr) {
			t.Errorf("%s: got %v, want a path error", path, err)
		}
	}
}

// A file of 100 MB is refused by its size, and one that does not tell its size
// is read only up to the limit.
func TestReadHugeFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "huge.yaml")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	start := cpuTime(t)
	_, err = language.Read(file, language.Options{})
	if want := file + ": is larger than 4 MB, the most that a job file may be (split the job)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if d := cpuTime(t) - start; d > slower*time.Second {
		t.Errorf("took %v", d)
	}
	if _, err := language.Parse("f", make([]byte, language.MaxBytes+1), language.Options{}); err == nil || !strings.Contains(err.Error(), "larger than 4 MB") {
		t.Errorf("got %v", err)
	}
}

func TestTenThousandReleases(t *testing.T) {
	head, _, _ := strings.Cut(base, "releases:")
	var b strings.Builder
	b.WriteString(head + "output: {dir: out}\nreleases:\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "  - name: mean_%d\n    from: srs\n    mechanism: mean\n    params:\n      column: age\n    guarantee:\n      epsilon: \"0.0001\"\n", i)
	}
	start := cpuTime(t)
	j := mustParse(t, "job.yaml", b.String(), nil)
	if d := cpuTime(t) - start; d > slower*time.Second {
		t.Errorf("took %v, want less than a second", d)
	}
	if len(j.Releases) != 10_000 {
		t.Errorf("%d releases", len(j.Releases))
	}
	if p := j.Pos("releases[9999].params.column"); p.Line != 14+7*9999+6 || p.Column != 7 {
		t.Errorf("last column stands at %v", p)
	}
	if len(j.Digest()) != 64 {
		t.Error("no digest")
	}
}

// Every one of 10,000 releases is wrong: all problems are found, and the text
// that is printed stays readable.
func TestTenThousandProblems(t *testing.T) {
	head, _, _ := strings.Cut(base, "releases:")
	text := head + "output: {dir: out}\nreleases:\n" + strings.Repeat("  - {name: a, mechanism: maen, guarantee: {epsilon: 1}}\n", 10_000)
	_, err := language.Parse("job.yaml", []byte(text), language.Options{Mechanisms: builtins})
	var problems job.Problems
	if !errors.As(err, &problems) || len(problems) != 19_999 {
		t.Fatalf("%d problems, want 10,000 mechanisms and 9,999 names", len(problems))
	}
	if s := err.Error(); strings.Count(s, "\n") != 1000 || !strings.HasSuffix(s, "\nand 18999 more problems") {
		t.Errorf("printed text ends with %s", s[len(s)-100:])
	}
}

// Files made to cost time or memory are refused quickly and cheaply.
func TestHostileFiles(t *testing.T) {
	deepFlow := strings.Repeat("[", 100_000)
	deepBlock := strings.Repeat("- ", 100_000) + "x"
	files := map[string]string{
		"deep flow":       deepFlow,
		"deep mapping":    strings.Repeat("{a: ", 100_000),
		"deep block":      deepBlock,
		"deep in params":  strings.Replace(base, "{column: age}", "{column: "+strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000)+"}", 1),
		"commas":          "a: [" + strings.Repeat("x,", 1<<20) + "]",
		"long line":       "a: " + strings.Repeat("x", 4<<20-10),
		"long key":        strings.Repeat("x", 4<<20-10) + ": 1",
		"many keys":       manyKeys(100_000),
		"question marks":  strings.Repeat("? ", 100_000),
		"anchors":         strings.Repeat("&a ", 100_000),
		"aliases":         "a: &a [x]\nb: [" + strings.Repeat("*a,", 100_000) + "]",
		"quotes":          strings.Repeat("'", 1<<20),
		"comments":        strings.Repeat("# x\n", 140_000) + base,
		"percent":         strings.Repeat("%", 100_000),
		"documents":       strings.Repeat("---\n", 100_000),
		"broken at end":   base + strings.Repeat("# x\n", 50_000) + "}",
		"broken at start": "}" + strings.Repeat("a: 1\n", 50_000),
		"domain":          strings.Replace(base, "{lower: 0, upper: 120}", "{domain: ["+numbers(200_000)+"]}", 1),
	}
	for _, name := range tier.Some(slices.Sorted(maps.Keys(files)), 3) {
		text := files[name]
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := cpuTime(t)
			_, err := language.Parse("job.yaml", []byte(text), language.Options{Mechanisms: builtins})
			took := cpuTime(t) - start
			runtime.ReadMemStats(&after)
			if name != "domain" && name != "comments" && err == nil {
				t.Error("no problem was found")
			}
			if err != nil && len(err.Error()) > 300_000 {
				t.Errorf("the text has %d characters", len(err.Error()))
			}
			t.Logf("%v, %d MB allocated", took, (after.TotalAlloc-before.TotalAlloc)>>20)
			if took > slower*3*time.Second {
				t.Errorf("took %v", took)
			}
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 1024 {
				t.Errorf("allocated %d MB", mb)
			}
		})
	}
}

func manyKeys(n int) string {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	return b.String()
}

func numbers(n int) string {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%d,", i)
	}
	return b.String()
}
