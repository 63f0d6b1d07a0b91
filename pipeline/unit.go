package pipeline

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"

	"github.com/dprelease/dprelease/internal/table"
)

var errUnit = fail(ExitSource, "DATA_UNIT", "a unit has more than one row, or a row names no unit: the column of dataset.unit does not keep what the job says"+spentOnly)

// unitFacts count what is wrong with a unit column. They are private (P19).
type unitFacts struct {
	Missing  int64 `json:"rows_without_unit"`
	Repeated int64 `json:"rows_of_a_unit_that_has_another"`
}

func (f unitFacts) broken() bool { return f.Missing > 0 || f.Repeated > 0 }

// unitFacts reads the unit column of the whole table (P22). A key is held as a hash of
// 128 bits, 16 bytes for each row: that two keys share one by chance fails a run once in
// more than 10²⁰ of them, and lets no repeated key pass.
func (o *openedTable) unitFacts(ctx context.Context, column string) (f unitFacts, err error) {
	type hashed struct{ a, b uint64 }
	first, second := maphash.MakeSeed(), maphash.MakeSeed()
	keys := make([]hashed, 0, o.rows())
	var buf []byte
	err = o.table.Scan(ctx, table.ScanOptions{Columns: []string{column}, Content: o.content}, func(b table.Batch) error {
		v := &b.Columns[0]
		for row := range b.Rows {
			if v.Null(row) || v.Float64 != nil && v.Float64[row] != v.Float64[row] {
				f.Missing++
				continue
			}
			buf = appendText(buf[:0], v, row)
			keys = append(keys, hashed{maphash.Bytes(first, buf), maphash.Bytes(second, buf)})
		}
		return nil
	})
	if err != nil {
		return f, err
	}
	slices.SortFunc(keys, func(x, y hashed) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	for i := 1; i < len(keys); i++ {
		if keys[i] == keys[i-1] {
			f.Repeated++
		}
	}
	return f, nil
}

// checkUnit holds the table to what the job says of its units. It comes after the debit:
// whether it fails depends on values (P20).
func (r *running) checkUnit(ctx context.Context) error {
	column := r.plan.job.Dataset.Key.Column
	if column == "" {
		return nil
	}
	f, err := r.table.unitFacts(ctx, column)
	if err == nil && f.broken() {
		err = errUnit
	}
	return err
}
