package report

import (
	"slices"
	"strings"
)

// Limits are the bounds between the rows of a table and the values of a release, besides its
// filter: what is clipped, capped or left out. All of it is public, and noise_sd tells nothing
// of it.
type Limits struct {
	Cap     *CapLimit     `json:"cap,omitempty"`
	Columns []ColumnLimit `json:"columns,omitempty"`
	// UnitRows is as how many rows a unit counts at most, where the release counts the rows of units
	// before the cap; 0 for any other release.
	UnitRows int64 `json:"unit_rows,omitempty"`
	// Ends are the ends that intervals of the release have: one of the constants below, or "" for both. Marks are the words that
	// each row carries for what may keep it away from the population's value, and Of what an interval with both ends is about
	// where it is not about the population (P41).
	Ends  string   `json:"ends,omitempty"`
	Marks []string `json:"marks,omitempty"`
	Of    []string `json:"of,omitempty"`
	// Blank is the relative error above which values are blank and of which their intervals do not know, 0 for none.
	Blank float64 `json:"blank,omitempty"`
	// Status is the name of the column with the marks, "" where the release has none.
	Status string `json:"status,omitempty"`
	// Text says all of it in sentences, the filter too.
	Text []string `json:"text"`
}

// CapLimit bounds the rows of a unit that count.
type CapLimit struct {
	Groups int64 `json:"groups,omitempty"` // in how many groups, 0 where the release has none
	Rows   int64 `json:"rows"`             // in each group, or in all
	// Binds is the job's word on the cap: one of the constants below, "" where it may leave rows out.
	Binds string `json:"binds,omitempty"`
	// Choice says that Rows are chosen in private, nil where the job says them.
	Choice *CapChoice `json:"choice,omitempty"`
}

// countsUnits reports whether the release counts the units of the job by their rows.
func (r *Release) countsUnits() bool { return r.Limits != nil && r.Limits.UnitRows > 0 }

// CapChoice describes the private choice of a cap.
type CapChoice struct {
	AtMost int64 `json:"at_most"` // the largest that may be chosen
	// Made says that the run chose Rows. Before that Rows are the likeliest, or the most.
	Made   bool        `json:"made,omitempty"`
	Likely []LikelyCap `json:"likely,omitempty"` // if units have as many rows as the job assumes
}

// LikelyCap is a cap and in how many of 100 runs it is chosen.
type LikelyCap struct {
	Rows    int64   `json:"rows"`
	Percent int     `json:"percent"`
	Left    float64 `json:"left_out"` // the share of the rows that does not count, at least
}

// text returns the words that say how the cap is chosen, "" where the job says it. Half is the noise in 95 of 100 cases for a cap
// of one row, 0 where that is not known.
func (c *CapChoice) text(w words, half float64) string {
	switch {
	case c == nil:
		return ""
	case c.Made:
		return w.t("limit.cap_made", c.AtMost)
	case len(c.Likely) == 0:
		return w.t("limit.cap_open", c.AtMost)
	}
	var likely []string
	for _, l := range c.Likely {
		if len(likely) < 4 && l.Percent > 0 {
			noise := "–"
			if half > 0 {
				noise = "±\u202f" + plain(half*float64(l.Rows), 3)
			}
			likely = append(likely, w.t("limit.cap_likely", l.Rows, l.Percent, noise, plain(100*l.Left, 2)))
		}
	}
	return w.t("limit.cap_assumed", c.AtMost, strings.Join(likely, ", "))
}

// The ends of intervals that have not both.
const (
	EndsLower = "at least"
	EndsNone  = "none"
)

// The words of a job on a limit: it changes no value, or it is part of what is published.
const (
	BindsNever      = "never"
	BindsDefinition = "definition"
)

// Partial reports whether a cap of rows, groups or periods may leave out what counts in the population's value.
func (e Release) Partial() bool { return e.Limits != nil && e.Limits.Ends != "" }

// StatusColumn returns the name of the column with the marks, "" for none.
func (e Release) StatusColumn() string {
	if e.Limits == nil {
		return ""
	}
	return e.Limits.Status
}

// marked names the marks of a release, "" for none.
func (e Release) marked(w words) string {
	if e.Limits == nil {
		return ""
	}
	var out []string
	for _, m := range e.Limits.Marks {
		out = append(out, w.t("mark."+m))
	}
	return strings.Join(out, ", ")
}

// ColumnLimit is the treatment of the values of one column.
type ColumnLimit struct {
	Column string `json:"column"`
	// Lower and Upper are the bounds to which numbers are clipped, nil of a category.
	Lower *float64 `json:"lower,omitempty"`
	Upper *float64 `json:"upper,omitempty"`
	// Found says that the bounds are found in private, between Lower and Upper.
	Found bool `json:"found,omitempty"`
	// Binds is the job's word on Lower and Upper, "" where they may move values.
	Binds string `json:"binds,omitempty"`
	// Missing and Outside say that such rows are left out ("drop") or counted as another value
	// ("as …"); "" where the job promises that there are none.
	Missing string `json:"missing,omitempty"`
	Outside string `json:"outside,omitempty"`
}

// Drop says that rows are left out.
const Drop = "drop"

// As marks a value that stands in for another.
func As(value string) string { return "as " + value }

// LimitText says in English what limits a release, for report.json and NAME.meta.json.
func LimitText(e Release, d Dataset) []string { return limitText(wordsIn("en"), e, d, true) }

// limitText says it in the words of a page. Where the condition on rows stands beside the
// Sentence already, it is left out.
func limitText(w words, e Release, d Dataset, filter bool) []string {
	var out []string
	switch {
	case filter && e.Where != "":
		out = append(out, w.t("limit.where", e.Where))
	case filter && e.Having != "":
		out = append(out, w.t("limit.having", e.Having))
	}
	if e.Limits == nil {
		e.Limits = &Limits{} // weights may limit it all the same
	}
	if c := e.Limits.Cap; c != nil {
		out = append(out, c.text(w, w.one(d), e.half()))
	}
	if p := d.Periods; p != nil && p.Held == HeldByCap {
		switch {
		case p.AtMost == 1:
			out = append(out, w.t("limit.period", w.one(d), p.Count))
		case p.Apart > 1:
			out = append(out, w.t("limit.periods_apart", w.one(d), p.AtMost, p.Count, p.Apart))
		default:
			out = append(out, w.t("limit.periods", w.one(d), p.AtMost, p.Count))
		}
	}
	if n := e.Limits.UnitRows; n > 0 {
		out = append(out, w.t("limit.unit_rows", w.one(d), n))
	}
	var clipped []string
	for _, c := range e.Limits.Columns {
		if c.Lower != nil && c.Upper != nil {
			clipped = append(clipped, c.bounds(w))
		}
	}
	if e.Weights != nil {
		clipped = append(clipped, w.t("limit.weights", thousands(plain(e.Weights.AtMost, 15))))
	}
	if len(clipped) > 0 {
		out = append(out, strings.Join(clipped, ", "))
	}
	out = append(out, e.Limits.leftOut(w, "limit.missing", "limit.missing_as", func(c ColumnLimit) string { return c.Missing })...)
	out = append(out, e.Limits.leftOut(w, "limit.outside", "limit.outside_as", func(c ColumnLimit) string { return c.Outside })...)
	if text := e.ends(w); text != "" {
		out = append(out, text)
	}
	if e.Suppress != nil && e.Interval != "" && e.Limits.Ends != EndsNone && !e.Mechanism.Builtin { // no plugin is told of the limit
		out = append(out, w.t("limit.shown", thousands(plain(e.Suppress.Below, 15))))
	}
	if e.Limits.Blank > 0 && e.Limits.Ends != EndsNone {
		out = append(out, w.t("limit.certain", plain(100*e.Limits.Blank, 3)))
	}
	return out
}

// leftOut lists the columns that leave rows out by a rule, and what else stands in for a
// value.
func (l *Limits) leftOut(w words, drop, as string, rule func(ColumnLimit) string) []string {
	var out, dropped []string
	for _, c := range l.Columns {
		switch value, other := strings.CutPrefix(rule(c), As("")); {
		case other:
			out = append(out, w.t(as, w.labels.Label(c.Column), value))
		case rule(c) == Drop:
			dropped = append(dropped, w.labels.Label(c.Column))
		}
	}
	if len(dropped) > 0 {
		out = append(out, w.t(drop, strings.Join(dropped, w.t("limit.or"))))
	}
	return out
}

// fixedCap reports whether the job says a cap that may leave out nobody knows how much.
func (e Release) fixedCap() bool {
	return e.Limits != nil && e.Limits.Cap != nil && e.Weights == nil && e.Limits.Cap.Choice == nil && e.Limits.Cap.Binds == ""
}

// half is the noise of the first value of a release in 95 of 100 cases, 0 where it is not known.
func (e Release) half() float64 {
	for _, x := range e.Expected {
		if x.Half95 > 0 {
			return x.Half95
		}
	}
	return 0
}

// text describes how many rows of a unit count, and what that makes of a total. Half is the noise of the release.
func (c *CapLimit) text(w words, unit string, half float64) string {
	rows := w.t("limit.rows", c.Rows)
	if c.Rows == 1 {
		rows = w.t("limit.row")
	}
	text := w.t("limit.cap", rows, unit)
	if c.Rows == 1 {
		text = w.t("limit.cap_one", rows, unit)
	}
	switch {
	case c.Groups == 1:
		text = w.t("limit.cap_group", unit, rows)
	case c.Groups > 1:
		text = w.t("limit.cap_groups", unit, c.Groups, rows)
	}
	return text + c.Choice.text(w, half/float64(max(c.Rows, 1))) + w.binds(c.Binds)
}

// binds returns the words for the job's word on a limit.
func (w words) binds(word string) string {
	switch word {
	case BindsNever:
		return w.t("limit.binds_never")
	case BindsDefinition:
		return w.t("limit.binds_definition")
	}
	return ""
}

// ends returns the sentence on the ends of the intervals of a release, "" where there is nothing to say.
func (e Release) ends(w words) string {
	switch l := e.Limits; {
	case l.Ends == EndsLower:
		return w.t("limit.ends_lower")
	case l.Ends == EndsNone:
		return w.t("limit.ends_none")
	case len(l.Of) > 0 && e.Interval != "":
		return w.t("limit.ends_of")
	}
	return ""
}

// bounds names a column with the range to which it is clipped.
func (c ColumnLimit) bounds(w words) string {
	name := "limit.between"
	if *c.Lower < 0 || *c.Upper < 0 {
		name = "limit.from_to"
	}
	if c.Found {
		name = "limit.found"
	}
	return w.t(name, w.labels.Label(c.Column), thousands(plain(*c.Lower, 15)), thousands(plain(*c.Upper, 15))) + w.binds(c.Binds)
}

// limited reports whether noise is not all that may be wrong with a value: rows or parts of
// them may not be in it.
func (e Release) limited() bool {
	return e.Limits != nil &&
		(e.Limits.Cap != nil || slices.ContainsFunc(e.Limits.Columns, func(c ColumnLimit) bool { return c.Lower != nil }))
}

// LimitOf is one sentence, and the releases that it is about: none where it holds for all.
type LimitOf struct {
	Text     string
	Releases []string
}

// words are the sentence and the names of the releases.
func (l LimitOf) words() string {
	if len(l.Releases) > 0 {
		return l.Text + " (" + list(l.Releases) + ")"
	}
	return l.Text
}

// AllLimits gathers what limits the releases of a report; what is alike is said once.
func (r *Report) AllLimits() []LimitOf { return r.allLimits(r.words()) }

func (r *Report) allLimits(w words) []LimitOf {
	var out []LimitOf
	for _, e := range r.Releases {
		for _, text := range limitText(w, e, r.Dataset, true) {
			k := slices.IndexFunc(out, func(l LimitOf) bool { return l.Text == text })
			if k < 0 {
				k, out = len(out), append(out, LimitOf{Text: text})
			}
			out[k].Releases = append(out[k].Releases, w.labels.Label(e.Name))
		}
	}
	for i := range out {
		if len(out[i].Releases) == len(r.Releases) {
			out[i].Releases = nil
		}
	}
	return out
}
