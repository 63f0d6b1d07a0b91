package report

import (
	"cmp"
	"slices"
	"strings"
)

// Brief is the account of one release on a terminal.
type Brief struct {
	Release string
	Grade   string // poor, fair or good
	Label   string // the verdict in a few words
	Noise   string // of a plan: the noise in 95 of 100 cases, "" where it is not known
	Draw    string // the same with the draw of the sample, "" where it is not known
	Values  string // the first released values, rounded to what the noise leaves meaningful
}

// Briefs judges the releases of a report, those of no use first. Values are those of its tables;
// a plan has none.
func Briefs(r *Report, values map[string]Table) []Brief {
	at := map[string]Brief{}
	var verdicts []verdictView
	for i, e := range r.Releases {
		one := newResult(r.Publication.inEnglish(), e, values[e.Name])
		b := Brief{Release: e.Name, Values: one.values()}
		for at := 0; one.has("estimate") && at < one.table.rows(); at += 4096 { // a bar takes far more memory than a row
			few := one.part(at, at+4096)
			few.bars()
			one.shares = append(one.shares, few.shares...)
		}
		for _, x := range e.Expected {
			if b.Noise == "" {
				b.Noise, b.Draw = x.forecast(one.w)
			}
		}
		v := one.verdict(r, i)
		b.Grade, b.Label = v.Grade, v.Label
		at[e.Name], verdicts = b, append(verdicts, v)
	}
	var out []Brief
	for _, v := range poorFirst(verdicts) {
		out = append(out, at[v.Release])
	}
	return out
}

// anyNoise95 standard deviations hold 95 of 100 cases of any noise that the host draws.
const anyNoise95 = 2.12

// forecast writes the noise in 95 of 100 cases, and the same together with the draw of the sample; "" for what nothing public says.
func (e ExpectedError) forecast(w words) (noise, both string) {
	half := func(x float64) string { return "±\u202f" + plain(x, 3) }
	if e.Rank {
		return e.inRanks(w)
	}
	switch {
	case e.Half95 > 0:
		noise = half(e.Half95)
	case e.Even != nil:
		noise = "≈ " + half(e.Even.Half95)
	case e.PerRow > 0:
		noise = w.t("first.per_row", half(anyNoise95*e.PerRow))
	}
	switch s := e.Sampling; {
	case s == nil:
	case s.BoundSD != nil && *s.BoundSD == 0:
		both = noise
	case s.Assumed != nil:
		both = half(s.Assumed.half())
	case e.Even != nil && e.Even.Both != nil && e.Even.Groups == 1 && e.Half95 > 0:
		both = half(e.Even.Both.half())
	case e.Even != nil && e.Even.Both != nil:
		both = "≈ " + half(e.Even.Both.half())
	case s.Worst != nil:
		both = w.t("result.at_most", half(s.Worst.half()))
	}
	return noise, both
}

// inRanks is forecast of a quantile: in shares of the ranks, and before these in values where the job assumes how they are spread.
func (e ExpectedError) inRanks(w words) (noise, both string) {
	if e.Ranks == nil {
		noise = w.t("first.ranks", "±\u202f"+plain(anyNoise95*e.PerRow, 3)+"/m")
	} else {
		text := func(ranks float64, value func(Even) float64) string {
			in := w.t("first.ranks", "±\u202f"+percent(ranks))
			if e.Even == nil {
				return in
			}
			return "≈ ±\u202f" + plain(value(*e.Even), 3) + " (" + in + ")"
		}
		noise = text(e.Ranks.Half95, func(x Even) float64 { return x.Half95 })
		if e.Ranks.Both != nil {
			both = text(e.Ranks.Both.half(), func(x Even) float64 { return x.Both.half() })
		}
	}
	if s := e.Sampling; s != nil && s.BoundSD != nil && *s.BoundSD == 0 { // an interval takes the error of its ends too
		noise = cmp.Or(both, noise)
		both = noise
	}
	return noise, both
}

// drawn reports whether drawing a sample moves the value.
func (e ExpectedError) drawn() bool {
	return e.Sampling != nil && (e.Sampling.BoundSD == nil || *e.Sampling.BoundSD > 0)
}

// shownValue is a released value with the words that tell it from the others of its release.
type shownValue struct{ Label, Value, Error string }

// values are the first released values in a line.
func (r *result) values() string {
	rows, all := r.firstValues(3)
	if !r.has("estimate") {
		rows, all = r.numbersOf(3)
	}
	var parts []string
	for _, v := range rows {
		parts = append(parts, strings.TrimSpace(v.Label+" "+v.Value)+v.between()+v.Error)
	}
	if all > len(rows) {
		parts = append(parts, r.w.t("first.values", grouped(int64(all))))
	}
	return strings.Join(parts, ", ")
}

// numbersOf returns the first numbers of a release without a column of estimates, by the names of their columns, at most so many,
// and how many there are.
func (r *result) numbersOf(most int) (rows []shownValue, all int) {
	groups := r.groups()
	for _, f := range r.release.Fields {
		c, ok := r.columns[f.Name]
		if !ok || len(c.Float64)+len(c.Int64) == 0 {
			continue
		}
		all += c.Len()
		for i := 0; i < c.Len() && len(rows) < most; i++ {
			label := []string{}
			for _, g := range groups {
				label = append(label, cellOf(g, i))
			}
			rows = append(rows, shownValue{Label: strings.Join(append(label, f.Name), " "), Value: cellOf(c, i)})
		}
	}
	return rows, all
}

func (v shownValue) between() string {
	if v.Error == "" {
		return ""
	}
	return " "
}

// firstValues returns the first released values, at most so many, and how many there are.
func (r *result) firstValues(most int) (rows []shownValue, all int) {
	if !r.has("estimate") {
		return nil, 0
	}
	all = r.columns["estimate"].Len()
	few := r.part(0, most)
	bars, _ := few.bars()
	groups := r.groups()
	for i, b := range bars {
		var label []string
		for _, g := range groups {
			label = append(label, cellOf(g, i))
		}
		if r.severalColumns() {
			label = append(label, cellOf(r.columns["column"], i))
		}
		if r.release.countsUnits() { // rows in the table, at least
			slices.Reverse(label)
		}
		if q := r.columns["quantile"]; i < q.Len() && all > 1 {
			label = append(label, r.rank(q.Float64[i]))
		}
		v := shownValue{Label: strings.Join(label, " ")}
		switch {
		case b.suppressed && b.flag != "":
			v.Value = b.flag
		case b.suppressed:
			v.Value = r.w.t("first.suppressed")
		default:
			v.Value, v.Error, _ = strings.Cut(b.text(r.w), " ")
		}
		rows = append(rows, v)
	}
	return rows, all
}
