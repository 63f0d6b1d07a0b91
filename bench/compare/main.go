package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
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
	small := flag.String("small", "", "a table of 1,000 rows, for what a run costs besides rows")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: compare [-rows N] [-runs N] [-bin PROGRAM] [-small TABLE] TABLE")
		os.Exit(2)
	}
	if err := compare(*bin, flag.Arg(0), *small, *rows, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// smallRows is the size of the small table.
const smallRows = 1000

// compare takes turns, so that a change of the machine's speed hits all alike.
func compare(bin, table, small string, rows, runs int) error {
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
	sources := []string{"table", "one", "few"}
	wall, work := map[string][]float64{}, map[string][]float64{}
	var warm, first, whole []float64
	var peak int64
	for i := range runs {
		q, err := duckdb(table, 9)
		if err != nil {
			return err
		}
		warm, first = append(warm, q.Median*float64(rows)/1e6), append(first, q.First*float64(rows)/1e6)
		if q, err = duckdb(table, 1); err != nil {
			return err
		}
		whole = append(whole, q.wall)
		for _, from := range sources {
			r, err := once(bin, root, fmt.Sprintf(job, i, table, rows, from, 10_000))
			if err != nil {
				return err
			}
			wall[from], work[from] = append(wall[from], r.wall), append(work[from], r.work)
			peak = max(peak, r.kb)
		}
		if small != "" {
			r, err := once(bin, root, fmt.Sprintf(job, i, small, smallRows, "table", smallRows/10))
			if err != nil {
				return err
			}
			wall["small"], work["small"] = append(wall["small"], r.wall), append(work["small"], r.work)
		}
	}
	base := median(warm)
	fmt.Printf("%-44s %8.1f ms  %6s\n", "DuckDB avg, one thread (query alone, warm)", base, "1.00")
	fmt.Printf("%-44s %8.1f ms  %6.2f\n", "the same, the first query of a process", median(first), median(first)/base)
	fmt.Printf("%-44s %8.1f ms  %6.2f\n", "the same, a whole process of Node.js", median(whole), median(whole)/base)
	for k, name := range []string{"dprelease run, mean of the full table", "dprelease run, Poisson 1 %", "dprelease run, SRSWOR 10,000"} {
		m := median(wall[sources[k]])
		fmt.Printf("%-44s %8.1f ms  %6.2f of DuckDB, %.2f of the full table; %.0f ms of processor time, %.2f of the full table's\n",
			name, m, m/base, m/median(wall["table"]), median(work[sources[k]]), median(work[sources[k]])/median(work["table"]))
	}
	if small != "" {
		fixed, busy := median(wall["small"]), median(work["small"])
		fmt.Printf("%-44s %8.1f ms; %.0f ms of processor time\n", "dprelease run, 1,000 rows", fixed, busy)
		for k, name := range []string{"rows alone: mean of the full table", "rows alone: Poisson 1 %", "rows alone: SRSWOR 10,000"} {
			m, w := median(wall[sources[k]])-fixed, median(work[sources[k]])-busy
			fmt.Printf("%-44s %8.1f ms  %6.2f of DuckDB, %.2f of the full table; %.0f ms of processor time, %.2f of the full table's\n",
				name, m, m/base, m/(median(wall["table"])-fixed), w, w/(median(work["table"])-busy))
		}
	}
	fmt.Printf("%-44s %8.0f MB\n", "largest process", float64(peak)/1024)
	return nil
}

// measured is one run: its wall time, the processor time of its processes, which a
// busy machine changes less, and the peak memory of the largest of them.
type measured struct {
	wall, work float64 // milliseconds
	kb         int64
}

// once runs one job in a fresh folder.
func once(bin, root, text string) (measured, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return measured{}, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return measured{}, err
	}
	cmd := exec.Command(bin, "run", "-q", path)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	wall := time.Since(start)
	if err != nil {
		return measured{}, fmt.Errorf("%w: %s", err, out)
	}
	state := cmd.ProcessState
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	return measured{ms(wall), ms(state.UserTime() + state.SystemTime()), state.SysUsage().(*syscall.Rusage).Maxrss}, nil
}

// peer is DuckDB's average, in nanoseconds a row: the median of some queries and the
// first one of the process, which took wall milliseconds.
type peer struct {
	Median float64 `json:"median_ns_per_row"`
	First  float64 `json:"first_ns_per_row"`
	wall   float64
}

func duckdb(table string, queries int) (peer, error) {
	cmd := exec.Command("node", "duckdb-avg.mjs", table, "x", fmt.Sprint(queries))
	cmd.Dir = "bench"
	cmd.Stderr = os.Stderr
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return peer{}, fmt.Errorf("node bench/duckdb-avg.mjs (run npm install --no-save in bench/ first): %w", err)
	}
	p := peer{wall: float64(time.Since(start).Microseconds()) / 1e3}
	return p, json.Unmarshal(out, &p)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
