package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/columns"
)

func main() {
	bin := flag.String("bin", "bin/dprelease", "the program")
	runs := flag.Int("runs", 5, "runs of each")
	groups := flag.String("groups", "", "the table of duckdb-groups.mjs, for the statistics by group")
	two := flag.String("joined", "", "the folder of duckdb-joined.mjs, for sums over two tables")
	flag.Parse()
	if err := run(*bin, *groups, *two, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func run(bin, groups, two string, runs int) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if two != "" {
		return joined(bin, dir, two, runs)
	}
	if groups != "" {
		return byGroup(bin, dir, groups, runs)
	}
	if err := write(filepath.Join(dir, "t.parquet")); err != nil {
		return err
	}
	for _, ways := range []int{2, 3} {
		if err := repeat(fmt.Sprintf("all tables of up to %d of 20 columns, 1,000,000 rows", ways), runs, func() (measure.Cost, error) {
			return once(bin, dir, marginals(ways))
		}); err != nil {
			return err
		}
	}
	return nil
}

const head = `version: 1
job: bench
dataset:
  id: bench
  source: {path: %s}
  relation: %s
  columns:
`

// marginals is the job of the tables.
func marginals(ways int) string {
	text := fmt.Sprintf(head, "t.parquet", "add-remove")
	var names []string
	for c := range 20 {
		names = append(names, fmt.Sprint("c", c))
		text += fmt.Sprintf("    c%d: {domain: [v0, v1, v2, v3, v4, v5, v6, v7, v8, v9]}\n", c)
	}
	return text + fmt.Sprintf(`budget: {limit: {rho: 0.5}}
releases:
  - {name: m, mechanism: marginals, params: {columns: [%s], ways: %d}, guarantee: {rho: 0.5}}
output: {dir: out, formats: [parquet]}
`, strings.Join(names, ", "), ways)
}

// statistics is the job of the five statistics by group.
func statistics(path string) string {
	var labels, edges []string
	for g := range 50 {
		labels = append(labels, fmt.Sprintf("g%02d", g))
	}
	for e := range 101 {
		edges = append(edges, fmt.Sprint(2*e))
	}
	text := fmt.Sprintf(head, path, "replace-one\n  size: 20000000") + "    g: {domain: [" + strings.Join(labels, ", ") +
		"]}\n    x: {lower: 0, upper: 200}\nbudget: {limit: {epsilon: 10}}\nreleases:\n"
	for _, m := range []string{"sum, params: {column: x}", "count", "mean, params: {column: x}", "variance, params: {column: x}",
		"histogram, params: {column: x, edges: [" + strings.Join(edges, ", ") + "]}"} {
		name, _, _ := strings.Cut(m, ",")
		text += fmt.Sprintf("  - {name: %s, by: [g], mechanism: %s, guarantee: {epsilon: 1}}\n", name, m)
	}
	return text + "output: {dir: out, formats: [csv]}\n"
}

// write makes a million rows of 20 columns, the same everywhere.
func write(path string) error {
	rng := rand.New(rand.NewPCG(1, 2))
	var all table.Release
	for c := range 20 {
		column := columns.Column{Name: fmt.Sprint("c", c), Texts: make([]string, 1_000_000)}
		for i := range column.Texts {
			column.Texts[i] = fmt.Sprint("v", min(rng.IntN(10), rng.IntN(10)))
		}
		all.Columns = append(all.Columns, column)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := table.WriteParquet(f, all); err != nil {
		return err
	}
	return f.Close()
}

// once runs one job in a fresh state: its wall and processor time in milliseconds.
func once(bin, dir, text string) (measure.Cost, error) {
	old, _ := filepath.Glob(filepath.Join(dir, "*.db*"))
	for _, path := range append(old, filepath.Join(dir, "out")) {
		if err := os.RemoveAll(path); err != nil {
			return measure.Cost{}, err
		}
	}
	path := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return measure.Cost{}, err
	}
	return measure.Run(exec.Command(bin, "run", "-q", path))
}

func repeat(what string, runs int, run func() (measure.Cost, error)) error {
	var walls, works []float64
	for range runs {
		c, err := run()
		if err != nil {
			return err
		}
		walls, works = append(walls, c.Wall), append(works, c.Work)
	}
	fmt.Printf("%-64s %6.0f ms (best %.0f), %6.0f ms of processor time (best %.0f)\n", what,
		measure.Median(walls), slices.Min(walls), measure.Median(works), slices.Min(works))
	return nil
}

// byGroup takes turns with DuckDB.
func byGroup(bin, dir, path string, runs int) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	var ours, theirs, quotients []float64
	for range runs {
		own, err := once(bin, dir, statistics(path))
		if err != nil {
			return err
		}
		var q struct {
			Median struct {
				CPU float64 `json:"cpu_ms"`
			} `json:"median"`
		}
		if _, err := measure.DuckDB(&q, "duckdb-groups.mjs", path, "1", "2"); err != nil {
			return err
		}
		ours, theirs, quotients = append(ours, own.Work), append(theirs, q.Median.CPU), append(quotients, own.Work/q.Median.CPU)
	}
	fmt.Printf("five statistics by 50 groups, 20,000,000 rows: %.0f ms of processor time, DuckDB %.0f ms, %.2f of it\n",
		measure.Median(ours), measure.Median(theirs), measure.Median(quotients))
	return nil
}
