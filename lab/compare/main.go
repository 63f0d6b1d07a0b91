package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/dprelease/dprelease/lab/measure"
)

const job = `version: 1
job: bench-%[1]d
dataset:
  id: bench
  source: {path: %[2]s}
  relation: replace-one
  size: %[3]d
  unit: row
  columns: {x: {lower: 0, upper: 200}}
budget: {limit: {epsilon: 2}}
samples:
  one: {method: poisson, rate: 0.01}
  few: {method: srswor, size: %[5]d}
releases:
  - {name: m, from: %[4]s, mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}}
output: {dir: out, formats: [csv]}
`

func main() {
	rows := flag.Int("rows", 20_000_000, "rows of the table")
	runs := flag.Int("runs", 9, "runs of each")
	bin := flag.String("bin", "bin/dprelease", "the program")
	before := flag.String("before", "", "another build of the program, measured in turns with it")
	small := flag.String("small", "", "a table of 1,000 rows, for what a run costs besides rows")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: compare [-rows N] [-runs N] [-bin PROGRAM] [-before PROGRAM] [-small TABLE] TABLE")
		os.Exit(2)
	}
	if err := compare(*bin, *before, flag.Arg(0), *small, *rows, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// smallRows is the size of the small table.
const smallRows = 1000

// compare takes turns, so that a change of the machine's speed hits all alike.
func compare(bin, before, table, small string, rows, runs int) error {
	table, err := filepath.Abs(table)
	if err != nil {
		return err
	}
	if small != "" {
		if small, err = filepath.Abs(small); err != nil {
			return err
		}
	}
	// Deleted at the end: ext4 passes over what was deleted within the last seconds
	// whenever a file is made, and the next run would pay for it.
	root, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	peers := []*peer{{threads: 1}, {threads: 2}}
	var programs []*program
	for _, d := range peers {
		programs = append(programs, &program{name: "dprelease", path: bin, beside: d})
		if before != "" {
			programs = append(programs, &program{name: "before", path: before, beside: d})
		}
	}
	samples := []struct{ name, from string }{{"mean of the full table", "all"}, {"Poisson 1 %", "one"}, {"SRSWOR 10,000", "few"}}
	for i := range runs {
		for _, d := range peers {
			if err := d.measure(table, rows); err != nil {
				return err
			}
		}
		for _, p := range programs {
			for _, s := range samples {
				if err := p.measure(root, s.from, fmt.Sprintf(job, i, table, rows, s.from, 10_000)); err != nil {
					return err
				}
				if small != "" {
					if err := p.measure(root, "small "+s.from, fmt.Sprintf(job, i, small, smallRows, s.from, smallRows/10)); err != nil {
						return err
					}
				}
			}
		}
	}
	for _, d := range peers {
		fmt.Printf("%-48s %8.1f ms; %.1f ms of processor time; the first query of a process %.1f ms\n",
			fmt.Sprintf("DuckDB avg, warm, threads: %d", d.threads), measure.Median(d.warm), measure.Median(d.work), measure.Median(d.first))
	}
	for _, p := range programs {
		for _, s := range samples {
			wall, work := p.median(s.from)
			p.print(fmt.Sprintf("%s, threads: %d, %s", p.name, p.beside.threads, s.name), wall, work)
			if small != "" {
				fixed, busy := p.median("small " + s.from)
				p.print("  the same job over 1,000 rows", fixed, busy)
				p.print("  rows alone", wall-fixed, work-busy)
			}
		}
		fmt.Printf("%-48s %8.0f MB\n", p.name+", largest process", float64(p.peak)/1024)
	}
	return nil
}

// print writes times beside those of DuckDB on as many threads.
func (p *program) print(label string, wall, work float64) {
	fmt.Printf("%-48s %8.1f ms, %.2f of DuckDB's; %.0f ms of processor time, %.2f of DuckDB's\n",
		label, wall, wall/measure.Median(p.beside.warm), work, work/measure.Median(p.beside.work))
}

// program is a build of dprelease, and what its runs took on as many processors as its peer has threads, by table and sample.
type program struct {
	name, path string
	beside     *peer
	wall, work map[string][]float64
	peak       int64
}

func (p *program) measure(root, on, text string) error {
	r, err := once(p.path, root, text, p.beside.threads)
	if err != nil {
		return err
	}
	if p.wall == nil {
		p.wall, p.work = map[string][]float64{}, map[string][]float64{}
	}
	p.wall[on], p.work[on] = append(p.wall[on], r.Wall), append(p.work[on], r.Work)
	p.peak = max(p.peak, r.Peak)
	return nil
}

func (p *program) median(on string) (wall, work float64) {
	return measure.Median(p.wall[on]), measure.Median(p.work[on])
}

// once runs one job in a fresh folder, on some of the processors.
func once(bin, root, text string, threads int) (measure.Cost, error) {
	dir, err := os.MkdirTemp(root, "run")
	if err != nil {
		return measure.Cost{}, err
	}
	path := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return measure.Cost{}, err
	}
	return measure.Run(exec.Command("taskset", "-c", fmt.Sprintf("0-%d", threads-1), bin, "run", "-q", path))
}

// peer is DuckDB's average on some threads: the medians of several queries by wall and by processor, and the
// first queries of their processes, in milliseconds.
type peer struct {
	threads           int
	warm, work, first []float64
}

func (d *peer) measure(table string, rows int) error {
	var q struct {
		Median float64 `json:"median_ns_per_row"`
		Work   float64 `json:"median_work_ms"`
		First  float64 `json:"first_ns_per_row"`
	}
	if _, err := measure.DuckDB(&q, "duckdb-avg.mjs", table, "x", "9", fmt.Sprint(d.threads)); err != nil {
		return err
	}
	d.warm, d.first = append(d.warm, q.Median*float64(rows)/1e6), append(d.first, q.First*float64(rows)/1e6)
	d.work = append(d.work, q.Work)
	return nil
}
