package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/data/table"
)

// fill folds and numbers units of one row each, in an order in which no neighbours have near keys.
func fill(count, memory int64, dir string) error {
	const block = 1 << 16
	each := func(columns []string, visit func(first int64, columns []table.Values, rows int) error) error {
		ids, x := make([]int64, block), make([]float64, block)
		for first := int64(0); first < count; first += block {
			n := int(min(block, count-first))
			for i := range n {
				ids[i] = int64(uint64(first+int64(i)) * 0x9e3779b97f4a7c15) // odd: no key twice
				x[i] = float64(i)
			}
			one := table.Values{Int64: ids[:n]}
			if columns[0] == "x" {
				one = table.Values{Float64: x[:n]}
			}
			if err := visit(first, []table.Values{one}, n); err != nil {
				return err
			}
		}
		return nil
	}
	start := time.Now()
	x, err := numbered(each, memory, dir)
	if err != nil {
		return err
	}
	fmt.Printf("%d units numbered in %.1f s; %s\n", x.Units(), time.Since(start).Seconds(), peak())
	if err := x.Close(); err != nil {
		return err
	}
	runtime.GC()
	start = time.Now()
	u, err := folded(each, memory, dir)
	if err != nil {
		return err
	}
	defer u.Close()
	mean, err := average(u)
	if err == nil {
		fmt.Printf("%d units numbered and folded in %.1f s, mean %.2f; %s\n", u.Units(), time.Since(start).Seconds(), mean, peak())
	}
	return err
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
