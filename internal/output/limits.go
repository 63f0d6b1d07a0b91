package output

import (
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
)

// describeLimits describes what is clipped, capped and left out of a release: all of it follows
// from the job.
func describeLimits(p *plan.Priced, r *plan.PricedRelease) *report.Limits {
	j := p.Job.Of(r.Job.Table)
	if r.Job.CountsUnits() {
		return &report.Limits{UnitRows: j.Dataset.CountsRows()}
	}
	whose := r.Whose()
	out := &report.Limits{Of: whose.Of, Status: r.StatusColumn(), Blank: r.BlankUnknown()}
	if whose.Ends != plan.EndsBoth {
		out.Ends = string(whose.Ends)
	}
	for _, m := range whose.Marks {
		out.Marks = append(out.Marks, string(m))
	}
	names := slices.Concat(r.Plan.Columns, r.Job.By)
	for i, name := range names {
		c, known := j.Dataset.Column(name)
		if !known || slices.Contains(names[:i], name) || c.Plain() {
			continue
		}
		one := report.ColumnLimit{Column: name, Missing: handled(c.Missing)}
		switch c.Type {
		case job.Number:
			lower, upper := rational.Up(c.Lower), rational.Up(c.Upper)
			one.Lower, one.Upper, one.Found = &lower, &upper, c.Bounds != nil
			if one.Binds = string(c.Binds); c.Binds == job.BindsUpper {
				one.Binds = "" // values above are moved
			}
		case job.Category:
			if one.Outside = handled(c.Outside); r.Job.Other != "" && slices.Contains(r.Job.By, name) {
				one.Missing, one.Outside = "", "" // they are in the cell of all others
			}
		}
		if one.Lower != nil || one.Missing != "" || one.Outside != "" {
			out.Columns = append(out.Columns, one)
		}
	}
	if c := j.Dataset.CapOf(&r.Job); c != nil {
		out.Cap = &report.CapLimit{Rows: c.Rows, Binds: string(c.Binds), Choice: describeChoice(p, c, r.Job.Table)}
		if len(r.Job.By) > 0 {
			out.Cap.Groups = c.Groups
		}
	}
	return out
}

// describeChoice describes how a cap of a table is chosen in private, nil where the job says it.
func describeChoice(p *plan.Priced, c *job.Cap, table string) *report.CapChoice {
	if c.Choice == nil {
		return nil
	}
	caps := c.Choice.Caps()
	out := &report.CapChoice{AtMost: caps[len(caps)-1], Made: p.Found.Rows[table] > 0}
	if !out.Made {
		for _, l := range p.Likely(table) {
			out.Likely = append(out.Likely, report.LikelyCap{Rows: l.Rows, Percent: l.Percent, Left: c.Choice.LeftOut(l.Rows * c.Groups)})
		}
	}
	return out
}

// handled returns what becomes of values that are not there or not expected.
func handled(h job.Handling) string {
	switch h.Rule {
	case job.Drop:
		return report.Drop
	case job.Impute:
		if h.Number != nil {
			return report.As(rational.Format(h.Number))
		}
		return report.As(h.Text)
	}
	return ""
}
