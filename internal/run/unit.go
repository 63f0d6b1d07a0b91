package run

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/table"
)

var errUnit = failure.New(failure.ExitSource, "DATA_UNIT", "a unit has more than one row, or a row names no unit: the column of dataset.unit does not keep what the job says"+failure.SpentOnly)

// UnitFacts count what is wrong with a unit column. They are private (P19).
type UnitFacts struct {
	Missing  int64 `json:"rows_without_unit"`
	Repeated int64 `json:"rows_of_a_unit_that_has_another"`
}

// Broken says that the column does not keep what the job says.
func (f UnitFacts) Broken() bool { return f.Missing > 0 || f.Repeated > 0 }

// UnitFacts reads the unit column of the whole table (P22). A key is held as a hash of
// 128 bits, 16 bytes for each row: that two keys share one by chance fails a run once in
// more than 10²⁰ of them, and lets no repeated key pass.
func (o *OpenedTable) UnitFacts(ctx context.Context, column string) (f UnitFacts, err error) {
	type hashed struct{ a, b uint64 }
	first, second := maphash.MakeSeed(), maphash.MakeSeed()
	keys := make([]hashed, 0, o.Rows())
	var buf []byte
	err = o.Table.Scan(ctx, table.ScanOptions{Columns: []string{column}, Content: o.Content}, func(b table.Batch) error {
		v := &b.Columns[0]
		for row := range b.Rows {
			if v.Null(row) || v.Float64 != nil && v.Float64[row] != v.Float64[row] {
				f.Missing++
				continue
			}
			buf = AppendText(buf[:0], v, row)
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
func (r *Runner) checkUnit(ctx context.Context) error {
	column := r.Plan.Job.Dataset.Key.Column
	if column == "" {
		return nil
	}
	f, err := r.Table.UnitFacts(ctx, column)
	if err == nil && f.Broken() {
		err = errUnit
	}
	return err
}
