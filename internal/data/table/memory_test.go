package table

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestMemoryDoesNotGrowWithTheTable: scanning a row group of 4 million rows allocates a small part of its 32 MB, all
// garbage included; ten times the rows would allocate no more at once, because buffers are used again.
func TestMemoryDoesNotGrowWithTheTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	f := must(os.Create(path))
	w := bufio.NewWriter(f)
	if err := writeFloats(w, benchRows, benchRows); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rows := 0
	tab := must(Open(t.Context(), Spec{Path: path}))
	defer tab.Close()
	err := tab.Scan(context.Background(), ScanOptions{Columns: tab.Usable(), Workers: 2}, func(b Batch) error {
		rows += b.Rows
		return nil
	})
	runtime.ReadMemStats(&after)
	if err != nil || rows != benchRows {
		t.Fatal(rows, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf("allocated %d bytes", used)
	}
}
