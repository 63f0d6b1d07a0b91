package report

import (
	"fmt"
	"html/template"
	"math"
	"math/big"
	"slices"
	"strings"
)

// facts are public facts in order.
type facts []Fact

func (f *facts) add(what, text string) {
	if text != "" {
		*f = append(*f, Fact{what, text})
	}
}

// JobFacts returns what a run says of its job, without what it released.
func (r *Report) JobFacts() []Fact {
	var out facts
	out.add("job", r.Job.Name)
	if p := r.Publication; p != nil {
		out.add("title", p.Title)
		out.add("publisher", p.Publisher)
		out.add("period", p.Period)
	}
	for _, d := range r.Draws {
		text := d.Design
		if d.Amplification != nil {
			text += " of " + percent(d.Amplification.Rate)
		}
		if d.Name != All {
			out.add("sample "+d.Name, text)
		}
	}
	for _, e := range r.Releases {
		name := "release " + e.Name
		out.add(name, e.Mechanism.Name+" "+e.Mechanism.Version+" from "+e.From)
		out.add(name+", parameters", ParamsText(e.Params))
		out.add(name+", by", strings.Join(e.By, ", "))
		out.add(name+", where", strings.TrimSpace(e.Where+" "+e.Having))
		out.add(name+", weights", strings.Join(e.Weights.text(wordsIn("en")), "; "))
		out.add(name+", guarantee asked for", point(e.Target.Epsilon, e.Target.Delta, Allowed))
		if s := e.Suppress; s != nil {
			out.add(name+", suppressed below", plain(s.Below, 7))
		}
	}
	out.add("dprelease", r.Tool.Version)
	return out
}

// DataFacts returns the public facts of a run about its data.
func (r *Report) DataFacts() []Fact {
	var out facts
	d := r.Dataset
	out.add("data set", d.ID)
	out.add("relation", d.Relation.String())
	out.add("unit", strings.TrimSpace(d.One()+" "+d.UnitColumn))
	out.add("rows of a unit", d.UnitRows)
	if c := d.UnitCap; c != nil {
		out.add("cap on a unit", fmt.Sprintf("%d groups, %d rows in each", c.Groups, c.Rows))
	}
	for _, t := range d.Tables {
		what := strings.TrimSpace(t.UnitColumn + " " + t.UnitRows)
		if c := t.UnitCap; c != nil {
			what += fmt.Sprintf(" to %d groups, %d rows in each", c.Groups, c.Rows)
		}
		out.add("table "+t.Name, strings.Join(append([]string{what}, t.Takes...), "; "))
	}
	if d.Population > 0 {
		out.add("size", grouped(d.Population))
	}
	if s := d.Slice; s != nil {
		out.add("slice", s.Column+" = "+s.Is)
	}
	out.add("snapshot", d.Snapshot)
	out.add("collected", d.collected(wordsIn("en")))
	out.add("public columns", strings.Join(d.PublicColumns, ", "))
	out.add("private look", r.Look.Text())
	return out
}

// Released is one released value with what is public of its error.
type Released struct {
	Key        string // tells its row apart, whatever words readers have for it
	Label      string // the words that tell its row apart
	Text       string // Rounded to what its noise leaves meaningful
	Value      float64
	Suppressed bool
	Noise      float64 // how far the noise alone reaches in 95 of 100 cases, 0 where that is not known
	Around     float64 // how far noise and sampling together reach, 0 where that is not known
	Sampled    bool    // sampling adds an error to that of the noise
}

// ReleasedValues returns the values of a release, in the words of a publication. Noise that is shown as one standard deviation is
// widened to hold 95 of 100 cases of any noise that the host draws.
func (p *Publication) ReleasedValues(e Release, t Table) (all []Released) {
	r, plain := newResult(p.inEnglish(), e, t), newResult(wordsIn("en"), e, t)
	r.index()
	var bars []bar
	var l legend
	switch {
	case r.has("estimate"):
		bars, l = r.bars()
	case r.has("value") && r.over == nil:
		bars = r.effects()
	}
	row := func(of Table, i int) (parts []string) {
		for _, c := range of.Columns {
			switch c.Name {
			case "flag", "status", "quality": // of the value, not of what it is about
				continue
			}
			if c.Texts != nil || c.Name == "quantile" || r.edges() != nil && (c.Name == "lower" || c.Name == "upper") {
				parts = append(parts, cellOf(c, i))
			}
		}
		return parts
	}
	for i, b := range bars {
		from, to := b.whole()
		label := strings.Join(slices.DeleteFunc(row(r.table, i), func(part string) bool { return part == "" }), " · ")
		v := Released{Key: strings.Join(row(plain.table, i), " · "), Label: label, Text: b.text(wordsIn("en")),
			Value: b.value, Suppressed: b.suppressed, Sampled: b.sampled,
			Noise: (b.high - b.low) / 2, Around: math.Max(b.value-from, to-b.value)}
		if l.sd {
			v.Noise *= 2.12
		}
		all = append(all, v)
	}
	return all
}

// Dots draws the first values that are not suppressed, from zero; noise and both say what noise alone, and noise and sampling, explain.
func Dots(id, title string, all []Released, noise, both string) template.HTML {
	l := legend{names: wordsIn("en"), zero: true}
	var bars []bar
	for _, v := range all {
		if v.Suppressed || len(bars) == mostRows {
			continue
		}
		bars = append(bars,
			bar{label: v.Label, value: v.Value, low: v.Value - v.Noise, high: v.Value + v.Noise, half: v.Around, sampled: v.Sampled})
		if v.Noise > 0 {
			l.noise = noise
		}
		if v.Around > 0 {
			l.both = both
		}
		l.unknown = l.unknown || v.Sampled && v.Around == 0
	}
	if len(bars) == 0 {
		return ""
	}
	return dots(l.names, id, title, bars, l)
}

// Digits writes a number with the digits that its noise leaves meaningful.
func Digits(x, noise float64) string {
	if text := unsigned(meaningful(x, noise)); text != "" {
		return text
	}
	return plain(x, 7)
}

// effects are the coefficients of a regression in their own units.
func (r *result) effects() []bar {
	values, noise, both := numbersOf(r.columns["value"]), numbersOf(r.columns["noise_se"]), numbersOf(r.columns["standard_error"])
	var out []bar
	for i, v := range values {
		b := bar{value: v, low: v, high: v, suppressed: math.IsNaN(v), sampled: true}
		if i < len(noise) && noise[i] > 0 {
			b.low, b.high = v-2*noise[i], v+2*noise[i]
		}
		if i < len(both) && both[i] > 0 {
			b.half = 2 * both[i]
		}
		out = append(out, b)
	}
	return out
}

// SumUp adds two charges and never rounds the sum down.
func SumUp(a, b float64) float64 {
	x, y := new(big.Rat).SetFloat64(a), new(big.Rat).SetFloat64(b)
	if x == nil || y == nil {
		return math.Inf(1)
	}
	sum := x.Add(x, y)
	f, _ := sum.Float64()
	if new(big.Rat).SetFloat64(f).Cmp(sum) < 0 {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}
