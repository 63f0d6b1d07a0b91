package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkDeclared adds up 5 million rows by the mechanism that `plugin new` writes, whose query is declared, and by the
// built-in sum, by turns: a whole run, processes and all. A plugin is asked again after two seconds.
func BenchmarkDeclared(b *testing.B) {
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
	do(dir, bin, "plugin", "new", "total", "--replace", abs)
	do(filepath.Join(dir, "total"), "go", "build", "-buildvcs=false")
	plugin := filepath.Join(dir, "total", "total")
	jobs := map[string]string{}
	for _, mechanism := range []string{"total", "sum"} {
		jobs[mechanism] = filepath.Join(dir, mechanism+".yaml")
		text := fmt.Sprintf(`version: 1
job: total
dataset: {id: %s, source: {path: %s}, relation: add-remove, columns: {x: {lower: 0, upper: 1, missing: drop}}}
budget: {ledger: "sqlite:%s.db", limit: {epsilon: "1"}}
plugins: {total: {path: %s, sha256: %s}}
releases: [{name: total, mechanism: %s, params: {column: x}, guarantee: {epsilon: "1"}}]
output: {dir: out-%s, formats: [csv]}
`, mechanism, table, mechanism, plugin, digestOf(b, plugin), mechanism, mechanism)
		if err := os.WriteFile(jobs[mechanism], []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	took := map[string][]time.Duration{}
	for b.Loop() {
		for mechanism, job := range jobs {
			begun := time.Now()
			do(dir, bin, "run", "-q", "--create-ledger", job)
			took[mechanism] = append(took[mechanism], time.Since(begun))
			do(dir, "rm", "-r", "out-"+mechanism, mechanism+".db")
		}
	}
	median := func(d []time.Duration) float64 { slices.Sort(d); return d[len(d)/2].Seconds() }
	b.ReportMetric(median(took["total"])-median(took["sum"]), "s-more")
	b.ReportMetric(median(took["total"]), "s-declared")
	b.ReportMetric(median(took["sum"]), "s-builtin")
}
