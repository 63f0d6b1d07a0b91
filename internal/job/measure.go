package job

import "github.com/dprelease/dprelease/plugins/asked"

// Choice says that a cap is chosen in private: a release of its own counts units by their numbers of rows, with noise, before
// the others are made, and the cap that suits these follows from the noisy numbers.
type Choice struct {
	Private Measure // pays for the numbers; AtMost is the largest cap
	// Assume are the assumed numbers of units with 1, 2, 3 … rows. They forecast the choice and change nothing else.
	Assume []int64
}

// Caps are those that may be chosen.
func (c *Choice) Caps() []int64 { return asked.Caps(c.Private.AtMost) }

// LeftOut returns the share of the rows that does not count where so many of each unit do, if units have as many as is assumed.
func (c *Choice) LeftOut(keep int64) float64 {
	all, left := 0.0, 0.0
	for i, units := range c.Assume {
		rows := int64(i + 1)
		all, left = all+float64(units)*float64(rows), left+float64(units)*float64(max(0, rows-keep))
	}
	return left / max(all, 1)
}

const CapChoice = "dataset.cap.rows"

// ChoosesCap reports whether a cap is chosen from what the release finds.
func (r *Release) ChoosesCap() bool { return r.Measures == CapChoice }

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
