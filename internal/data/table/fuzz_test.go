package table

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
)

// FuzzScan: no file makes a scan panic; it delivers all rows or an Error, and codes stay inside their dictionaries.
func FuzzScan(f *testing.F) {
	names, err := filepath.Glob("testdata/hostile/*.parquet")
	if err != nil || len(names) < 17 {
		f.Fatalf("found %d files", len(names))
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for i := range 22 {
		s := style{codec: allCodecs[i%len(allCodecs)], v2: i%2 == 0, dict: i%3 == 0, nulls: float64(i%4) / 10, pageSize: 200, groups: []int{30, 9}}
		cols, _ := generated(39, s.nulls, rand.New(rand.NewPCG(8, uint64(i))))
		if i < 6 {
			s.codec = parquet.Codecs.Uncompressed
		}
		f.Add(writeParquet(f, s, cols[i:i+1]))
	}
	for i, codec := range []string{"none", "lz4", "zstd"} {
		for _, stream := range []bool{false, true} {
			b, _ := writeArrow(f, arrowStyle{stream: stream, codec: codec, nulls: 0.2, batches: []int{20, 7}, every: 3 + i})
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := temp(t, "x", b)
		if _, err := scanSane(path); onlyOurs(err) != nil {
			t.Fatal(err)
		}
	})
}

// scanSane scans everything and checks what holds for any table.
func scanSane(path string) (rows int64, err error) {
	tab, err := Open(context.Background(), Spec{Path: path})
	if err != nil {
		return 0, err
	}
	defer tab.Close()
	err = tab.Scan(context.Background(), ScanOptions{Columns: tab.Usable(), Workers: 1}, func(b Batch) error {
		rows += int64(b.Rows)
		for i := range b.Columns {
			v := &b.Columns[i]
			if max(len(v.Float64), len(v.Int64), len(v.Codes)) != b.Rows {
				return errors.New("a column of another length")
			}
			for k, code := range v.Codes {
				if !v.Null(k) && int(code) >= len(v.Dict) {
					return errors.New("a code outside its dictionary")
				}
			}
		}
		return nil
	})
	if err == nil && rows != tab.Rows() {
		err = errors.New("a short read")
	}
	return rows, err
}
