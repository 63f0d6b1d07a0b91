package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/lab/measure"
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

// rowsOf scans a table twice at most: it hands over some columns of its rows.
type rowsOf func(columns []string, visit func(first int64, columns []table.Values, rows int) error) error

// numbered numbers the units of a table.
func numbered(rows rowsOf, memory int64, dir string) (*units.Index, error) {
	x, err := units.NewIndex(units.IndexSpec{Null: units.DropNulls, Memory: memory, Dir: dir})
	if err != nil {
		return nil, err
	}
	err = rows([]string{"id"}, func(_ int64, c []table.Values, n int) error { return x.Add(c[0], n) })
	return x, cmp.Or(err, x.Finish())
}

// folded numbers the units of a table, and folds them.
func folded(rows rowsOf, memory int64, dir string) (*units.FoldedUnits, error) {
	x, err := numbered(rows, memory, dir)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	sum := units.Fold{Column: "x", By: units.FoldSum, Number: true, Lower: 0, Upper: 10_000}
	f, err := units.NewFolder(units.FoldSpec{Units: x.Units(), Rows: x.Rows(), Columns: []units.Fold{sum}, Views: 1, Memory: memory, Dir: dir})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var ids []int32
	err = rows([]string{"x"}, func(first int64, c []table.Values, n int) error {
		if ids = slices.Grow(ids[:0], n)[:n]; x.Numbers(first, ids) != nil {
			return x.Numbers(first, ids)
		}
		return f.Add(ids, c, [][]byte{nil})
	})
	if err != nil {
		return nil, err
	}
	return f.Finish()
}

// of times a function of this process.
func of(do func() error) (measure.Cost, error) {
	runtime.GC()
	start, before := time.Now(), measure.Processor()
	err := do()
	return measure.Cost{Wall: time.Since(start).Seconds() * 1e3, Work: measure.Processor() - before}, err
}

// compare takes turns, so that a change of the machine's speed hits all alike.
func compare(path string, runs int, memory int64, dir string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	names := []string{"DuckDB, warm", "reading", "fold", "index", "index and cap"}
	took := make([][]measure.Cost, len(names))
	for range runs {
		for i, what := range []func() error{
			nil,
			func() error {
				return scan(path)([]string{"id", "x"}, func(int64, []table.Values, int) error { return nil })
			},
			func() error { return fold(path, memory, dir) },
			func() error { return number(path, memory, dir, false) },
			func() error { return number(path, memory, dir, true) },
		} {
			var m measure.Cost
			if what == nil {
				m, err = duckdb(path)
			} else {
				m, err = of(what)
			}
			if err != nil {
				return err
			}
			took[i] = append(took[i], m)
		}
	}
	for i, name := range names {
		ratio := func(get func(m measure.Cost) float64) (mid, ratio float64) {
			var ours, ratios []float64
			for j, m := range took[i] {
				ours, ratios = append(ours, get(m)), append(ratios, get(m)/get(took[0][j]))
			}
			return measure.Median(ours), measure.Median(ratios)
		}
		wall, walls := ratio(func(m measure.Cost) float64 { return m.Wall })
		work, works := ratio(func(m measure.Cost) float64 { return m.Work })
		fmt.Printf("%-14s %8.0f ms, %.2f of DuckDB in the same turn; %8.0f ms of processor time, %.2f\n", name, wall, walls, work, works)
	}
	return nil
}

// scan returns the rows of a file.
func scan(path string) rowsOf {
	return func(columns []string, visit func(first int64, columns []table.Values, rows int) error) error {
		t, err := table.Open(context.Background(), table.Spec{Path: path})
		if err != nil {
			return err
		}
		defer t.Close()
		o := table.ScanOptions{Columns: columns}
		return t.Scan(context.Background(), o, func(b table.Batch) error { return visit(b.Block.First, b.Columns, b.Rows) })
	}
}

func fold(path string, memory int64, dir string) error {
	u, err := folded(scan(path), memory, dir)
	if err != nil {
		return err
	}
	defer u.Close()
	mean, err := average(u)
	if err == nil && !(mean > 0) {
		err = fmt.Errorf("the mean is %g", mean)
	}
	return err
}

func average(u *units.FoldedUnits) (float64, error) {
	sum := 0.0
	err := u.View(0).Scan(context.Background(), table.ScanOptions{Columns: []string{"x"}}, func(b table.Batch) error {
		for _, x := range b.Columns[0].Float64 {
			sum += x
		}
		return nil
	})
	return sum / float64(u.Units()), err
}

// number numbers the units, and may keep at most three rows of each.
func number(path string, memory int64, dir string, capped bool) error {
	x, err := numbered(scan(path), memory, dir)
	if err != nil {
		return err
	}
	defer x.Close()
	if !capped {
		return nil
	}
	source, err := noise.NewSource()
	if err != nil {
		return err
	}
	c, err := units.NewCapper(x, 1, 3, source)
	if err != nil {
		return err
	}
	defer c.Close()
	cells := make([]int32, 1<<16)
	for first := int64(0); first < x.Rows(); first += 1 << 16 {
		if err := c.Add(first, cells[:min(1<<16, x.Rows()-first)]); err != nil {
			return err
		}
	}
	_, err = c.Finish()
	return err
}

// queries is the number of questions to one process of DuckDB.
const queries = 5

// duckdb is the median of several queries of one process, and its processor time for each of them.
func duckdb(path string) (measure.Cost, error) {
	var q struct {
		Median float64 `json:"median_ms"`
	}
	work, err := measure.DuckDB(&q, "duckdb-avg.mjs", path, "x", fmt.Sprint(queries), fmt.Sprint(runtime.GOMAXPROCS(0)), "id")
	return measure.Cost{Wall: q.Median, Work: work / queries}, err
}
