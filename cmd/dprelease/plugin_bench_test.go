package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/scripttest"
)

// BenchmarkPython runs the mechanism that `plugin new` writes over 5 million rows, in Go and
// in Python by turns: a whole run, processes and all. Reference: 3 times Go's time.
func BenchmarkPython(b *testing.B) {
	scripttest.NeedPython(b)
	dir := b.TempDir()
	do := func(in, program string, args ...string) {
		b.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		b.Fatal(err)
	}
	table, bin := filepath.Join(dir, "x.parquet"), filepath.Join(dir, "dprelease")
	do(abs, "go", "run", "-C", "lab", "./genfloats", "-rows", "5000000", table)
	do(abs, "go", "build", "-o", dir+"/", "./cmd/dprelease", "./cmd/dprelease-mechanisms", "./cmd/dprelease-design")
	jobs := map[string]string{}
	for _, language := range []string{"go", "python"} {
		args := []string{"plugin", "new", "total-" + language, "--lang", language}
		if language == "go" {
			args = append(args, "--replace", abs)
		}
		do(dir, bin, args...)
		source := filepath.Join(dir, "total-"+language)
		if language == "go" {
			do(source, "go", "build", "-buildvcs=false")
		} else {
			do(source, scripttest.Python, "-m", "dprelease.pack")
		}
		plugin := filepath.Join(source, "total-"+language)
		pinned := digestOf(b, plugin)
		jobs[language] = filepath.Join(dir, language+".yaml")
		text := fmt.Sprintf(`version: 1
job: total
dataset: {id: %s, source: {path: %s}, relation: add-remove, columns: {x: {lower: 0, upper: 1, missing: drop}}}
budget: {ledger: "sqlite:%s.db", limit: {epsilon: "1"}}
plugins: {total: {path: %s, sha256: %s}}
releases: [{name: total, mechanism: total, params: {column: x}, guarantee: {epsilon: "1"}}]
output: {dir: out-%s, formats: [csv]}
`, language, table, language, plugin, pinned, language)
		if err := os.WriteFile(jobs[language], []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	took := map[string][]time.Duration{}
	for b.Loop() {
		for language, job := range jobs {
			begun := time.Now()
			do(dir, bin, "run", "-q", "--create-ledger", job)
			took[language] = append(took[language], time.Since(begun))
			do(dir, "rm", "-r", "out-"+language, language+".db")
		}
	}
	median := func(d []time.Duration) float64 { slices.Sort(d); return d[len(d)/2].Seconds() }
	b.ReportMetric(median(took["python"])/median(took["go"]), "times-go")
	b.ReportMetric(median(took["python"]), "s-python")
	b.ReportMetric(median(took["go"]), "s-go")
}
