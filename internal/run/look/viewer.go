package look

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/samplers"
)

// viewer reads the table of a look: all of it, once, and the unit column once more.
type viewer struct {
	look    *Look
	plan    *plan.Planned
	table   *table.Table
	content *table.Content

	names   []string // the columns that are read
	columns []viewedColumn
	weights []viewedColumn // those that are computed
	frames  []viewedFrame
	groups  []viewedGroups
}

// viewedColumn is a declared column that is read: at is its place in names.
type viewedColumn struct {
	at   int
	prep *run.Preparer // drops what it cannot use, so that everything is counted
	out  int           // place in Look.Columns
}

type viewedFrame struct {
	draw   *plan.PlannedDraw
	at     []int
	finder run.UnitFinder
	counts []int64
	none   int64
}

// viewedGroups counts the rows of each combination of categories.
type viewedGroups struct {
	release string
	by      []int // places in viewer.columns
	counts  map[int64]int64
}

// maxCells is how many combinations of categories can be told apart.
const maxCells = 1 << 62

func (v *viewer) view(ctx context.Context) error {
	v.declare()
	v.frame()
	v.group()
	v.others()
	var err error
	if v.content, err = v.table.Content(ctx, v.all()); err != nil {
		return err
	}
	if len(v.names) > 0 {
		if err := v.table.Scan(ctx, table.ScanOptions{Columns: v.names, Content: v.content}, v.visit); err != nil {
			return err
		}
	}
	v.say()
	if err := v.computed(ctx); err != nil {
		return err
	}
	return v.unit(ctx)
}

// computed counts what derived columns and those of lookups hold, from the rows of the table.
func (v *viewer) computed(ctx context.Context) error {
	if !v.computable() {
		return nil
	}
	places := map[string]int{}
	return run.Computed(ctx, v.plan.Job, v.table, v.content, func(c job.Column, values table.Values, rows int) {
		at, known := places[c.Name]
		if !known {
			at = len(v.look.Columns)
			places[c.Name] = at
			stored := "computed from each row"
			if c.Lookup != nil {
				stored = "looked up in " + c.Lookup.Path
			}
			v.look.Columns = append(v.look.Columns, LookColumn{Name: c.Name, Declared: declaredText(c), Stored: stored, holds: c.Type})
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

// computable reports whether every column that the job reads is there and of its type.
func (v *viewer) computable() bool {
	return !slices.ContainsFunc(v.look.Failures, func(f LookedFailure) bool { return f.Code == "SOURCE_NO_SUCH_COLUMN" || f.Code == "INVALID_JOB" })
}

// stored finds a column of the table that can be read.
func (v *viewer) stored(name string) (table.Column, bool) {
	all := v.table.Columns()
	i := slices.IndexFunc(all, func(c table.Column) bool { return c.Name == name })
	if i < 0 {
		return table.Column{}, false
	}
	return all[i], true
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
	used := v.plan.Columns()
	for _, c := range v.plan.Job.Dataset.Columns {
		if c.Derived != nil || c.Lookup != nil || c.Joined != nil {
			continue // it is computed, and not in the table
		}
		out := LookColumn{Name: c.Name, Declared: declaredText(c), holds: c.Type}
		column, ok := v.stored(c.Name)
		switch fits, why := run.Suits(c, column); {
		case !ok:
			out.Stored = "not in the table"
			if slices.Contains(used, c.Name) {
				v.look.fails("SOURCE_NO_SUCH_COLUMN", "column %s is not in the table", c.Name)
			}
		case !fits:
			out.Stored = why
			if slices.Contains(used, c.Name) {
				v.look.fails("INVALID_JOB", "column %s cannot be used as %s: %s", c.Name, report.A(string(c.Type)), why)
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
		stored, ok := v.stored(c.Name)
		if computed := c.Derived != nil || c.Lookup != nil; computed && (c.Derived == nil || !c.Derived.AfterFold) {
			v.weights = append(v.weights, view)
		} else if fits, _ := run.Suits(c, stored); ok && fits && !computed {
			view.at = v.want(c.Name)
			v.columns = append(v.columns, view)
		} else {
			continue // declare has said why
		}
		v.look.Columns = append(v.look.Columns, LookColumn{Name: c.Name + ", as weights", Declared: fmt.Sprintf("weights from 1 to %s", rational.Format(w.AtMost)),
			Stored: "weights below 1 and above the bound are clipped to it", holds: job.Number})
	}
}

// frame finds the key columns of framed draws.
func (v *viewer) frame() {
	for _, d := range v.plan.Draws {
		design, ok := d.Design.(plan.Framed)
		ok = ok && design.Frame() != nil
		if !ok || v.plan.Job.Dataset.MayVanish() {
			continue // the table of the population says where a unit lies
		}
		frame := design.Frame()
		if len(v.plan.Job.Dataset.Partners(frame.Columns()...)) > 0 {
			continue // it stands in another table
		}
		f := viewedFrame{draw: d, counts: make([]int64, frame.Len()),
			finder: run.UnitFinder{Frame: frame, Key: make([]string, len(frame.Columns())), Known: map[string]int32{}, Missing: run.NoUnit, Outside: run.NoUnit}}
		for _, name := range frame.Columns() {
			if c, ok := v.stored(name); !ok || !c.Usable {
				v.look.fails("SOURCE_NO_SUCH_COLUMN", "column %s of the frame is not in the table, or cannot be read", name)
				f.at = nil
				break
			}
			f.at = append(f.at, v.want(name))
		}
		if f.at != nil {
			v.frames = append(v.frames, f)
		}
	}
}

// group finds the categories that each release reads.
func (v *viewer) group() {
	for _, d := range v.plan.Draws {
		for _, r := range d.Releases {
			g, cells := viewedGroups{release: r.Job.Name, counts: map[int64]int64{}}, 1.0
			for i, c := range v.columns {
				if c.prep.Column.Type == job.Category && slices.Contains(r.Plan.Columns, c.prep.Column.Name) {
					g.by = append(g.by, i)
					cells *= float64(len(c.prep.Column.Domain))
				}
			}
			if len(g.by) > 0 && cells < maxCells {
				v.groups = append(v.groups, g)
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
	if c, ok := v.stored(name); ok && c.Usable && !slices.Contains(all, name) {
		all = append(all, name)
	}
	return all
}

func (v *viewer) visit(b table.Batch) error {
	codes := make([][]int32, len(v.columns))
	for i, c := range v.columns {
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
		codes[i] = ready.Codes
		c.foreign(b.Columns[c.at], ready.Codes, out)
	}
	for i := range v.frames {
		v.frames[i].visit(b)
	}
	for i := range v.groups {
		v.groups[i].visit(v.columns, codes, b.Rows)
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

func (f *viewedFrame) visit(b table.Batch) {
	keys := make([]table.Values, len(f.at))
	for i, at := range f.at {
		keys[i] = b.Columns[at]
	}
	for row := range b.Rows {
		if u := f.finder.Find(keys, row); u >= 0 {
			f.counts[u]++
		} else {
			f.none++
		}
	}
}

func (g *viewedGroups) visit(columns []viewedColumn, codes [][]int32, rows int) {
next:
	for row := range rows {
		cell := int64(0)
		for _, i := range g.by {
			code := codes[i][row]
			if code < 0 {
				continue next
			}
			cell = cell*int64(len(columns[i].prep.Column.Domain)) + int64(code)
		}
		g.counts[cell]++
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
			v.look.fails("DATA_MISSING", "column %s has %d missing values%s; say missing: drop or missing: {impute: VALUE}", out.Name, out.Missing, out.unreadText())
		}
		if out.Outside > 0 && declared.Outside.Rule == job.Refuse {
			v.look.fails("DATA_OUTSIDE", "column %s has %d values outside its domain; say outside: drop or outside: {impute: VALUE}, or add them to the domain", out.Name, out.Outside)
		}
	}
	for _, f := range v.frames {
		v.look.Draws = append(v.look.Draws, f.say(v.look))
	}
	for _, g := range v.groups {
		out := LookGroups{Release: g.release, Possible: 1, Held: int64(len(g.counts))}
		for _, i := range g.by {
			c := v.columns[i].prep.Column
			out.By = append(out.By, c.Name)
			out.Possible *= int64(len(c.Domain))
		}
		smallest := int64(math.MaxInt64)
		for _, n := range g.counts {
			smallest = min(smallest, n)
		}
		if out.Held > 0 {
			out.Smallest = smallest
		}
		v.look.Groups = append(v.look.Groups, out)
	}
}

func (f *viewedFrame) say(l *Look) LookDraw {
	frame := f.finder.Frame
	out := LookDraw{Name: f.draw.Name, Outside: f.none, Units: frame.Len()}
	differ := 0
	table, collected := f.draw.Design.(*samplers.Gathered)
	for u, n := range f.counts {
		unit := frame.Unit(int32(u))
		key := strings.Join(unit.Key, "/")
		switch public := frame.Records() > 0 && !collected; {
		case public && n != unit.Records:
			if differ++; differ <= maxForeign {
				out.Differ = append(out.Differ, fmt.Sprintf("%s: %d rows, the frame says %d", key, n, unit.Records))
			}
		case len(out.Strata) < maxForeign && (!public || f.draw.Design.Kind() == "stratified"):
			out.Strata = append(out.Strata, fmt.Sprintf("%s: %d rows", key, n))
		}
	}
	switch {
	case collected && (!table.Fits(f.counts) || frame.Records() > 0 && f.none > 0):
		l.fails("SAMPLE_FRAME_MISMATCH", "the table is not what dataset.collected says: its strata, or the units that were drawn, have other numbers of rows, or %d rows lie in none", f.none)
	case !collected && frame.Records() > 0 && (differ > 0 || f.none > 0):
		l.fails("INVALID_JOB", "the frame of %s does not match the table: %d of %d units have another number of rows, and %d rows lie in no unit", out.Name, differ, out.Units, f.none)
	}
	return out
}
