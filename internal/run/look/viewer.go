package look

import (
	"context"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// viewer reads the stored columns of a table, once, and then what a run makes of them.
type viewer struct {
	look   *Look
	plan   *planned.Plan
	table  *table.Table
	reads  []string // what the job reads of it
	broken bool     // a column that the job reads is not there, or not of its type

	names   []string // the columns that are read
	columns []viewedColumn
	weights []viewedColumn // those that are computed
}

// viewedColumn is a declared column that is read: at is its place in names.
type viewedColumn struct {
	at   int
	prep *run.Preparer // drops what it cannot use, so that everything is counted
	out  int           // place in Look.Columns
}

func (v *viewer) view(ctx context.Context) error {
	v.declare()
	v.frame()
	v.others()
	content, err := v.table.Content(ctx, v.all()) // which verifies what is read
	if err == nil && len(v.names) > 0 {
		err = v.table.Scan(ctx, table.ScanOptions{Columns: v.names, Content: content}, v.visit)
	}
	v.say()
	return err
}

// computed counts what derived columns and those of lookups hold, from the rows of table i.
func (v *viewer) computed(ctx context.Context, l *run.Look, i int) error {
	places := map[string]int{}
	return l.Computed(ctx, i, func(c job.Column, values table.Values, rows int) {
		at, known := places[c.Name]
		if !known {
			at = len(v.look.Columns)
			places[c.Name] = at
			stored := "computed from each row"
			if c.Lookup != nil {
				stored = "looked up in " + c.Lookup.Path
			}
			v.look.Columns = append(v.look.Columns, LookColumn{Name: c.Name, Declared: declaredText(c), Stored: stored, Holds: c.Type})
		}
		out := &v.look.Columns[at]
		for _, w := range v.weights {
			if w.prep.Column.Name == c.Name {
				_ = w.bounds(values, rows, &v.look.Columns[w.out])
			}
		}
		if c.Type == job.Number && !c.Plain() {
			_ = viewedColumn{prep: run.NewPreparer(c)}.bounds(values, rows, out) // it is a number
			return
		}
		for i := range rows {
			switch {
			case values.Null(i) || values.Float64 != nil && values.Float64[i] != values.Float64[i]:
				out.Missing++
			case c.Type == job.Category && values.Codes != nil && !slices.Contains(c.Domain, values.Dict[values.Codes[i]]):
				out.Outside++
			}
		}
	})
}

func (v *viewer) want(name string) int {
	if i := slices.Index(v.names, name); i >= 0 {
		return i
	}
	v.names = append(v.names, name)
	return len(v.names) - 1
}

// declare finds the declared columns in the table.
func (v *viewer) declare() {
	for _, c := range v.plan.Job.Dataset.Columns {
		if c.Derived != nil || c.Lookup != nil || c.Joined != nil {
			continue // it is computed, and not in the table
		}
		out := LookColumn{Name: c.Name, Declared: declaredText(c), Holds: c.Type}
		column, ok := v.table.Column(c.Name)
		switch fits, why := run.Suits(c, column); {
		case !ok:
			out.Stored = "not in the table"
			if slices.Contains(v.reads, c.Name) {
				v.breaks("SOURCE_NO_SUCH_COLUMN", "column %s is not in the table", c.Name)
			}
		case !fits:
			out.Stored = why
			if slices.Contains(v.reads, c.Name) {
				v.breaks("INVALID_JOB", "column %s cannot be used as a %s: %s", c.Name, c.Type, why)
			}
		default:
			out.Stored = column.Kind.String()
			if column.Text && column.Kind != table.String {
				out.Stored = "text, read as " + out.Stored
			}
			all := c
			all.Missing, all.Outside = job.Handling{Rule: job.Drop}, job.Handling{Rule: job.Drop}
			prep := &run.Preparer{Column: all}
			if !c.Plain() {
				prep = run.NewPreparer(all)
			}
			v.columns = append(v.columns, viewedColumn{at: v.want(c.Name), prep: prep, out: len(v.look.Columns)})
		}
		v.look.Columns = append(v.look.Columns, out)
	}
	v.weigh()
}

// weigh finds the weights that releases use, to count those that their bounds clip.
func (v *viewer) weigh() {
	var seen []*job.Weights
	for _, r := range v.plan.Releases() {
		w := v.plan.Job.Dataset.WeightsOf(&r.Job)
		if w == nil || slices.ContainsFunc(seen, func(o *job.Weights) bool { return o.Column == w.Column && o.AtMost.Cmp(w.AtMost) == 0 }) {
			continue
		}
		seen = append(seen, w)
		c := w.Of(&v.plan.Job.Dataset)
		view := viewedColumn{prep: run.NewPreparer(c), out: len(v.look.Columns)}
		stored, ok := v.table.Column(c.Name)
		if computed := c.Derived != nil || c.Lookup != nil; computed && (c.Derived == nil || !c.Derived.AfterFold) {
			v.weights = append(v.weights, view)
		} else if fits, _ := run.Suits(c, stored); ok && fits && !computed {
			view.at = v.want(c.Name)
			v.columns = append(v.columns, view)
		} else {
			continue // declare has said why
		}
		v.look.Columns = append(v.look.Columns,
			LookColumn{Name: c.Name + ", as weights", Declared: fmt.Sprintf("weights from 1 to %s", rational.Format(w.AtMost)),
				Stored: "weights below 1 and above the bound are clipped to it", Holds: job.Number})
	}
}

// breaks notes a column that cannot be read, so that nothing is looked at but the other columns.
func (v *viewer) breaks(code, format string, args ...any) {
	v.look.fails(code, format, args...)
	v.broken = true
}

// frame finds the key columns of framed draws, and that of the unit.
func (v *viewer) frame() {
	d := &v.plan.Job.Dataset
	if c, ok := v.table.Column(d.Key.Column); d.Key.Column != "" && (!ok || !c.Usable) {
		v.breaks("SOURCE_NO_SUCH_COLUMN", "column %s of dataset.unit is not in the table, or cannot be read", d.Key.Column)
	}
	for _, x := range v.plan.Draws {
		design, ok := x.Design.(samplers.Framed)
		if ok = ok && design.Frame() != nil; !ok || d.MayVanish() {
			continue // the table of the population says where a unit lies
		}
		for _, name := range design.Frame().Columns() {
			c, declared := d.Column(name)
			if declared && (c.Joined != nil || c.Derived != nil || c.Lookup != nil) {
				continue // it is not stored here
			}
			if c, ok := v.table.Column(name); !ok || !c.Usable {
				v.breaks("SOURCE_NO_SUCH_COLUMN", "column %s of the frame is not in the table, or cannot be read", name)
				break
			}
		}
	}
}

// others names the columns that the job does not declare.
func (v *viewer) others() {
	for _, c := range v.table.Columns() {
		if _, declared := v.plan.Job.Dataset.Column(c.Name); !declared {
			what := c.Kind.String()
			if !c.Usable {
				what = c.Reason
			}
			v.look.Others = append(v.look.Others, c.Name+" ("+what+")")
		}
	}
}

// all are the columns that are read, the unit column among them.
func (v *viewer) all() []string {
	all := slices.Clone(v.names)
	name := v.plan.Job.Dataset.Key.Column
	if c, ok := v.table.Column(name); ok && c.Usable && !slices.Contains(all, name) {
		all = append(all, name)
	}
	return all
}

func (v *viewer) visit(b table.Batch) error {
	for _, c := range v.columns {
		out := &v.look.Columns[c.out]
		u := b.Columns[c.at].Unread
		out.Unread, out.Commas, out.Fields = out.Unread+int64(u.Texts), out.Commas+int64(u.Commas), out.Fields+int64(u.Delimiters)
		if c.prep.Column.Plain() {
			for row := range b.Rows {
				if v := &b.Columns[c.at]; v.Null(row) || v.Float64 != nil && v.Float64[row] != v.Float64[row] {
					out.Missing++
				}
			}
			continue
		}
		if c.prep.Column.Type == job.Number {
			if err := c.bounds(b.Columns[c.at], b.Rows, out); err != nil {
				return err
			}
			continue
		}
		ready, err := c.prep.Prepare(b.Columns[c.at], b.Rows)
		if err != nil {
			return err
		}
		c.foreign(b.Columns[c.at], ready.Codes, out)
	}
	return nil
}

// bounds counts the numbers outside the bounds.
func (c viewedColumn) bounds(v table.Values, rows int, out *LookColumn) error {
	x, err := c.prep.AsFloats(v, rows)
	if err != nil {
		return err
	}
	for i, f := range x {
		switch {
		case v.Null(i) || f != f:
			out.Missing++
		case f < c.prep.Lower:
			out.Below++
		case f > c.prep.Upper:
			out.Above++
		}
	}
	return nil
}

// foreign counts the values outside the domain, and keeps the first of them.
func (c viewedColumn) foreign(v table.Values, codes []int32, out *LookColumn) {
	for i, code := range codes {
		switch {
		case code >= 0:
		case v.Null(i) || v.Float64 != nil && v.Float64[i] != v.Float64[i]:
			out.Missing++
		default:
			out.Outside++
			text := string(run.AppendText(nil, &v, i))
			if _, known := out.Foreign[text]; known || len(out.Foreign) < maxForeign {
				if out.Foreign == nil {
					out.Foreign = map[string]int64{}
				}
				out.Foreign[text]++
			}
		}
	}
}

// say turns what was counted into the answer, and into the failures of a run.
func (v *viewer) say() {
	used := v.plan.Columns()
	for _, c := range v.columns {
		out := v.look.Columns[c.out]
		declared, _ := v.plan.Job.Dataset.Column(out.Name)
		if why := out.unusable(v.look.Rows); why != "" && (slices.Contains(used, out.Name) || declared.Plain()) {
			v.look.fails("DATA_NO_NUMBERS", "%s", why)
		}
		if !slices.Contains(used, out.Name) || declared.Plain() { // expressions take what is missing as it is
			continue
		}
		if out.Missing > 0 && declared.Missing.Rule == job.Refuse {
			v.look.fails("DATA_MISSING", "column %s has %d missing values%s; say missing: drop or missing: {impute: VALUE}", out.Name,
				out.Missing, out.unreadText())
		}
		if out.Outside > 0 && declared.Outside.Rule == job.Refuse {
			v.look.fails("DATA_OUTSIDE", "column %s has %d values outside its domain; say outside: drop or outside: {impute: VALUE}, "+
				"or add them to the domain", out.Name, out.Outside)
		}
	}
}
