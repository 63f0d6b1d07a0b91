package linear

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// maxNumbers bounds the vector of a release.
const maxNumbers = 1 << 22

// Cells are all combinations of the values of some category columns with public domains, or one
// cell without columns. Every cell is released, whether or not a row is in it.
type Cells struct {
	Groups []sdk.Column
	N      int
}

// NewCells looks up the columns of a parameter "by". Own names the other columns of the result.
func NewCells(public sdk.Public, by []string, own ...string) (Cells, error) {
	c := Cells{N: 1}
	for _, name := range by {
		g, ok := public.Column(name)
		switch {
		case !ok:
			return c, fmt.Errorf("by: %q is not declared in dataset.columns", name)
		case slices.Contains(own, name):
			return c, fmt.Errorf("by: a column of the release is named %q too; rename the column of the table", name)
		case g.Type != sdk.Category || len(g.Domain) == 0:
			return c, fmt.Errorf("by: %q needs a public domain", name)
		case len(g.Domain) > maxNumbers/c.N:
			return c, fmt.Errorf("by: the domains make more than %d cells", maxNumbers)
		}
		c.Groups = append(c.Groups, g)
		c.N *= len(g.Domain)
	}
	return c, nil
}

// Units returns how the rows of a unit lie in the cells. A row without one of values is in no
// cell.
func (c Cells) Units(public sdk.Public, values ...sdk.Column) sdk.Units {
	u := sdk.Units{Cells: int64(c.N), Groups: 1, Rows: 1}
	for _, g := range c.Groups {
		// Out of a single cell a row can only vanish. A neighbour cannot change an immutable
		// column (P11).
		u.Switches = u.Switches || c.N > 1 && !g.Immutable
	}
	u.Leaves = slices.ContainsFunc(slices.Concat(c.Groups, values), func(v sdk.Column) bool { return v.Missing == sdk.MissingDrop })
	if public.Cap != nil {
		// The kept rows of a unit are drawn from those that pass. Even where no column changes,
		// other cells and fewer rows may be kept.
		u.Groups, u.Rows, u.Switches, u.Leaves = public.Cap.Groups, public.Cap.Rows*public.Cap.Each(), c.N > 1, true
		if len(c.Groups) == 0 {
			u.Groups = 1 // at most Rows in all
		}
	}
	return u
}

// Block is a batch of rows with the cell of each.
type Block struct {
	Rows int
	// Cells are the cells of the rows, or -1; nil where every row is in cell 0.
	Cells []int32
	// Columns are the values that the query reads.
	Columns []sdk.Values
	// Weights are nil where all rows weigh the same.
	Weights []float64
}

// Cell is the cell of a row, or -1.
func (b Block) Cell(row int) int {
	if b.Cells == nil {
		return 0
	}
	return int(b.Cells[row])
}

// Block finds the cell of every row. A row without a group or without a value is in no cell.
// Block may write the cells to scratch, and returns it for the next call.
func (c Cells) Block(b *sdk.Batch, values []sdk.Values, scratch []int32) (Block, []int32) {
	out := Block{Rows: b.Rows, Columns: values, Weights: b.Weights}
	scratch = slices.Grow(scratch[:0], b.Rows)[:b.Rows]
	own := false // the cells are in scratch, not in a column, which cannot be written
	switch len(c.Groups) {
	case 0:
	case 1:
		out.Cells = b.Columns[0].Codes
	default:
		clear(scratch)
		out.Cells, own = scratch, true
		for i, g := range c.Groups {
			n := int32(len(g.Domain))
			for row, code := range b.Columns[i].Codes {
				if cell := scratch[row]; cell >= 0 && code >= 0 {
					scratch[row] = cell*n + code
				} else {
					scratch[row] = -1
				}
			}
		}
	}
	for _, v := range values {
		if v.Codes == nil && v.Valid == nil {
			continue
		}
		if !own {
			own = true
			if out.Cells == nil {
				clear(scratch)
			} else {
				copy(scratch, out.Cells)
			}
			out.Cells = scratch
		}
		for row := range scratch {
			if v.Codes != nil && v.Codes[row] < 0 || v.Valid != nil && v.Valid[row>>3]>>(row&7)&1 == 0 {
				scratch[row] = -1
			}
		}
	}
	return out, scratch
}

// Fields are the fields of the columns that name the cells.
func (c Cells) Fields() (out []sdk.Field) {
	for _, g := range c.Groups {
		out = append(out, sdk.Field{Name: g.Name, Type: sdk.String, Doc: "group"})
	}
	return out
}

// Labels are the columns of the result that name the cells, with so many rows for each cell.
func (c Cells) Labels(times int) []sdk.ResultColumn {
	var out []sdk.ResultColumn
	each := c.N
	for _, g := range c.Groups {
		each /= len(g.Domain)
		labels := make([]string, c.N*times)
		for i := range labels {
			labels[i] = g.Domain[i/times/each%len(g.Domain)]
		}
		out = append(out, sdk.ResultColumn{Name: g.Name, Texts: labels})
	}
	return out
}
