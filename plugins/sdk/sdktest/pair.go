package sdktest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// record is one generated row: a cell for each column of the plan. Two tables of a
// pair share the ids of the records that they share.
type record struct {
	id     int
	cells  []cell
	weight float64
}

type cell struct {
	x     float64 // a number, also where it is missing: then it must not be read
	code  int32
	valid bool
}

// pair is two tables and how far apart they are.
type pair struct {
	left, right []record
	relation    privacy.Relation
	distance    int // 0, 1 or 2 steps of the relation
	what        string
	batch       [2]int // rows to a batch on either side
	focus       int    // the id of the record that comes, goes or changes
	tied        bool   // the contents of records are tied to each other
}

// layout describes the columns of a pair's tables.
type layout struct {
	columns  []sdk.Column
	weights  bool
	lightest float64
}

func newLayout(req sdk.PlanRequest, plan sdk.Plan) layout {
	l := layout{weights: !req.Public.Design.EqualWeights, lightest: req.Public.Design.MinWeight}
	for _, name := range plan.Columns {
		c, _ := req.Public.Column(name)
		l.columns = append(l.columns, c)
	}
	return l
}

func (l layout) table(rows []record, batch int) Table {
	at := make([]int32, len(rows))
	for i := range at {
		at[i] = int32(i)
	}
	return l.chosen(rows, at, batch)
}

// chosen is a table whose row i is rows[at[i]].
func (l layout) chosen(rows []record, at []int32, batch int) Table {
	t := Table{Rows: len(at), Columns: map[string]sdk.Values{}, BatchRows: batch}
	for i, c := range l.columns {
		v := sdk.Values{}
		if c.Type == sdk.Category {
			v.Codes = make([]int32, len(at))
		} else {
			v.Float64 = make([]float64, len(at))
		}
		for r, from := range at {
			x := &rows[from].cells[i]
			switch {
			case c.Type == sdk.Category && x.valid:
				v.Codes[r] = x.code
			case c.Type == sdk.Category:
				v.Codes[r] = -1
			default:
				v.Float64[r] = x.x
			}
			if c.Type == sdk.Number && !x.valid && v.Valid == nil {
				v.Valid = make([]byte, (len(at)+7)/8)
				for j := range at {
					v.Valid[j>>3] |= 1 << (j & 7)
				}
			}
			if c.Type == sdk.Number && !x.valid {
				v.Valid[r>>3] &^= 1 << (r & 7)
			}
		}
		t.Columns[c.Name] = v
	}
	if l.weights {
		t.Weights = make([]float64, len(at))
		for r, from := range at {
			t.Weights[r] = rows[from].weight
		}
	}
	return t
}

// maxPrinted is the number of rows of a table that are printed beside those that differ.
const maxPrinted = 40

// print shows a pair side by side, the records that differ with a mark.
func (l layout) print(p pair) string {
	var b strings.Builder
	header := []string{"  "}
	for _, c := range l.columns {
		header = append(header, c.Name)
	}
	if l.weights {
		header = append(header, "weight")
	}
	side := func(name string, rows, other []record) {
		fmt.Fprintf(&b, "%s (%d rows)\n  %s\n", name, len(rows), strings.Join(header, "\t"))
		left, there := 0, map[int]record{}
		for _, o := range other {
			there[o.id] = o
		}
		for i, r := range rows {
			mark := "  "
			if o, ok := there[r.id]; !ok || !same(o, r) ||
				p.distance == 2 && (i >= len(other) || other[i].id != r.id) {
				mark = "->"
			} else if i >= maxPrinted {
				left++
				continue
			}
			line := []string{mark}
			for j, c := range l.columns {
				line = append(line, show(c, r.cells[j]))
			}
			if l.weights {
				line = append(line, fmt.Sprint(r.weight))
			}
			fmt.Fprintf(&b, "  %s\n", strings.Join(line, "\t"))
		}
		if left > 0 {
			fmt.Fprintf(&b, "    and %d rows more that are in both tables\n", left)
		}
	}
	side("table A", p.left, p.right)
	side("table B", p.right, p.left)
	return b.String()
}

func show(c sdk.Column, x cell) string {
	switch {
	case !x.valid:
		return "null"
	case c.Type == sdk.Category:
		return c.Domain[x.code]
	}
	return fmt.Sprint(x.x)
}

func same(a, b record) bool {
	return a.id == b.id && a.weight == b.weight && slices.Equal(a.cells, b.cells)
}

// bounded is x inside the bounds of c.
func bounded(c sdk.Column, x float64) float64 { return math.Min(math.Max(x, c.Lower), c.Upper) }
