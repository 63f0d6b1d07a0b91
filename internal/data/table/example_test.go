package table_test

import (
	"context"
	"fmt"

	"github.com/dprelease/dprelease/internal/data/table"
)

// The sum of every tenth row of a column. Pick is asked before a block is decoded; nothing of the file but the pages
// that hold picked rows of the column is read.
func ExampleTable_Scan() {
	ctx := context.Background()
	t, err := table.Open(ctx, table.Spec{Path: "testdata/writers/duckdb-snappy.parquet", Columns: []string{"x"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	if err := t.Verify(ctx, []string{"x"}); err != nil { // before any budget is spent
		fmt.Println(err)
		return
	}
	tenth := func(b table.Block) (table.Pick, error) {
		var p table.Pick
		for i := range b.Rows {
			if (b.First+int64(i))%10 == 0 {
				p.Rows = append(p.Rows, uint32(i))
			}
		}
		return p, nil
	}
	sum := 0.0
	err = t.Scan(ctx, table.ScanOptions{Columns: []string{"x"}, Pick: tenth}, func(b table.Batch) error {
		x := &b.Columns[0]
		for i, v := range x.Float64 {
			if !x.Null(i) {
				sum += v
			}
		}
		return nil
	})
	fmt.Println(sum, err)
	// Output: 6187.5 <nil>
}
