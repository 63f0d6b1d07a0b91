package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/units"
)

// fill folds and numbers units of one row each, in an order in which no neighbours have near keys.
func fill(count, memory int64, dir string) error {
	const block = 1 << 16
	each := func(add func(unit, x table.Values, n int) error) error {
		ids, x := make([]int64, block), make([]float64, block)
		for first := int64(0); first < count; first += block {
			n := int(min(block, count-first))
			for i := range n {
				ids[i] = int64(uint64(first+int64(i)) * 0x9e3779b97f4a7c15) // odd: no key twice
				x[i] = float64(i)
			}
			if err := add(table.Values{Int64: ids[:n]}, table.Values{Float64: x[:n]}, n); err != nil {
				return err
			}
		}
		return nil
	}
	start := time.Now()
	f, err := folder(memory, dir)
	if err != nil {
		return err
	}
	if err := each(func(unit, x table.Values, n int) error { return f.Add(unit, []table.Values{x}, [][]byte{nil}, n) }); err != nil {
		return err
	}
	u, err := f.Finish()
	if err != nil {
		return err
	}
	mean, err := average(u)
	if err != nil {
		return err
	}
	fmt.Printf("%d units folded in %.1f s, mean %.2f; %s\n", u.Units(), time.Since(start).Seconds(), mean, peak())
	if err := u.Close(); err != nil {
		return err
	}
	runtime.GC()
	start = time.Now()
	x, err := units.NewIndex(units.IndexSpec{Null: units.DropNulls, Memory: memory, Dir: dir})
	if err != nil {
		return err
	}
	defer x.Close()
	if err := each(func(unit, _ table.Values, n int) error { return x.Add(unit, n) }); err != nil {
		return err
	}
	if err := x.Finish(); err != nil {
		return err
	}
	fmt.Printf("%d units numbered in %.1f s; %s\n", x.Units(), time.Since(start).Seconds(), peak())
	return nil
}

// peak is the most memory that the process has had.
func peak() string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "VmHWM") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return "unknown peak"
}
