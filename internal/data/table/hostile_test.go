package table

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// hostileValues are the files among testdata/hostile that are valid, with the sum of their column x.
var hostileValues = map[string]struct {
	sum  float64
	rows int64
}{
	"00_control.parquet":                {4950, 100},
	"14_mixed_codec_gzip_plain.parquet": {709900, 200}, // one row group gzipped, one not
}

func TestHostileFiles(t *testing.T) {
	names, err := filepath.Glob("testdata/hostile/*.parquet")
	if err != nil || len(names) < 17 {
		t.Fatalf("found %d files", len(names))
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			sum, rows, err := sumAll(name)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if took > time.Minute { // it would come to no end
				t.Errorf("took %v", took)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
				t.Errorf("allocated %d bytes", used)
			}
			if want, ok := hostileValues[filepath.Base(name)]; ok {
				if err != nil || sum != want.sum || rows != want.rows {
					t.Errorf("sum %v of %d rows, %v", sum, rows, err)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) || e.Code == "" || e.File != name {
				t.Errorf("sum %v of %d rows, error %v", sum, rows, err)
			}
			if before, after := examined(name, (*Table).Examine); before == nil {
				t.Errorf("Examine lets it pass: %v", after)
			}
		})
	}
}

// sumAll scans every usable column and sums the first.
func sumAll(name string) (sum float64, rows int64, err error) {
	ctx := context.Background()
	tab, err := Open(ctx, Spec{Path: name})
	if err != nil {
		return 0, 0, err
	}
	defer tab.Close()
	err = tab.Scan(ctx, ScanOptions{Columns: tab.Usable()}, func(b Batch) error {
		rows += int64(b.Rows)
		for _, c := range b.Columns[:1] {
			for i, v := range c.Float64 {
				if !c.Null(i) && !math.IsNaN(v) {
					sum += v
				}
			}
		}
		return nil
	})
	return sum, rows, err
}
