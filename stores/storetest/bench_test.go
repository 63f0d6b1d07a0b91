package storetest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/plugins/columns"
	"github.com/dprelease/dprelease/stores/storetest"
)

// BenchmarkScan reads two of four columns of a table, on the disk and from a server on this machine: from its opening to
// its last row.
func BenchmarkScan(b *testing.B) {
	const rows = 4_000_000
	var r table.Release
	for _, name := range []string{"a", "b", "c", "d"} {
		v := make([]float64, rows)
		for i := range v {
			v[i] = float64(i*7919%1000003) / 16
		}
		r.Columns = append(r.Columns, columns.Column{Name: name, Float64: v})
	}
	var data bytes.Buffer
	if err := table.WriteParquet(&data, r); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "t.parquet")
	if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	s := storetest.Start(b)
	s.Put(b, "t.parquet", data.Bytes())
	for name, from := range map[string]string{"disk": path, "server": s.Address("t.parquet")} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(rows * 2 * 8)
			for b.Loop() {
				t, err := table.Open(b.Context(), table.Spec{Path: from})
				if err != nil {
					b.Fatal(err)
				}
				sum := 0.0
				err = t.Scan(b.Context(), table.ScanOptions{Columns: []string{"b", "d"}}, func(batch table.Batch) error {
					for _, c := range batch.Columns {
						for _, x := range c.Float64 {
							sum += x
						}
					}
					return nil
				})
				t.Close()
				if err != nil || sum == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}
