package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"path"
	"slices"

	"github.com/dprelease/dprelease/internal/say/document"
)

// resultView is one release as the page shows it: a picture, and its table behind a click.
type resultView struct {
	Name, What, Where string
	Charged, Asked    string
	SelfNoising       bool
	Pictures          []template.HTML
	Under             []string        // what stands below the pictures
	Limits            []string        // what is not in the values
	Latest            *document.Table // of a release over time, its latest period; nil for others
	Values            *document.Table
	Open              bool // there is no picture: the table is shown
	File              string

	ID     int
	Judged string // what the release is worth
}

// addResults draws every release, and puts the verdicts in order.
func (v *view) addResults(r *Report, values map[string]Table) {
	rows := maxAllRows
	var verdicts []verdictView
	var results []*result
	for i, e := range r.Releases {
		one := newResult(v.words, e, values[e.Name])
		results = append(results, &one)
		if i >= maxReleases { // it is judged, and not drawn
			if one.has("estimate") && one.table.rows() <= mostRows {
				one.bars()
			}
			verdicts = append(verdicts, one.verdict(r, i))
			v.MoreReleases = len(r.Releases) - maxReleases
			continue
		}
		one.draw(fmt.Sprintf("p%d", i))
		view := one.view(r, i)
		if one.over != nil {
			view.Latest = one.recent()
		}
		view.Values = v.words.labelled(e, values[e.Name].shown(min(maxRows, rows, max(6, maxAllRows/len(r.Releases))))).grid(v.words)
		if view.Values != nil {
			view.Values.More = v.moreRows(values[e.Name].rows() - len(view.Values.Rows))
			rows -= len(view.Values.Rows)
		}
		v.AnyNoise = v.AnyNoise || len(one.shares) > 0
		v.Limited = v.Limited || len(one.shares) > 0 && e.limited()
		verdict := one.verdict(r, i)
		verdict.Drawn = true
		if verdict.Grade != "good" {
			view.Judged = verdict.Text
		}
		verdicts = append(verdicts, verdict)
		v.Results = append(v.Results, view)
	}
	v.First, v.MoreVerdicts = firstScreen(verdicts, results)
	for _, l := range r.allLimits(v.words) {
		v.Limits = append(v.Limits, l.words()+".")
	}
}

// moreRows counts the rows that a table leaves out, "" for none.
func (v *view) moreRows(n int) string {
	if n <= 0 {
		return ""
	}
	return v.T("result.more_rows", n)
}

// view returns what the page prints of a release.
func (r *result) view(report *Report, id int) resultView {
	e, w := r.release, r.w
	v := resultView{
		ID: id, Name: w.labels.Label(e.Name), What: w.Or("mechanism."+e.Mechanism.Name, e.Mechanism.Name), Charged: Charge(e.Guarantee),
		SelfNoising: e.Mechanism.SelfNoising,
		Pictures:    r.pictures, Under: r.under, Open: len(r.pictures) == 0, File: fileFor(e),
	}
	if p := ParamsText(e.Params); p != "" && !e.countsUnits() { // else nobody wrote them
		v.What += " (" + p + ")"
	}
	if len(e.By) > 0 {
		v.What += " " + w.t("result.by", w.columns(e.By))
	}
	if e.From == All {
		v.What += ", " + w.t("result.from_table")
	} else {
		v.What += ", " + w.t("result.from_sample", e.From)
	}
	switch {
	case e.Where != "":
		v.What, v.Where = v.What+" "+w.t("result.where"), e.Where
	case e.Having != "":
		v.What, v.Where = v.What+" "+w.t("result.having"), e.Having
	}
	v.Asked = Sentence(e.asked(w))
	for _, text := range append(e.Keys.text(w, report.Dataset), e.Weights.text(w)...) {
		v.Under = append(v.Under, Sentence(text))
	}
	for _, text := range limitText(w, e, report.Dataset, false) {
		v.Limits = append(v.Limits, text+".")
	}
	return v
}

// result is a release while its pictures are made.
type result struct {
	w        words
	release  Release
	table    Table
	columns  map[string]Column
	over     *overTime // nil for a release that has no periods
	shares   []float64 // of each row with noise: noise against value
	pictures []template.HTML
	under    []string
}

// draw chooses the picture of a release by the columns that it has.
func (r *result) draw(id string) {
	n := r.table.rows()
	if r.has("table", "value1", "estimate") {
		r.marginals(id)
		return
	}
	if n == 0 || n > mostHeatCells*5 {
		return
	}
	if r.has("kind", "name", "value") {
		r.coefficients(id)
		return
	}
	if !r.has("estimate") {
		return
	}
	bars, l := r.bars()
	if r.over != nil && r.series(id) {
		return
	}
	groups := r.groups()
	title := r.w.t("result.title", r.w.labels.Label(r.release.Name))
	edges := r.edges()
	switch {
	case len(edges) > 1 && len(groups) == 0:
		r.pictures = append(r.pictures, histogram(r.w, id, title, r.about(), edges, bars, l))
	case len(edges) > 1 && len(groups) == 1:
		labels := make([]string, n)
		for i, e := range edges {
			labels[i] = plain(e[0], 4) + "–" + plain(e[1], 4)
		}
		r.heat(id, title, groups[0].Texts, labels, bars)
	case r.has("quantile") && len(groups) == 0 && n >= 3 && !r.severalColumns():
		r.pictures = append(r.pictures, quantiles(r.w, id, title, r.about(), r.columns["quantile"].Float64, bars))
		r.under = append(r.under, r.w.t("result.no_interval"))
	case len(groups) == 2 && !r.has("quantile") && n <= mostHeatCells && n > 6:
		r.heat(id, title, groups[0].Texts, groups[1].Texts, bars)
		r.under = append(r.under, r.w.t("result.heat"))
		if l.noise != "" {
			r.under = append(r.under, r.w.t("result.heat_noise", Rounded(r.typicalNoise(bars), r.typicalNoise(bars))))
		}
	default:
		if r.has("quantile") {
			r.under = append(r.under, r.w.t("result.no_interval"))
		}
		r.rows(id, title, bars, l, groups)
	}
}

// index finds columns by their names.
func (r *result) index() {
	r.columns = map[string]Column{}
	for _, c := range r.table.Columns {
		r.columns[c.Name] = c
	}
}

// part is a release as if some of its rows were all of it.
func (r *result) part(from, to int) result {
	out := result{w: r.w, release: r.release, table: r.table.part(from, to)}
	out.index()
	return out
}

func (r *result) has(names ...string) bool {
	for _, name := range names {
		if _, ok := r.columns[name]; !ok {
			return false
		}
	}
	return true
}

func (r *result) severalColumns() bool { return varies(r.columns["column"]) }

// about is the column that a release is about, "" where it does not say.
func (r *result) about() string {
	if c := r.columns["column"].Texts; len(c) > 0 {
		return c[0]
	}
	return ""
}

// groups are the columns of text in which the rows differ, without the name of the column.
func (r *result) groups() []Column {
	var out []Column
	for _, c := range r.table.Columns {
		mark := c.Name == "quality" && !slices.Contains(r.release.By, c.Name) // of relative errors
		if c.Texts != nil && c.Name != "column" && c.Name != "flag" && !mark && varies(c) {
			out = append(out, c)
		}
	}
	return out
}

func (r *result) edges() [][2]float64 {
	if !r.has("lower", "upper") {
		return nil
	}
	low, up := r.columns["lower"].Float64, r.columns["upper"].Float64
	var out [][2]float64
	for i := range min(len(low), len(up)) {
		if math.IsInf(low[i], 0) || math.IsInf(up[i], 0) || !(up[i] > low[i]) {
			return nil
		}
		out = append(out, [2]float64{low[i], up[i]})
	}
	return out
}

func distinct(texts []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range texts {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// expected returns what the plan says of the error in row i, nil where it says nothing of
// it.
func (r *result) expected(i int) *ExpectedError {
	var known []*ExpectedError
	for k := range r.release.Expected {
		e := &r.release.Expected[k]
		if e.Field != "estimate" {
			continue
		}
		for _, name := range []string{"column", "quantile", "category"} {
			if c := r.columns[name]; i < c.Len() && e.Note != "" && e.Note == cellOf(c, i) {
				return e
			}
		}
		known = append(known, e)
	}
	for _, e := range known[min(1, len(known)):] {
		if e.NoiseSD != known[0].NoiseSD || e.Half95 != known[0].Half95 {
			return nil
		}
	}
	if len(known) == 0 {
		return nil
	}
	return known[0]
}

// bars are the released values with their errors. An interval for the noise alone is drawn
// as the noise, never as an interval for the population's value (P30).
func (r *result) bars() ([]bar, legend) {
	value, sd := r.columns["estimate"], r.columns["noise_sd"]
	low, high := numbersOf(r.columns["noise_low"]), numbersOf(r.columns["noise_high"])
	from, to := numbersOf(r.columns["interval_low"]), numbersOf(r.columns["interval_high"])
	sampled, flags := r.release.sampled(), r.columns["flag"].Texts
	if !sampled && r.has("interval_low") { // it is the interval of the noise
		low, high, from, to = from, to, low, high
	}
	sds, released := numbersOf(sd), false
	l := legend{names: r.w}
	sure, worst, assumed := true, false, false
	var out []bar
	oneEnd := r.oneEnds()
	for i, v := range numbersOf(value) {
		b := bar{value: v, low: v, high: v, suppressed: math.IsNaN(v), sampled: sampled}
		if i < len(flags) {
			b.flag = r.w.note(flags[i])
		}
		end := oneEnd(i)
		if end != "" {
			b.flag = end
		}
		if r.release.Partial() {
			b.part = cmp.Or(end, r.w.t("result.part"))
		}
		if i < len(sds) && sds[i] > 0 {
			b.sd = sds[i]
		}
		e := r.expected(i)
		switch {
		case i < len(low) && i < len(high) && high[i] >= low[i]:
			b.low, b.high = math.Min(low[i], v), math.Max(high[i], v)
		case e != nil && e.Half95 > 0 && e.NoiseSD > 0 && b.sd > 0:
			half := e.Half95 / e.NoiseSD * b.sd
			b.low, b.high = v-half, v+half
		case e != nil && e.Half95 > 0 && i >= len(sds): // else the release says itself that there is no noise
			b.low, b.high = v-e.Half95, v+e.Half95
		case b.sd > 0:
			b.low, b.high, sure = v-b.sd, v+b.sd, false
		}
		if i < len(from) && i < len(to) && to[i] > from[i] && to[i]-from[i] < unbounded {
			b.from, b.to, released = from[i], to[i], true
		} else if e != nil && e.Sampling != nil && e.Half95 > 0 {
			switch s := e.Sampling; {
			case s.Assumed != nil:
				b.half, assumed = s.Assumed.half(), true
			case s.Worst != nil:
				b.half, worst = s.Worst.half(), true
			}
		}
		if !b.suppressed && b.high > b.low && v != 0 {
			r.shares = append(r.shares, b.noise()/math.Abs(v))
		}
		out = append(out, b)
	}
	unknown := sampled && !worst && !assumed && !released
	if slices.ContainsFunc(out, func(b bar) bool { return b.high > b.low }) {
		switch l.unknown = unknown; {
		case !sure:
			l.noise, l.sd = r.w.t("result.noise_sd"), true
		case sampled:
			l.noise = r.w.t("result.noise_alone")
		default:
			l.noise = r.w.t("result.noise", cmp.Or(r.release.Interval, "95"))
		}
	}
	switch {
	case released:
		l.both = r.w.t("result.interval", r.release.Interval)
	case assumed:
		l.both = r.w.t("result.both_assumed")
	case worst:
		l.both = r.w.t("result.both_worst")
	}
	return out, l
}

// oneEnds returns a function that says of a row what its interval says if it has one end, and "" where it has two or none.
func (r *result) oneEnds() func(i int) string {
	low, high := numbersOf(r.columns["interval_low"]), numbersOf(r.columns["interval_high"])
	return func(i int) string {
		if i >= len(low) || i >= len(high) || math.IsNaN(low[i]) == math.IsNaN(high[i]) {
			return ""
		}
		if math.IsNaN(high[i]) {
			return r.w.t("result.at_least", Rounded(low[i], math.Abs(low[i])/50))
		}
		return r.w.t("result.at_most", Rounded(high[i], math.Abs(high[i])/50))
	}
}

// unbounded is the width of an interval that says nothing: it has no end that could be drawn.
const unbounded = 1e100

// sampled reports whether the values have an error from sampling, or may have one.
func (e Release) sampled() bool {
	for _, x := range e.Expected {
		if s := x.Sampling; s != nil && (s.BoundSD == nil || *s.BoundSD > 0) {
			return true
		}
	}
	return e.From != All
}

// half is half of the interval that holds an error in 95 of 100 cases.
func (c *Combined) half() float64 {
	if c.Half95 > 0 {
		return c.Half95
	}
	return c.Half95Any
}

func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// fileFor is the file of a release that people open, a table if there is one.
func fileFor(e Release) string {
	for _, want := range []string{".csv", ".json", ""} {
		for _, f := range e.Files {
			if want == "" || path.Ext(f.Path) == want {
				return f.Path
			}
		}
	}
	return ""
}
