package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/table"
)

func main() {
	runs := flag.Int("runs", 7, "runs of each")
	large := flag.Int64("large", 0, "units that are made up")
	memory := flag.Int64("memory", table.DefaultMemory, "bytes that units may take")
	dir := flag.String("dir", "", "folder of what does not fit")
	flag.Parse()
	var err error
	switch {
	case *large > 0:
		err = fill(*large, *memory, *dir)
	case flag.NArg() == 1:
		err = compare(flag.Arg(0), *runs, *memory, *dir)
	default:
		fmt.Fprintln(os.Stderr, "usage: fold [-runs N] [-memory N] [-dir DIR] TABLE | fold -large N [-memory N] [-dir DIR]")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fold:", err)
		os.Exit(1)
	}
}

func folder(memory int64, dir string) (*units.Folder, error) {
	sum := units.Fold{Column: "x", By: units.FoldSum, Number: true, Lower: 0, Upper: 10_000}
	return units.NewFolder(units.FoldSpec{Null: units.DropNulls, Columns: []units.Fold{sum}, Views: 1, Memory: memory, Dir: dir})
}

// compare takes turns, so that a change of the machine's speed hits both alike.
func compare(path string, runs int, memory int64, dir string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	var ours, index, reading, theirs []float64
	for range runs {
		ms, err := duckdb(path)
		if err != nil {
			return err
		}
		theirs = append(theirs, ms)
		var mean float64
		for at, what := range []func() error{
			func() error { return scan(path, func([]table.Values, int) error { return nil }) },
			func() (err error) { mean, err = fold(path, memory, dir); return err },
			func() error { return number(path, memory, dir) },
		} {
			runtime.GC()
			start := time.Now()
			if err := what(); err != nil {
				return err
			}
			took := float64(time.Since(start).Microseconds()) / 1e3
			switch at {
			case 0:
				reading = append(reading, took)
			case 1:
				ours = append(ours, took)
			default:
				index = append(index, took)
			}
		}
		fmt.Printf("mean %.6f; DuckDB %.0f ms, fold %.0f ms (%.2f), index %.0f ms, reading alone %.0f ms\n", mean, ms, last(ours), last(ours)/ms, last(index), last(reading))
	}
	fmt.Printf("medians: DuckDB %.0f ms, fold %.0f ms: %.2f of DuckDB; index %.0f ms: %.2f\n",
		median(theirs), median(ours), median(ours)/median(theirs), median(index), median(index)/median(theirs))
	return nil
}

func scan(path string, visit func(columns []table.Values, rows int) error) error {
	t, err := table.Open(context.Background(), table.Spec{Path: path})
	if err != nil {
		return err
	}
	defer t.Close()
	return t.Scan(context.Background(), table.ScanOptions{Columns: []string{"id", "x"}}, func(b table.Batch) error { return visit(b.Columns, b.Rows) })
}

func fold(path string, memory int64, dir string) (mean float64, err error) {
	f, err := folder(memory, dir)
	if err != nil {
		return 0, err
	}
	if err := scan(path, func(c []table.Values, n int) error { return f.Add(c[0], c[1:], [][]byte{nil}, n) }); err != nil {
		return 0, err
	}
	u, err := f.Finish()
	if err != nil {
		return 0, err
	}
	defer u.Close()
	sum := 0.0
	err = u.View(0).Scan(context.Background(), table.ScanOptions{Columns: []string{"x"}}, func(b table.Batch) error {
		for _, x := range b.Columns[0].Float64 {
			sum += x
		}
		return nil
	})
	return sum / float64(u.Units()), err
}

func number(path string, memory int64, dir string) error {
	x, err := units.NewIndex(units.IndexSpec{Null: units.DropNulls, Memory: memory, Dir: dir})
	if err != nil {
		return err
	}
	defer x.Close()
	if err := scan(path, func(c []table.Values, n int) error { return x.Add(c[0], n) }); err != nil {
		return err
	}
	return x.Finish()
}

// duckdb is the median of several queries of one process, in milliseconds.
func duckdb(path string) (float64, error) {
	cmd := exec.Command("node", "duckdb-avg.mjs", path, "x", "5", fmt.Sprint(runtime.GOMAXPROCS(0)), "id")
	cmd.Dir = "bench"
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("node bench/duckdb-avg.mjs (run npm install --no-save in bench/ first): %w", err)
	}
	var q struct {
		Median float64 `json:"median_ms"`
	}
	return q.Median, json.Unmarshal(out, &q)
}

func last(x []float64) float64 { return x[len(x)-1] }

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
