package run

import (
	"context"
	"encoding/binary"
	"strconv"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/samplers"
)

// findUnits finds the unit of the public frame that each row lies in. Membership
// is public, so it may be read before the debit. A row in no unit has -1, which a
// design that needs every row refuses.
func findUnits(ctx context.Context, j *job.Job, d *planned.Draw, from rowSource,
	content *table.Content) (units []int32, refused, err error) {
	design, ok := d.Design.(samplers.Framed)
	if !ok || design.Frame() == nil {
		return nil, nil, nil
	}
	frame := design.Frame()
	columns := frame.Columns()
	units = make([]int32, 0, from.Rows())
	finder := unitFinder{job: j, frame: frame, key: make([]string, len(columns)), known: map[string]int32{}, missing: NoUnit, outside: NoUnit}
	if frame.Records() == 0 { // rates by stratum: the column is private, and its rules hold
		strata, _ := j.Dataset.Column(columns[0])
		finder.missing, finder.outside = ruled(strata.Missing, frame), ruled(strata.Outside, frame)
	}
	err = (&pass{source: from, content: content, columns: columns}).run(ctx, func(b table.Batch) error {
		for row := range b.Rows {
			units = append(units, finder.find(b.Columns, row))
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
func matches(j *job.Job, d *planned.Draw, counts map[int32]int64) error {
	design, ok := d.Design.(samplers.Framed)
	if !ok || design.Frame() == nil || design.Frame().Records() == 0 || j.Dataset.Collected != nil {
		return nil // who was collected is secret: the draw compares numbers after the debit
	}
	if counts[NoUnit] > 0 {
		return j.Wrong("dataset.frame", "does not match the table: a row lies in no unit of the frame",
			"the key columns and the frame must agree")
	}
	frame := design.Frame()
	for u := range int32(frame.Len()) {
		if unit := frame.Unit(u); counts[u] != unit.Records {
			return j.Wrong("dataset.frame", "does not match the table: a unit does not have the number of rows that the frame says",
				"check --data says which")
		}
	}
	return nil
}

// unitFinder remembers the units of keys that it has seen.
type unitFinder struct {
	frame *samplers.Frame
	key   []string
	known map[string]int32
	buf   []byte
	// missing is the unit of a row without a key, outside that of a key outside the frame.
	missing, outside int32
	refused          error // the first rule that was broken: told after the debit (P20)
	job              *job.Job
}

// find is the unit of a row, NoUnit where it lies in none.
func (f *unitFinder) find(columns []table.Values, row int) int32 {
	f.buf = f.buf[:0]
	for i := range columns {
		if columns[i].Null(row) {
			return f.settle(f.missing, errMissing, i)
		}
		start := len(f.buf)
		f.buf = AppendText(f.buf, &columns[i], row)
		// The length keeps different tuples apart.
		f.buf = binary.LittleEndian.AppendUint32(f.buf, uint32(len(f.buf)-start))
	}
	if u, ok := f.known[string(f.buf)]; ok {
		return f.settle(u, errOutside, 0)
	}
	for i := range columns {
		f.key[i] = string(AppendText(nil, &columns[i], row))
	}
	u := f.frame.UnitOf(f.key...)
	if u < 0 {
		u = f.outside
	}
	f.known[string(f.buf)] = u
	return f.settle(u, errOutside, 0)
}

// settle remembers that a rule was broken.
func (f *unitFinder) settle(u int32, broken func(string) *failure.Failure, column int) int32 {
	if u == refusedUnit && f.refused == nil {
		f.refused = broken(f.job.Path(job.Key("dataset.columns", f.frame.Columns()[column])))
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

var errUnit = failure.New(failure.ExitSource, "DATA_UNIT",
	"a unit has more than one row, or a row names no unit: the job says that each unit has one; "+
		"if units have several rows, say what becomes of them with dataset.fold or dataset.cap"+failure.SpentOnly)

// ErrMember says that a member stands in two rows of its table, so that nobody knows whose its rows in other tables are.
var ErrMember = failure.New(failure.ExitSource, "DATA_UNIT",
	"a member has two rows in the table of dataset.unit.members, which says in which unit it is; "+
		"leave out the row that is wrong"+failure.SpentOnly)

// errNoUnit is the same where units may have several rows.
var errNoUnit = failure.New(failure.ExitSource, "DATA_UNIT",
	"a row names no unit; dataset.unit.missing says what becomes of such a row: "+
		"drop leaves it out, own makes it a unit of its own"+failure.SpentOnly)

// checkUnit holds the table to what the job says of its units: each has one row. It comes after the debit: whether it fails
// depends on values (P20).
func (v *tableView) checkUnit(ctx context.Context) error {
	wrong := int64(0) // rows without a unit, or of one that has another row
	var err error
	switch d := &v.job.Dataset; {
	case v.index != nil && d.OneRow:
		wrong, err = repeats(v.index, v.population)
	case v.index == nil && d.Key.Column != "":
		var index *units.Index
		if index, err = numbered(v.table.memory, units.OwnNulls, func(index *units.Index) error {
			return v.table.addKeys(ctx, index, d.Key.Column, units.DropNulls)
		}); err == nil {
			wrong = index.Rows() - index.Units()
			err = index.Close()
		}
	}
	if err == nil && wrong > 0 {
		err = errUnit
	}
	return err
}
