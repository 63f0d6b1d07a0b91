package look

import (
	"context"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/privacy"
)

// unit looks at the unit column, where the job has one.
func (v *viewer) unit(ctx context.Context) error {
	name := v.plan.Job.Dataset.Key.Column
	if name == "" {
		return nil
	}
	if c, ok := v.stored(name); !ok || !c.Usable {
		v.look.fails("SOURCE_NO_SUCH_COLUMN", "column %s of dataset.unit is not in the table, or cannot be read", name)
		return nil
	}
	switch d := &v.plan.Job.Dataset; {
	case d.Key.Member != "": // its units are known with the other tables alone
		return nil
	case d.Folds() || d.Cap != nil:
		return v.unitRows(ctx, name)
	}
	o := &run.OpenedTable{Table: v.table, Content: v.content}
	f, err := o.UnitFacts(ctx, name)
	if err != nil {
		return err
	}
	v.look.Units = &f
	if f.Broken() {
		v.look.fails("DATA_UNIT", "column %s: %d rows name no unit, and %d rows name a unit that has another row; say dataset.fold or dataset.cap where a unit has several rows, and dataset.unit.missing where rows name none", name, f.Missing, f.Repeated)
	}
	return nil
}

// unitRows looks at how many rows a unit has, where it may have several (P22).
func (v *viewer) unitRows(ctx context.Context, column string) error {
	d := &v.plan.Job.Dataset
	null := units.NullUnits(d.Key.Missing)
	if null == units.RefuseNulls {
		null = units.DropNulls // counted, and told
	}
	index, err := units.NewIndex(units.IndexSpec{Null: null})
	if err != nil {
		return err
	}
	defer index.Close()
	err = v.table.Scan(ctx, table.ScanOptions{Columns: []string{column}, Content: v.content}, func(b table.Batch) error {
		return index.Add(b.Columns[0], b.Rows)
	})
	if err == nil {
		err = index.Finish()
	}
	if err != nil {
		return err
	}
	f, err := index.Facts()
	if err != nil {
		return err
	}
	v.look.UnitRows = &f
	repeated := f.Rows - f.Units
	if d.Key.Missing != job.NoUnitOwn { // else a row that names none is a unit
		repeated -= f.NullRows
	}
	if d.OneRow && repeated > 0 {
		v.look.fails("DATA_UNIT", "column %s: %d rows name a unit that has another row, and unit.rows is 1; fold or cap the table where a unit has several rows", column, repeated)
	}
	if d.Cap != nil && !d.Several() && v.computable() {
		if v.look.Dropped, err = run.CapDrops(ctx, v.plan, v.table, v.content); err != nil {
			return err
		}
	}
	if d.Key.Missing == job.NoUnitRefuse && f.NullRows > 0 {
		v.look.fails("DATA_UNIT", "column %s: %d rows name no unit; say dataset.unit.missing: drop or own", column, f.NullRows)
	}
	if d.Relation == privacy.ReplaceOne && d.Slice == nil && !d.MayVanish() && f.Units != d.Size {
		v.look.fails("SAMPLE_SIZE_MISMATCH", "dataset.size is %d, and the table has %d units", d.Size, f.Units)
	}
	return nil
}
