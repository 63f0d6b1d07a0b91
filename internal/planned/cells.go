package planned

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Cells are the groups of a release: all combinations of the values of its columns, and
// one more for the rows in none of them where the job names it.
type Cells struct {
	By    []job.Column
	Other string
	// Column is the column of groups that a mechanism sees, "" where the host runs it
	// group by group. Without By it has one group, of the rows that count.
	Column string
	labels []string
	keyed  string // the column whose values are selected, "" where all are listed
	cells  int    // how many there are
}

// NewCells are the cells of a release; one for all rows where it has no groups. Values are
// those of the group column whose values are selected: before the selection, nil, there
// are as many cells as there may be, without names.
func NewCells(j *job.Job, r *job.Release, values []string) *Cells {
	c := &Cells{Other: r.Other, keyed: r.Unlisted(&j.Dataset)}
	for _, name := range r.By {
		column, _ := j.Dataset.Column(name)
		if name == c.keyed {
			column.Type, column.Holds, column.Domain = job.Category, "", values
			column.Missing, column.Outside = job.Handling{Rule: job.Drop}, job.Handling{Rule: job.Drop}
			if from := j.Keyed(r); values == nil && from != nil {
				column.Domain = Numbered(int(from.Keys.Most()))
			}
		}
		c.By = append(c.By, column)
	}
	if c.cells = c.size(); c.Selected() {
		c.labels = Numbered(c.cells)
		return c
	}
	c.labels = []string{""}
	for _, column := range c.By {
		var longer []string
		for _, begin := range c.labels {
			for _, value := range column.Domain {
				longer = append(longer, strings.TrimPrefix(begin+between+value, between))
			}
		}
		c.labels = longer
	}
	if len(c.By) == 0 {
		c.labels = []string{"all"} // and no other: the checks refuse that
	}
	if c.Other != "" {
		c.labels = append(c.labels, c.Other)
	}
	c.distinguish()
	return c
}

// Selected reports whether the values of one of the columns are selected.
func (c *Cells) Selected() bool { return c.keyed != "" }

// Spare adds cells that no row is in, for a mechanism that plans otherwise for a few
// groups. What it returns of them is dropped.
func (c *Cells) Spare(to int) *Cells {
	more := *c
	more.labels = Numbered(max(c.cells, to))
	return &more
}

// Numbered makes n names that tell nothing.
func Numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

// size is the number of cells of the columns, with the one of the other rows.
func (c *Cells) size() int {
	n := 1
	for _, b := range c.By {
		n *= len(b.Domain)
	}
	if c.Other != "" {
		n++
	}
	return n
}

// between stands between the values of a label.
const between = " × "

// distinguish makes labels that are alike different: the mechanism is given a domain.
func (c *Cells) distinguish() {
	seen := make(map[string]bool, len(c.labels))
	for i, l := range c.labels {
		for seen[l] {
			l += "′"
		}
		c.labels[i], seen[l] = l, true
	}
}

// NameIn finds a name for the column that no declared column has, unless it holds the same as one.
func (c *Cells) NameIn(j *job.Job) string {
	if len(c.By) == 1 && c.Other == "" {
		return c.By[0].Name // its place is taken: the two hold the same
	}
	var names []string
	for _, b := range c.By {
		names = append(names, b.Name)
	}
	name := strings.Join(names, between)
	if name == "" {
		name = "counted"
	}
	for _, taken := j.Dataset.Column(name); taken; _, taken = j.Dataset.Column(name) {
		name += "′"
	}
	return name
}

// Len is the number of cells.
func (c *Cells) Len() int { return c.cells }

// Labels are the names of the cells, and of spare ones, all different.
func (c *Cells) Labels() []string { return slices.Clone(c.labels) }

// Values fills the group columns of a result for some cells.
func (c *Cells) Values(cells []int) []sdk.ResultColumn {
	out := make([]sdk.ResultColumn, len(c.By))
	own := c.cells
	if c.Other != "" {
		own--
	}
	for k := len(c.By) - 1; k >= 0; k-- {
		out[k] = sdk.ResultColumn{Name: c.By[k].Name, Texts: make([]string, len(cells))}
	}
	for i, cell := range cells {
		rest := cell
		for k := len(c.By) - 1; k >= 0; k-- {
			if n := len(c.By[k].Domain); cell < own {
				out[k].Texts[i] = c.shown(c.By[k], rest%n)
				rest /= n
			} else {
				out[k].Texts[i] = c.Other
			}
		}
	}
	return out
}

// shown is a value of a group column as it is published. What was selected came from the
// data and may be any text.
func (c *Cells) shown(column job.Column, i int) string {
	if column.Name == c.keyed {
		return keys.Shown(column.Domain[i])
	}
	return column.Domain[i]
}

// Label reports whether a column that a mechanism reads is that of the cells.
func (c *Cells) Label(column string) bool { return c != nil && c.Column != "" && c.Column == column }

// Labelled reports whether a column that a mechanism returns holds the labels of the
// cells. Some mechanisms give it the name of the column, and some call it group.
func (c *Cells) Labelled(column string) bool {
	return c.Label(column) || c != nil && c.Column != "" && column == "group"
}

// Result replaces the labels in the result of a mechanism for all cells by the group columns.
func (c *Cells) Result(r sdk.Result) sdk.Result {
	at := slices.IndexFunc(r.Columns, func(x sdk.ResultColumn) bool { return c.Labelled(x.Name) })
	if at < 0 {
		return r
	}
	index := make(map[string]int, len(c.labels))
	for i, l := range c.labels {
		index[l] = i
	}
	var cells, rows []int
	for i, label := range r.Columns[at].Texts {
		if cell, ok := index[label]; ok && cell < c.cells {
			cells, rows = append(cells, cell), append(rows, i)
		}
	}
	rest := slices.Delete(slices.Clone(r.Columns), at, at+1)
	if len(rows) < len(r.Columns[at].Texts) {
		for i := range rest {
			rest[i] = rest[i].Pick(rows)
		}
	}
	r.Columns = slices.Concat(c.Values(cells), rest)
	return r
}

// Apart joins what a mechanism returned for each cell.
func (c *Cells) Apart(parts []sdk.Result) sdk.Result {
	var out sdk.Result
	var cells []int
	for i, part := range parts {
		rows := 0
		for k, column := range part.Columns {
			if i == 0 {
				out.Columns = append(out.Columns, sdk.ResultColumn{Name: column.Name})
			}
			out.Columns[k].Append(column)
			rows = column.Len()
		}
		for range rows {
			cells = append(cells, i)
		}
	}
	out.Columns = slices.Concat(c.Values(cells), out.Columns)
	return out
}
