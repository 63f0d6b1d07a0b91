package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Ends are the ends of its intervals that a release publishes.
type Ends string

// An interval has both ends, only its lower one, or none.
const (
	EndsBoth  Ends = "both"
	EndsLower Ends = "at least"
	EndsNone  Ends = "none"
)

// Mark is a word for a limit that may keep a value away from the population's. It stands in each row of the release.
type Mark string

// The marks, in the order in which a row names them.
const (
	MarkCap     Mark = "cap"
	MarkPeriods Mark = "periods"
	MarkLimits  Mark = "limits"
	MarkMissing Mark = "missing"
)

// Whose says whose value the figures of a release are. It follows from the job and the plan alone, so it tells nothing of a row.
// Plan, files, pages and terminal take it from here.
//
// # Contract
//
// An interval with both ends and no Of covers the population's value; with Of it covers the value of what Of names. An interval
// with a lower end alone has a lower end that is no larger than the population's total at least as often as the level says,
// because nothing that the job does to rows can raise that total. All other ends are blank. Proof: whose.proof.md. // P41
type Whose struct {
	Ends  Ends
	Marks []Mark
	Of    []string // in a few words, what both ends are about; none where they are about the population
}

// marked adds a mark once.
func (w *Whose) marked(m Mark) {
	if !slices.Contains(w.Marks, m) {
		w.Marks = append(w.Marks, m)
		order := []Mark{MarkCap, MarkPeriods, MarkLimits, MarkMissing}
		slices.SortFunc(w.Marks, func(a, b Mark) int { return slices.Index(order, a) - slices.Index(order, b) })
	}
}

// Partial reports whether a cap of rows, groups or periods may leave out what counts in the population's value.
func (w Whose) Partial() bool { return w.Ends != EndsBoth }

// Status is the text of the column that carries the marks: "" where nothing may keep the values away from the population's.
func (w Whose) Status() string {
	var words []string
	if w.Ends == EndsLower {
		words = append(words, string(EndsLower)+":")
	}
	for _, m := range w.Marks {
		words = append(words, string(m))
	}
	return strings.Join(words, " ")
}

// Whose says whose value the figures of the release are. // P41
func (r *PlannedRelease) Whose() Whose {
	w := r.whose
	w.Marks, w.Of = slices.Clone(w.Marks), slices.Clone(w.Of)
	s := r.Series
	if s == nil || !s.Capped || s.Question.Units.AtMost >= s.Question.Periods {
		return w
	}
	binds := job.Binds("")
	if u := s.Spec.Unit; u != nil {
		binds = u.Binds
	}
	switch binds {
	case job.BindsNever:
	case job.BindsDefinition:
		w.Of = append(w.Of, fmt.Sprintf("what counts in at most %d periods", s.Question.Units.AtMost))
	default:
		w.marked(MarkPeriods)
		w.Ends = r.partial()
	}
	return w
}

// partial are the ends of a release of which some rows do not count.
func (r *PlannedRelease) partial() Ends {
	if !r.raises {
		return EndsLower
	}
	return EndsNone
}

// settleWhose finds whose value the figures are, and whether the job may raise a total, apart from periods.
func (r *PlannedRelease) settleWhose(j *job.Job) {
	d := &j.Dataset
	w := Whose{Ends: EndsBoth}
	statistic := r.Plan.Estimates()
	// What is no sum of rows, each times a public constant, can be raised by rows that are left out.
	r.raises = statistic != sdk.StatisticCount && statistic != sdk.StatisticTotal || r.Weights != nil || !r.Additive ||
		statistic == sdk.StatisticTotal && r.Public.Population > 0 // it may be a difference around the middle of the bounds
	if r.Job.CountsUnits() || r.Job.Bounds != "" { // they are about the limit itself
		r.whose = w
		return
	}
	names := slices.Concat(r.Plan.Columns, r.Job.By)
	for i, name := range names {
		if c, ok := d.Column(name); ok && !slices.Contains(names[:i], name) && !c.Plain() {
			if r.Job.Measures != "" {
				c.Binds = job.BindsNever // it counts the values at the bounds
			}
			group := slices.Contains(r.Job.By, name)
			r.raises = w.addColumn(c, statistic, group, group && r.Job.Other != "") || r.raises
		}
	}
	if d.Key.Column != "" && d.Key.Missing == job.NoUnitDrop {
		w.marked(MarkMissing)
		w.Of = append(w.Of, "rows with "+d.Key.Column)
	}
	if r.Weights != nil {
		w.addWeights(d, d.WeightsOf(&r.Job))
	}
	if c := r.cap; c != nil {
		switch c.Binds {
		case job.BindsNever:
		case job.BindsDefinition:
			w.Of = append(w.Of, capWords(d, c, len(r.Job.By) > 0))
		default:
			w.marked(MarkCap)
			w.Ends = r.partial()
		}
	}
	if w.Ends != EndsBoth {
		w.Of = nil
	}
	r.whose = w
}

// capWords names the rows that count under a cap.
func capWords(d *job.Dataset, c *job.Cap, groups bool) string {
	unit := d.Called.Name
	if unit == "" {
		unit = "unit"
	}
	out := fmt.Sprintf("at most %d rows of each %s", c.Rows, unit)
	if groups {
		out += fmt.Sprintf(" in each of at most %d groups", c.Groups)
	}
	return out
}

// addWeights names the limits of survey weights.
func (w *Whose) addWeights(d *job.Dataset, of *job.Weights) {
	if of.Of(d).Missing.Rule != job.Refuse {
		w.marked(MarkMissing)
		w.Of = append(w.Of, "rows with "+of.Column)
	}
	w.marked(MarkLimits)
	if w.Of = append(w.Of, "weights held to 1–"+rational.Format(of.AtMost)); of.Shrink != nil {
		w.Of = append(w.Of, "shrunk weights")
	}
}

// addColumn names what becomes of the values of a column, and reports whether it may raise a total, or a count of rows in a
// group. A group column leaves out only rows of other groups; inOther says that these have a group of their own.
func (w *Whose) addColumn(c job.Column, statistic sdk.Statistic, group, inOther bool) (raises bool) {
	if c.Type == job.Number {
		if c.Lookup != nil {
			c.Binds = job.BindsNever // a public table beyond its bounds is refused
		}
		moves := c.Binds == "" || c.Binds == job.BindsUpper
		if moves {
			w.marked(MarkLimits)
		}
		switch {
		case c.Binds == job.BindsNever:
		case c.Bounds != nil:
			w.Of = append(w.Of, c.Name+" held to bounds found in private")
		default:
			w.Of = append(w.Of, fmt.Sprintf("%s held to %s–%s", c.Name, rational.Format(c.Lower), rational.Format(c.Upper)))
		}
		positive := c.Lower.Sign() >= 0 && (c.Binds != "" || c.Bounds != nil)
		raises = statistic == sdk.StatisticTotal && !positive || statistic == sdk.StatisticCount && moves
	}
	if inOther {
		return raises
	}
	raises = w.addRule(c.Name, MarkMissing, c.Missing, statistic) || raises
	if c.Type == job.Category && !(group && c.Outside.Rule == job.Drop) {
		raises = w.addRule(c.Name, MarkLimits, c.Outside, statistic) || raises
	}
	return raises
}

// addRule names what becomes of values that are not there or not expected, and reports whether it may raise a total.
func (w *Whose) addRule(column string, m Mark, h job.Handling, statistic sdk.Statistic) bool {
	named := "rows with " + column
	switch h.Rule {
	case job.Drop:
	case job.Impute:
		named = column + " with public values in the place of others"
	default:
		return false
	}
	w.marked(m)
	if !slices.Contains(w.Of, named) {
		w.Of = append(w.Of, named)
	}
	return h.Rule == job.Impute && (statistic != sdk.StatisticTotal || h.Number == nil || h.Number.Sign() > 0)
}

// StatusColumn is the name of the column that carries the marks, which no other column has; "" where the release has no marks, or
// no estimates.
func (r *PlannedRelease) StatusColumn() string {
	if r.Whose().Status() == "" || !r.has(estimateField) {
		return ""
	}
	name := "status"
	for r.has(name) || slices.Contains(r.groupColumns(), name) {
		name += "_"
	}
	return name
}

// has reports whether the mechanism returns a column.
func (r *PlannedRelease) has(column string) bool {
	return slices.ContainsFunc(r.Plan.Output, func(f sdk.Field) bool { return f.Name == column })
}

// columnIn finds the numbers of a result by the name of their column, nil where there are none.
func columnIn(columns []sdk.ResultColumn, name string) *sdk.ResultColumn {
	if i := slices.IndexFunc(columns, func(c sdk.ResultColumn) bool { return c.Float64 != nil && c.Name == name }); i >= 0 {
		return &columns[i]
	}
	return nil
}

// own gives a column a mark for each value, and numbers and marks that others do not share. Files have a place for blank values then,
// whether there are any or not.
func own(c *sdk.ResultColumn) {
	marks := make([]bool, c.Len())
	copy(marks, c.Blank)
	c.Float64, c.Blank = slices.Clone(c.Float64), marks
}

// blank takes a number out of a column.
func blank(c *sdk.ResultColumn, i int) {
	c.Float64[i] = 0
	c.Hide(i)
}

const (
	estimateField = "estimate"
	noiseField    = "noise_sd"
	errorField    = "standard_error"
	cvField       = "cv"
)

// endFields are the names of the ends of an interval, the lower one first; those of a series have other names.
var endFields = [][2]string{{"interval_low", "interval_high"}, {"low", "high"}}

// endOf returns 0 for the lower end of an interval, 1 for the upper one, and -1 for any other column.
func (r *PlannedRelease) endOf(name string) int {
	ends := endFields[0]
	if r.Series != nil {
		ends = endFields[1]
	}
	return slices.Index(ends[:], name)
}

// said are the columns of the release with what their ends are about, and the column that carries the marks.
func (r *PlannedRelease) said(fields []sdk.Field) []sdk.Field {
	w, out := r.Whose(), slices.Clone(fields)
	for i, f := range out {
		at := r.endOf(f.Name)
		switch {
		case at >= 0 && w.Ends == EndsNone:
			out[i].Doc = "blank: some rows do not count, and nobody knows how far the value lies from that of all"
		case at == 0 && w.Ends == EndsLower:
			out[i].Doc = "the value of all rows is at least this, at the level of the interval: some rows do not count, and none can be added"
		case at == 1 && w.Ends == EndsLower:
			out[i].Doc = "blank: some rows do not count, and nobody knows how far the value of all lies above interval_low"
		case at >= 0 && len(w.Of) > 0:
			out[i].Doc = f.Doc + "; it is the value of " + strings.Join(w.Of, ", ")
		case (f.Name == noiseField || f.Name == errorField || r.Series != nil && f.Name == "sd") && r.picks():
			out[i].Doc = f.Doc + ", and at most of the random choice of rows inside the cap"
		}
	}
	if r.hasEffect() {
		out = slices.Insert(out, slices.IndexFunc(out, func(f sdk.Field) bool { return f.Name == cvField })+1, effectColumn())
	}
	if r.judged() {
		out = append(out, r.qualityColumn())
	}
	if name := r.StatusColumn(); name != "" {
		out = append(out, sdk.Field{Name: name, Type: sdk.String, Texts: []string{w.Status()},
			Doc: "what may keep the value away from that of the population: " +
				"cap and periods leave out rows of a unit, limits move values or leave them out, " +
				"missing says that some have none; at least: the interval has its lower end alone"})
	}
	return out
}

// Published turns the results of a run into those that it publishes: without values that mean nothing, with marks, and without the
// columns that a release withholds.
func Published(p *planned.Plan, results map[string]sdk.Result) map[string]sdk.Result {
	out := map[string]sdk.Result{}
	for _, r := range p.Planner.(*Planned).Releases() {
		result := results[r.Job.Name]
		if r.Series == nil {
			result = r.Blanked(r.InUnits(result))
		}
		result = r.Stated(result)
		result.Columns = slices.DeleteFunc(result.Columns, func(c sdk.ResultColumn) bool { return r.Withheld(p.Job, c.Name) })
		out[r.Job.Name] = result
	}
	return out
}

// Stated is a result in which the ends of intervals that would mislead are blank, errors hold the random choice inside a cap, and
// rows carry their marks, those of their relative errors too. It is computed from released numbers and public facts alone.
func (r *PlannedRelease) Stated(result sdk.Result) sdk.Result { // P41
	w := r.Whose()
	out := sdk.Result{Columns: slices.Clone(result.Columns)}
	r.addChoice(out.Columns)
	rows := 0
	for i, c := range out.Columns {
		rows = max(rows, len(c.Float64), len(c.Int64), len(c.Texts))
		if at := r.endOf(c.Name); at >= 0 && c.Float64 != nil && (w.Ends == EndsNone || w.Ends == EndsLower && at == 1) {
			out.Columns[i].Float64, out.Columns[i].Blank = make([]float64, len(c.Float64)), slices.Repeat([]bool{true}, len(c.Float64))
		}
	}
	r.addEffect(&out, rows)
	r.judge(&out, rows)
	if name := r.StatusColumn(); name != "" {
		out.Columns = append(out.Columns, sdk.ResultColumn{Name: name, Texts: slices.Repeat([]string{w.Status()}, rows)})
	}
	return out
}

// noiseIntervals are the columns in which a mechanism gives an interval for its noise
// alone. A reader takes it for an interval for the population's value, which it is not
// where the rows are a sample: it leaves out the error of the draw (P30).
var noiseIntervals = []string{"noise_low", "noise_high"}

// Withheld reports whether the release leaves out a column of its mechanism.
func (r *PlannedRelease) Withheld(j *job.Job, column string) bool {
	return (j.Dataset.Collected != nil || r.Weights != nil || r.Public.Design.Kind != "full") && slices.Contains(noiseIntervals, column)
}
