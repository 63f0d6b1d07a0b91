// Command scansum reads one float64 column of a table and prints what that cost, for a look side by side with
// duckdb-avg.mjs. It is the reader alone: no mechanism, no process hop, no noise.
//
//	go run ./bench/scansum [-runs N] [-every K] FILE COLUMN
//
// With -every only each K-th row is picked, as a sample would.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/table"
)

func main() {
	runs := flag.Int("runs", 9, "how often to read")
	every := flag.Int("every", 1, "pick each so many rows")
	flag.Parse()
	if flag.NArg() != 2 || *every < 1 {
		fmt.Fprintln(os.Stderr, "usage: scansum [-runs N] [-every K] FILE COLUMN")
		os.Exit(2)
	}
	var times []float64
	var rows int64
	var sum float64
	for range max(1, *runs) {
		start := time.Now()
		var err error
		var total int64
		if sum, rows, total, err = scan(flag.Arg(0), flag.Arg(1), *every); err != nil {
			fmt.Fprintln(os.Stderr, "scansum:", err)
			os.Exit(1)
		}
		times = append(times, float64(time.Since(start).Nanoseconds())/float64(total))
	}
	slices.Sort(times)
	out, _ := json.Marshal(map[string]any{
		"reader": "internal/table", "workers": runtime.GOMAXPROCS(0), "rows": rows, "mean": sum / float64(rows),
		"best_ns_per_row": times[0], "median_ns_per_row": times[len(times)/2], "runs": len(times), "peak_kib": peak(),
	})
	fmt.Println(string(out))
}

func scan(path, column string, every int) (sum float64, rows, total int64, err error) {
	ctx := context.Background()
	t, err := table.Open(ctx, table.Spec{Path: path, Columns: []string{column}})
	if err != nil {
		return 0, 0, 0, err
	}
	defer t.Close()
	o := table.ScanOptions{Columns: []string{column}}
	if every > 1 {
		var picked []uint32
		o.Pick = func(b table.Block) (table.Pick, error) {
			picked = picked[:0]
			for i := (every - int(b.First%int64(every))) % every; i < b.Rows; i += every {
				picked = append(picked, uint32(i))
			}
			return table.Pick{Rows: picked}, nil
		}
	}
	err = t.Scan(ctx, o, func(b table.Batch) error {
		rows += int64(b.Rows)
		part := 0.0
		for _, v := range b.Columns[0].Float64 {
			part += v
		}
		sum += part
		return nil
	})
	return sum, rows, t.Rows(), err
}

// peak is the most memory the process has held, where the system tells.
func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(status), "\n") {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
