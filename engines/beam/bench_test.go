package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/plugins/columns"
)

var most = flag.Int("most", 20, "millions of rows of the largest table of BenchmarkRows")

// BenchmarkRows measures the cost of a row on prism with two workers and eight parts, and its ratio to the plain run's. The start of
// either, which is the time of a job on a thousand rows, is left out and said apart. Reference: docs/how-to/beam.md.
func BenchmarkRows(b *testing.B) {
	const million = 1 << 20
	start := map[string]time.Duration{}
	for _, files := range []int{0, 1, 5, 10, 20, 50, 100, 300, 1000} {
		if files > *most {
			break
		}
		rows := max(1000, files*million)
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			took := map[string]time.Duration{}
			for b.Loop() {
				for name, engine := range map[string]string{"plain": "", "beam": "engine: {runner: prism, options: {workers: 2}}\n"} {
					path := generated(b, rows, max(1, files), engine)
					began := time.Now()
					if _, err := pipeline.Run(b.Context(), load(b, path), options(b)); err != nil {
						b.Fatal(err)
					}
					took[name] = time.Since(began)
					if err := os.RemoveAll(filepath.Dir(path)); err != nil {
						b.Fatal(err)
					}
				}
			}
			if files > 0 {
				b.ReportMetric(float64(took["beam"]-start["beam"])/float64(took["plain"]-start["plain"]), "times")
			}
			for name, t := range took {
				if files == 0 {
					start[name] = t
					b.ReportMetric(t.Seconds()*1e3, "start-"+name+"-ms")
					continue
				}
				b.ReportMetric(float64((t-start[name]).Nanoseconds())/float64(rows), name+"-ns/row")
			}
		})
	}
}

// generated writes a job on a table of some files, which are all the same.
func generated(b *testing.B, rows, files int, engine string) string {
	b.Helper()
	dir := b.TempDir()
	each := rows / files
	x, y := make([]float64, each), make([]string, each)
	for i := range x {
		x[i], y[i] = float64(uint32(i)*2654435761%100000)/100, []string{"a", "b", "c", "d"}[i*31%7%4]
	}
	var data bytes.Buffer
	err := table.WriteParquet(&data, table.Release{Columns: []columns.Column{{Name: "x", Float64: x}, {Name: "g", Texts: y}}})
	for i := range files { // copies: links to one file are one file
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("t-%03d.parquet", i)), data.Bytes(), 0o600)
		}
	}
	path := filepath.Join(dir, "job.yaml")
	text := `version: 1
job: rows
dataset: {id: rows, source: {path: "t-*.parquet"}, relation: add-remove, unit: row, columns: {x: {lower: 0, upper: 1000}, g: {domain: [a, b, c, d]}}}
budget: {limit: {epsilon: 9}}
samples: {p: {method: poisson, rate: 0.5}}
releases:
  - {name: m, mechanism: mean, params: {column: x}, by: [g], guarantee: {epsilon: 1}}
  - {name: n, from: p, mechanism: count, where: "x > 500", guarantee: {epsilon: 1}}
sandbox: off
output: {dir: out, formats: [json]}
`
	if err == nil {
		err = os.WriteFile(path, []byte(text+engine), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	return path
}
