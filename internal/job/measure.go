package job

// Measure pays for releases of the job's own that say what a cap, or the bounds of a column, leave
// out. They are planned, priced and made like any other release.
type Measure struct {
	Guarantee       // without a δ
	AtMost    int64 // of a cap: units with more rows count as having so many
}

// UnitRows is the column that says how many rows a unit has. It exists where a cap is measured, and
// is read by that release alone.
const UnitRows = "(rows)"

// CountsUnits reports whether the rows of a release are the units of the job, each with the number
// of its rows, although the job caps units and does not fold them.
func (r *Release) CountsUnits() bool { return r.Measures == CapMeasure || r.Measures == CapChoice }

const CapMeasure = "dataset.cap.measure"

// CountsRows is the largest number of rows that a unit counts with where units are counted by their rows, 0 where they are not.
func (d *Dataset) CountsRows() int64 {
	switch c := d.Cap; {
	case c == nil:
	case c.Choice != nil:
		if caps := c.Choice.Caps(); len(caps) > 0 {
			return caps[len(caps)-1]
		}
	case c.Measure != nil:
		return c.Measure.AtMost
	}
	return 0
}
