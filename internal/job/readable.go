package job

import "github.com/dprelease/dprelease/internal/rows/formula"

// Path is the key that declares the column.
func (c *Column) Path() string {
	switch {
	case c.Derived != nil || c.Joined != nil && c.Joined.Derived:
		return Key("dataset.derive", c.Name)
	case c.Joined != nil:
		return Key("dataset.join", c.Joined.Table)
	case c.Lookup != nil:
		return Key(Key(Key("dataset.lookups", c.Lookup.Name), "columns"), c.Name)
	}
	return Key("dataset.columns", c.Name)
}

// MadeOf are the columns of the same table that a lookup, bins or an expression read to make the column.
func (c *Column) MadeOf() []string {
	switch {
	case c.Lookup != nil:
		return []string{c.Lookup.On()}
	case c.Derived == nil:
		return nil
	case c.Derived.Bins.Column != "":
		return []string{c.Derived.Bins.Column}
	}
	return c.Derived.As.Formula.Columns()
}

// Readable are the columns that an expression may read, of a row or of the folded rows of
// a unit.
func (d *Dataset) Readable(folded bool) []formula.Column {
	var all []formula.Column
	for i := range d.Columns {
		c := &d.Columns[i]
		after := c.Derived != nil && c.Derived.AfterFold
		if !folded && after || folded && !after && d.FoldOf(c.Name) == "" {
			continue
		}
		out := formula.Column{Name: c.Name, Type: formula.Text, Domain: c.Domain}
		switch {
		case c.Derived != nil && folded == after && c.Derived.As.Formula != nil: // as it is computed, whatever becomes of it
			out.Type, out.Domain = c.Derived.As.Formula.Type, c.Derived.As.Formula.Domain
			all = append(all, out)
			continue
		case c.Domain != nil:
		case c.Numeric():
			out.Type = formula.Number
			if c.Lower != nil && c.Upper != nil && (folded || d.FoldOf(c.Name) == "") { // of rows nothing is said where they are folded
				lower, _ := c.Lower.Float64()
				upper, _ := c.Upper.Float64()
				out.Lower, out.Upper = &lower, &upper
			}
		case c.Holds == Bool:
			out.Type = formula.Bool
		case c.Holds == Date:
			out.Type = formula.Date
		case c.Holds == Timestamp:
			out.Type = formula.Timestamp
		}
		if c.Flag() {
			out.Type, out.Domain = formula.Bool, nil
		}
		all = append(all, out)
	}
	return all
}

// MaxCells is the most cells of a release, MaxKeyed of one whose cells are selected: a
// mechanism is asked about all that there may be before the budget is spent, in one
// message.
const (
	MaxCells = 1 << 20
	MaxKeyed = 1 << 18
)
