package table

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

// rowValue returns the value of row i in every file of testdata/writers, by column; nil is null. Text columns are strings,
// all else is a float64 for comparison.
func rowValue(column string, i int) (v any, known bool) {
	switch column {
	case "id":
		return float64(i), true
	case "x":
		return float64(i*37%1000) / 8, true
	case "y":
		if i%7 == 0 {
			return nil, true
		}
		return float64(i - 500), true
	case "name":
		if i%11 == 0 {
			return nil, true
		}
		return []string{"alpha", "beta", "gamma", ""}[i%4], true
	case "flag":
		if i%3 == 0 {
			return 1.0, true
		}
		return 0.0, true
	case "code":
		return fmt.Sprintf("code-%d", i), true
	case "dec":
		return float64(i * 125), true // thousandths
	case "wide":
		return float64(i * 1000), true
	case "day":
		return float64(10957 + i), true
	case "stamp":
		return float64(1000000000000000 + i*1000000), true
	case "tiny":
		return float64(i % 200), true
	case "single":
		return float64(i * 37 % 1000), true
	case "small":
		return float64(i * 3), true
	case "pair.a":
		return float64(i), true
	case "pair.b":
		return fmt.Sprint(i), true
	}
	return nil, false
}

// TestOtherWriters reads files by pyarrow, DuckDB, arrow-rs, Polars, hyparquet and Arrow JavaScript.
func TestOtherWriters(t *testing.T) {
	var names []string
	for _, pattern := range []string{"*.parquet", "*.arrow", "*.arrows"} {
		some, err := filepath.Glob("testdata/writers/" + pattern)
		if err != nil || len(some) == 0 {
			t.Fatalf("%s: found %d files, %v", pattern, len(some), err)
		}
		names = append(names, some...)
	}
	if len(names) != 26 {
		t.Fatalf("found %d files", len(names))
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			ctx := context.Background()
			tab, err := Open(ctx, Spec{Path: name, Columns: []string{"id", "x", "y", "name", "flag", "code"}})
			if err != nil {
				t.Fatal(err)
			}
			defer tab.Close()
			var cols []string
			nested := 0
			for _, c := range tab.Columns() {
				if c.Usable {
					cols = append(cols, c.Name)
				} else if c.Reason == "nested" {
					nested++
				} else {
					t.Errorf("column %s is not usable: %s", c.Name, c.Reason)
				}
			}
			if duck := len(cols) > 6; duck && (nested != 1 || len(cols) != 15) {
				t.Errorf("columns %v and %d nested", cols, nested)
			}
			rows := 0
			err = tab.Scan(ctx, ScanOptions{Columns: cols}, func(b Batch) error {
				for k := range b.Columns {
					if err := sameAsRow(cols[k], &b.Columns[k], int(b.Block.First), b.Rows); err != nil {
						return err
					}
				}
				rows += b.Rows
				return nil
			})
			if err != nil || rows != 1000 {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}

func sameAsRow(column string, v *Values, first, n int) error {
	for i := range n {
		want, known := rowValue(column, first+i)
		if !known {
			return fmt.Errorf("column %s is not expected", column)
		}
		var got any
		switch {
		case v.Null(i):
		case v.Float64 != nil:
			got = v.Float64[i]
		case v.Int64 != nil:
			got = float64(v.Int64[i])
		default:
			got = v.Dict[v.Codes[i]]
		}
		if got != want {
			return fmt.Errorf("column %s, row %d: %v instead of %v", column, first+i, got, want)
		}
	}
	return nil
}
