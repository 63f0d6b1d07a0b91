//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/plugins/columns"
)

// writeParts writes a table of two rows in each of many files, in every format.
func writeParts(t *testing.T, dir string, files int) {
	t.Helper()
	for i := range files {
		r := table.Release{Columns: []columns.Column{
			{Name: "x", Float64: []float64{float64(i % 10), 5}}, {Name: "u", Int64: []int64{int64(i), int64(i + 1)}}}}
		text := fmt.Sprintf("x,u\n%d,%d\n5,%d\n", i%10, i, i+1)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		var parquet, arrow bytes.Buffer
		if err := table.WriteParquet(&parquet, r); err != nil || table.WriteArrow(&arrow, r) != nil {
			t.Fatal(err)
		}
		for ext, b := range map[string][]byte{"parquet": parquet.Bytes(), "arrow": arrow.Bytes(), "csv": []byte(text), "csv.gz": packed.Bytes()} {
			path := filepath.Join(dir, ext, fmt.Sprintf("part=%d", i), "t."+ext)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const partsJob = `version: 1
job: parts
dataset:
  id: parts
  relation: add-remove
%s
budget: {limit: {epsilon: "1"}}
%sreleases:
  - {name: r, %smechanism: mean, params: {column: x}, guarantee: {epsilon: "0.5"}}
output: {dir: out}
`

// A table may have more files than a process may open: one table in each format, drawn from and kept, collected, by units
// and in two tables.
func TestManyFiles(t *testing.T) {
	const x = "columns: {x: {lower: 0, upper: 10}}"
	const files, may = 300, 128
	program, dir := asProgram(t), t.TempDir()
	writeParts(t, dir, files)
	source := func(format string) string { return "source: {path: " + filepath.Join(dir, format) + "}" }
	one := func(format, more string) string { return "  " + source(format) + "\n  unit: " + more + "\n  " + x }
	jobs := map[string]string{
		"a kept sample": fmt.Sprintf(partsJob, one("parquet", "row"), "samples: {s: {method: poisson, rate: 0.5, keep: true}}\n", "from: s, "),
		"collected":     fmt.Sprintf(partsJob, one("csv", "row\n  collected: {method: poisson, rate: 0.1}"), "", ""),
		"units":         fmt.Sprintf(partsJob, one("csv", "{column: u, name: person}\n  cap: {rows: 2}"), "", ""),
		"two tables": fmt.Sprintf(partsJob, "  unit: {column: u, name: person}\n  tables:\n    a: {"+source("parquet")+", cap: {rows: 2}, "+x+"}\n    b: {"+
			source("arrow")+", cap: {rows: 2}, "+x+"}", "", "table: a, "),
	}
	jobs["two tables"] = strings.Replace(jobs["two tables"], "releases:\n",
		`releases: [{name: q, table: b, mechanism: mean, params: {column: x}, guarantee: {epsilon: "0.5"}},`+"\n", 1)
	jobs["two tables"] = strings.NewReplacer("  - {name: r", "  {name: r", "\noutput", "]\noutput").Replace(jobs["two tables"])
	for _, format := range []string{"parquet", "arrow", "csv", "csv.gz"} {
		jobs[format] = fmt.Sprintf(partsJob, one(format, "row"), "", "")
	}
	for name, text := range jobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := t.TempDir()
			if err := os.WriteFile(filepath.Join(at, "job.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			c := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" run job.yaml`, may), program)
			c.Dir = at
			out, err := c.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Charged for everything") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
