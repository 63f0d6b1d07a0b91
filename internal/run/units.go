package run

import (
	"context"
	"encoding/binary"
	"strconv"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/samplers"
)

// findUnits finds the unit of the public frame that each row lies in. Membership
// is public, so it may be read before the debit. A row in no unit has -1, which a
// design that needs every row refuses.
func findUnits(ctx context.Context, j *job.Job, d *plan.PlannedDraw, from rowSource, content *table.Content) (units []int32, refused, err error) {
	design, ok := d.Design.(plan.Framed)
	if !ok || design.Frame() == nil {
		return nil, nil, nil
	}
	frame := design.Frame()
	columns := frame.Columns()
	units = make([]int32, 0, from.Rows())
	finder := UnitFinder{job: j, Frame: frame, Key: make([]string, len(columns)), Known: map[string]int32{}, Missing: NoUnit, Outside: NoUnit}
	if frame.Records() == 0 { // rates by stratum: the column is private, and its rules hold
		strata, _ := j.Dataset.Column(columns[0])
		finder.Missing, finder.Outside = ruled(strata.Missing, frame), ruled(strata.Outside, frame)
	}
	err = (&pass{source: from, content: content, columns: columns}).run(ctx, func(b table.Batch) error {
		for row := range b.Rows {
			units = append(units, finder.Find(b.Columns, row))
		}
		return nil
	})
	return units, finder.refused, err
}

// NoUnit is a row that lies in no unit and is not drawn; refusedUnit one that must not
// be there.
const (
	NoUnit      = -1
	refusedUnit = -2
)

// ruled is the unit of the rows whose stratum is missing, or not one of the domain.
func ruled(h job.Handling, frame *samplers.Frame) int32 {
	switch h.Rule {
	case job.Drop:
		return NoUnit
	case job.Impute:
		return frame.UnitOf(h.Text)
	}
	return refusedUnit
}

// matches checks that every unit has as many rows as the public frame says. A
// frame without numbers, for Poisson rates by stratum, says nothing of them.
func matches(j *job.Job, d *plan.PlannedDraw, counts map[int32]int64) error {
	design, ok := d.Design.(plan.Framed)
	if !ok || design.Frame() == nil || design.Frame().Records() == 0 || j.Dataset.Collected != nil {
		return nil // who was collected is secret: the draw compares numbers after the debit
	}
	if counts[NoUnit] > 0 {
		return failure.InJob(j, "dataset.frame", "does not match the table: a row lies in no unit of the frame", "the key columns and the frame must agree")
	}
	frame := design.Frame()
	for u := range int32(frame.Len()) {
		if unit := frame.Unit(u); counts[u] != unit.Records {
			return failure.InJob(j, "dataset.frame", "does not match the table: a unit does not have the number of rows that the frame says", "check --data says which")
		}
	}
	return nil
}

// UnitFinder remembers the units of keys that it has seen.
type UnitFinder struct {
	Frame *samplers.Frame
	Key   []string
	Known map[string]int32
	buf   []byte
	// Missing is the unit of a row without a key, Outside that of a key outside the frame.
	Missing, Outside int32
	refused          error // the first rule that was broken: told after the debit (P20)
	job              *job.Job
}

// Find is the unit of a row, NoUnit where it lies in none.
func (f *UnitFinder) Find(columns []table.Values, row int) int32 {
	f.buf = f.buf[:0]
	for i := range columns {
		if columns[i].Null(row) {
			return f.settle(f.Missing, errMissing, i)
		}
		start := len(f.buf)
		f.buf = AppendText(f.buf, &columns[i], row)
		// The length keeps different tuples apart.
		f.buf = binary.LittleEndian.AppendUint32(f.buf, uint32(len(f.buf)-start))
	}
	if u, ok := f.Known[string(f.buf)]; ok {
		return f.settle(u, errOutside, 0)
	}
	for i := range columns {
		f.Key[i] = string(AppendText(nil, &columns[i], row))
	}
	u := f.Frame.UnitOf(f.Key...)
	if u < 0 {
		u = f.Outside
	}
	f.Known[string(f.buf)] = u
	return f.settle(u, errOutside, 0)
}

// settle remembers that a rule was broken.
func (f *UnitFinder) settle(u int32, broken func(string) *failure.Failure, column int) int32 {
	if u == refusedUnit && f.refused == nil {
		f.refused = broken(f.job.Path(job.Key("dataset.columns", f.Frame.Columns()[column])))
	}
	return max(u, NoUnit)
}

// AppendText writes a key as it stands in a frame: the text itself or a number.
func AppendText(b []byte, v *table.Values, row int) []byte {
	switch {
	case v.Codes != nil:
		return append(b, v.Dict[v.Codes[row]]...)
	case v.Int64 != nil:
		return strconv.AppendInt(b, v.Int64[row], 10)
	}
	return strconv.AppendFloat(b, v.Float64[row]+0, 'g', -1, 64) // +0: no −0
}

var errUnit = failure.New(failure.ExitSource, "DATA_UNIT", "a unit has more than one row, or a row names no unit: the job says that each unit has one; if units have several rows, say what becomes of them with dataset.fold or dataset.cap"+failure.SpentOnly)

// ErrMember says that a member stands in two rows of its table, so that nobody knows whose its rows in other tables are.
var ErrMember = failure.New(failure.ExitSource, "DATA_UNIT", "a member has two rows in the table of dataset.unit.members, which says in which unit it is; leave out the row that is wrong"+failure.SpentOnly)

// errNoUnit is the same where units may have several rows.
var errNoUnit = failure.New(failure.ExitSource, "DATA_UNIT", "a row names no unit; dataset.unit.missing says what becomes of such a row: drop leaves it out, own makes it a unit of its own"+failure.SpentOnly)

// UnitFacts count what is wrong with a unit column. They are private (P19).
type UnitFacts struct {
	Missing  int64 `json:"rows_without_unit"`
	Repeated int64 `json:"rows_of_a_unit_that_has_another"`
}

// Broken reports whether the column breaks what the job says of it.
func (f UnitFacts) Broken() bool { return f.Missing > 0 || f.Repeated > 0 }

// UnitFacts reads the unit column of the whole table (P22).
func (o *OpenedTable) UnitFacts(ctx context.Context, column string) (UnitFacts, error) {
	if o.rows == nil {
		o.rows = o.Table
	}
	index, err := o.numberUnits(ctx, column, units.DropNulls)
	if err != nil {
		return UnitFacts{}, err
	}
	defer index.Close()
	return UnitFacts{Missing: index.NullRows(), Repeated: index.Rows() - index.NullRows() - index.Units()}, nil
}

// numberUnits numbers the units of all rows.
func (o *OpenedTable) numberUnits(ctx context.Context, column string, nulls units.NullUnits) (*units.Index, error) {
	index, err := units.NewIndex(units.IndexSpec{Null: units.OwnNulls, Memory: o.memory})
	if err != nil {
		return nil, err
	}
	if err = o.addKeys(ctx, index, column, nulls); err == nil {
		err = index.Finish()
	}
	if err != nil {
		index.Close()
	}
	return index, err
}

// checkUnit holds the table to what the job says of its units: each has one row. It comes after the debit: whether it fails
// depends on values (P20).
func (v *tableView) checkUnit(ctx context.Context) error {
	var repeated int64
	var err error
	switch d := &v.job.Dataset; {
	case v.index != nil && d.OneRow:
		repeated, err = repeats(v.index, v.population)
	case v.index == nil && d.Key.Column != "" && !d.Folds():
		var f UnitFacts
		f, err = v.table.UnitFacts(ctx, d.Key.Column)
		repeated = f.Missing + f.Repeated
	}
	if err == nil && repeated > 0 {
		err = errUnit
	}
	return err
}
