// Command scansum reads one float64 column of a table and prints what that cost, for a look side by side with
// duckdb-avg.mjs. It is the reader alone: no mechanism, no process hop, no noise.
//
//	go run ./bench/scansum FILE COLUMN [RUNS]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/table"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: scansum FILE COLUMN [RUNS]")
		os.Exit(2)
	}
	runs := 9
	if len(os.Args) > 3 {
		runs, _ = strconv.Atoi(os.Args[3])
	}
	var times []float64
	var rows int64
	var sum float64
	for range max(1, runs) {
		start := time.Now()
		var err error
		if sum, rows, err = scan(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "scansum:", err)
			os.Exit(1)
		}
		times = append(times, float64(time.Since(start).Nanoseconds())/float64(rows))
	}
	slices.Sort(times)
	out, _ := json.Marshal(map[string]any{
		"reader": "internal/table", "workers": runtime.GOMAXPROCS(0), "rows": rows, "mean": sum / float64(rows),
		"best_ns_per_row": times[0], "median_ns_per_row": times[len(times)/2], "runs": len(times), "peak_kib": peak(),
	})
	fmt.Println(string(out))
}

func scan(path, column string) (sum float64, rows int64, err error) {
	ctx := context.Background()
	t, err := table.Open(ctx, table.Spec{Path: path, Columns: []string{column}})
	if err != nil {
		return 0, 0, err
	}
	defer t.Close()
	err = t.Scan(ctx, table.ScanOptions{Columns: []string{column}}, func(b table.Batch) error {
		rows += int64(b.Rows)
		part := 0.0
		for _, v := range b.Columns[0].Float64 {
			part += v
		}
		sum += part
		return nil
	})
	return sum, rows, err
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
