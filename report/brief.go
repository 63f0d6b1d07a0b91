package report

import (
	"slices"
	"strconv"
	"strings"
)

// Brief is the account of one release on a terminal.
type Brief struct {
	Release string
	Grade   string // poor, fair or good
	Label   string // the verdict in a few words
	Noise   string // of a plan: the noise in 95 of 100 cases, "" where it is not known
	Alone   bool   // says that drawing the sample adds to the noise, nobody knows yet how much
	Values  string // the first released values, rounded to what the noise leaves meaningful
}

// Briefs judges the releases of a report, those of no use first. Values are those of its tables;
// a plan has none.
func Briefs(r *Report, values map[string]Table) []Brief {
	at := map[string]Brief{}
	var verdicts []verdictView
	for i, e := range r.Releases {
		one := newResult(wordsIn("en"), e, values[e.Name])
		b := Brief{Release: e.Name, Values: one.values()}
		for _, x := range e.Expected {
			if b.Noise == "" && x.Half95 > 0 {
				b.Noise = "±\u202f" + plain(x.Half95, 3)
				switch s := x.Sampling; {
				case s == nil || s.BoundSD != nil && *s.BoundSD == 0:
				case s.Assumed != nil:
					b.Noise += " alone, ±\u202f" + plain(s.Assumed.half(), 3) + " with the draw as assumed"
				default:
					b.Noise, b.Alone = b.Noise+" alone", true
				}
			}
		}
		if b.Noise == "" {
			b.Noise = perRow(e)
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

// perRow is the noise in a value that is divided by a secret number m of rows, as its mechanism puts it in a remark.
func perRow(e Release) string {
	for _, x := range e.Expected {
		_, after, found := strings.Cut(x.Note, "standard deviation at most ")
		if per, _, ok := strings.Cut(after, "/m "); found && ok {
			if sd, err := strconv.ParseFloat(per, 64); err == nil && sd > 0 {
				return "at most ±\u202f" + plain(anyNoise95*sd, 3) + "/m"
			}
		}
	}
	return ""
}

// shownValue is a released value with the words that tell it from the others of its release.
type shownValue struct{ Label, Value, Error string }

// values are the first released values in a line.
func (r *result) values() string {
	rows, all := r.firstValues(3)
	var parts []string
	for _, v := range rows {
		parts = append(parts, strings.TrimSpace(v.Label+" "+v.Value)+v.between()+v.Error)
	}
	if all > len(rows) {
		parts = append(parts, "… ("+grouped(int64(all))+" values)")
	}
	return strings.Join(parts, ", ")
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
	bars, _ := r.bars()
	groups := r.groups()
	for i, b := range bars[:min(len(bars), most)] {
		var label []string
		for _, g := range groups {
			label = append(label, g.cell(i))
		}
		if r.severalColumns() {
			label = append(label, r.columns["column"].cell(i))
		}
		if r.release.countsUnits() { // rows in the table, at least
			slices.Reverse(label)
		}
		if q := r.columns["quantile"]; i < q.Len() && len(bars) > 1 {
			label = append(label, r.rank(q.Float64[i]))
		}
		v := shownValue{Label: strings.Join(label, " ")}
		switch {
		case b.suppressed && b.flag != "":
			v.Value = b.flag
		case b.suppressed:
			v.Value = "suppressed"
		default:
			v.Value, v.Error, _ = strings.Cut(b.text(), " ")
		}
		rows = append(rows, v)
	}
	return rows, len(bars)
}
