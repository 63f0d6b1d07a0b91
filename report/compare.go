package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
	"text/tabwriter"
)

// Side is one of two runs that are compared: its report and what it released.
type Side struct {
	Name   string // how people tell the two apart
	Report Report
	Values map[string]Table
}

// Comparison lists the differences of two runs. It is made from what both have released, so
// it costs nothing.
type Comparison struct {
	A        string        `json:"a"`
	B        string        `json:"b"`
	Costs    []Change      `json:"costs"`
	Data     []Change      `json:"data"`
	Job      []Change      `json:"job"`
	Results  []Differences `json:"results"`
	Together string        `json:"together"` // what both cost together, in words
}

// Change is a fact that two runs say differently. An empty side has no such fact.
type Change struct {
	What string `json:"what"`
	A    string `json:"a,omitempty"`
	B    string `json:"b,omitempty"`
}

// Differences are the values of one release that both runs have.
type Differences struct {
	Release string       `json:"release"`
	Note    string       `json:"note,omitempty"`    // why nothing is compared, or what is left out
	Beyond  int          `json:"larger_than_noise"` // rows whose difference is larger than the noise explains
	Rows    []Difference `json:"rows"`
	Drawn   int          `json:"-"` // of those beyond the noise, the ones that sampling may explain
	Known   int          `json:"-"` // rows whose noise is known

	Picture template.HTML `json:"-"`
}

// Difference is one value in two runs.
type Difference struct {
	Label   string `json:"label"`
	A       string `json:"a"`
	B       string `json:"b"`
	By      string `json:"by"`
	Noise   string `json:"noise,omitempty"`
	Verdict string `json:"verdict"`

	a, b  float64
	bar   bar
	ratio float64
}

// facts are the public facts of a run, by name, in order.
type facts []Change

func (f *facts) add(what, text string) {
	if text != "" {
		*f = append(*f, Change{What: what, A: text})
	}
}

// changes pairs the facts of two runs and keeps those that differ.
func changes(a, b facts) []Change {
	out := []Change{}
	for _, x := range a {
		k := slices.IndexFunc(b, func(y Change) bool { return y.What == x.What })
		switch {
		case k < 0:
			out = append(out, Change{x.What, x.A, ""})
		case b[k].A != x.A:
			out = append(out, Change{x.What, x.A, b[k].A})
		}
	}
	for _, y := range b {
		if !slices.ContainsFunc(a, func(x Change) bool { return x.What == y.What }) {
			out = append(out, Change{y.What, "", y.A})
		}
	}
	return out
}

func (r *Report) jobFacts() (out facts) {
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
		if d.Name != "table" {
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

func (r *Report) dataFacts() (out facts) {
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

// Compare returns what differs between two runs.
func Compare(a, b Side) *Comparison {
	c := &Comparison{A: a.Name, B: b.Name, Results: []Differences{},
		Job: changes(a.Report.jobFacts(), b.Report.jobFacts()), Data: changes(a.Report.dataFacts(), b.Report.dataFacts())}
	for i, e := range a.Report.Releases {
		k := slices.IndexFunc(b.Report.Releases, func(x Release) bool { return x.Name == e.Name })
		if k < 0 {
			continue
		}
		if _, ok := a.Values[e.Name]; !ok || b.Values[e.Name].Columns == nil {
			c.Results = append(c.Results, Differences{Release: e.Name, Rows: []Difference{},
				Note: "its values are in Parquet or Arrow files alone; a comparison reads CSV and JSON"})
			continue
		}
		c.Results = append(c.Results, differences(fmt.Sprintf("d%d", i),
			newResult(wordsIn("en"), e, a.Values[e.Name]), newResult(wordsIn("en"), b.Report.Releases[k], b.Values[e.Name])))
	}
	c.Costs = []Change{{"charged", charge(a.Report.Guarantee), charge(b.Report.Guarantee)}}
	c.Together = together(&a.Report, &b.Report)
	return c
}

// together describes what two runs cost in one. The points of both are added, which holds
// however the second run was chosen after the first one was read (P10).
func together(a, b *Report) string {
	same := a.Dataset.Relation == b.Dataset.Relation && a.Dataset.One() == b.Dataset.One() && a.Dataset.UnitColumn == b.Dataset.UnitColumn
	x, y := a.Budget, b.Budget
	switch {
	case !same:
		return "the two guarantees protect different things (" + neighbours(a.Dataset) + "; " + neighbours(b.Dataset) + "): they cannot be compared, and there is no sum"
	case x != nil && y != nil && x.Ledger == y.Ledger && x.Sequence == y.Sequence && x.Sequence > 0:
		return "both folders hold the releases of one run, which was charged once: " + charge(a.Guarantee)
	}
	g := Guarantee{Epsilon: sumUp(a.Guarantee.Epsilon, b.Guarantee.Epsilon), Delta: sumUp(a.Guarantee.Delta, b.Guarantee.Delta), Relation: a.Guarantee.Relation}
	text := charge(g) + ": " + Chance(g, a.Dataset)
	if both := append(slices.Clone(a.Dataset.PublicColumns), b.Dataset.PublicColumns...); !slices.Equal(a.Dataset.PublicColumns, b.Dataset.PublicColumns) {
		slices.Sort(both)
		text += "; this holds for a change that keeps " + strings.Join(slices.Compact(both), " and ") + ": one of the two runs protects no other"
	}
	s, t := a.Dataset.Slice, b.Dataset.Slice
	switch {
	case a.Dataset.ID != b.Dataset.ID:
		return "the data sets differ; for whoever is in both, at most " + text
	case s != nil && t != nil && s.Column == t.Column && s.Is != t.Is:
		larger := a.Guarantee
		if b.Guarantee.Epsilon > larger.Epsilon {
			larger = b.Guarantee
		}
		larger.Delta = math.Max(a.Guarantee.Delta, b.Guarantee.Delta)
		return "for a " + a.Dataset.One() + " in one of the two slices at most " + charge(larger) + "; for one that is in both at most " + text
	}
	return "at most " + text
}

func neighbours(d Dataset) string { return "one " + d.One() + ", " + d.Relation.String() }

// sumUp adds two charges and never rounds the sum down.
func sumUp(a, b float64) float64 {
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

// keyed are the values of a release with the words that tell its rows apart.
func (r *result) keyed() (labels []string, bars []bar, l legend) {
	r.index()
	switch {
	case r.has("kind", "name", "value"):
		bars, l = r.effects(), legend{names: r.w}
	case r.has("estimate"):
		bars, l = r.bars()
	}
	for i := range bars {
		var parts []string
		for _, c := range r.table.Columns {
			if c.Text != nil || c.Name == "quantile" || r.edges() != nil && (c.Name == "lower" || c.Name == "upper") {
				parts = append(parts, c.cell(i))
			}
		}
		labels = append(labels, strings.Join(parts, " · "))
	}
	return labels, bars, l
}

// effects are the coefficients of a regression in their own units.
func (r *result) effects() []bar {
	values, noise, both := r.columns["value"].numbers(), r.columns["noise_se"].numbers(), r.columns["standard_error"].numbers()
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

// mostCompared is the number of rows of a release that are listed, the clearest differences first.
const mostCompared = 200

// differences compares one release. The noises of two runs are independent. Where each lies
// within h in 95 of 100 cases, so does their difference within √(h²+h²), for any two of
// normal and Laplace noises (a test adds the tails up).
func differences(id string, a, b result) Differences {
	out := Differences{Release: a.release.Name, Rows: []Difference{}}
	if a.release.Mechanism.Name != b.release.Mechanism.Name {
		out.Note = "another mechanism: the values mean different things"
		return out
	}
	labelsA, barsA, la := a.keyed()
	labelsB, barsB, lb := b.keyed()
	at := map[string]int{}
	for i, label := range labelsB {
		at[label] = i
	}
	alone := 0
	for i, label := range labelsA {
		k, ok := at[label]
		if !ok {
			alone++
			continue
		}
		out.Rows = append(out.Rows, difference(label, barsA[i], barsB[k], la.sd, lb.sd))
	}
	if alone > 0 || len(labelsB) > len(out.Rows) {
		out.Note = fmt.Sprintf("%d values are in the first run alone and %d in the second alone", alone, len(labelsB)-len(out.Rows))
	}
	slices.SortStableFunc(out.Rows, func(x, y Difference) int { return cmp.Compare(y.ratio, x.ratio) })
	l := legend{names: a.w, zero: true}
	var bars []bar
	for _, d := range out.Rows {
		if d.ratio > 0 {
			out.Known++
		}
		if d.ratio > 1 {
			out.Beyond++
			if d.bar.sampled && d.bar.half <= 0 || math.Abs(d.bar.value) <= d.bar.half {
				out.Drawn++
			}
		}
		if len(bars) < mostRows && !d.bar.suppressed {
			bars = append(bars, d.bar)
			if d.bar.high > d.bar.low {
				l.noise = "what noise alone explains, in 95 of 100 cases"
			}
			if d.bar.half > 0 {
				l.both = "what noise and sampling explain"
			}
			l.unknown = l.unknown || d.bar.sampled && d.bar.half == 0
		}
	}
	if len(bars) > 0 {
		out.Picture = dots(a.w, id, "Differences of "+out.Release, bars, l)
	}
	return out
}

// around returns how far noise and sampling together reach from the value, 0 where that is not
// known.
func (b bar) around() float64 {
	from, to := b.whole()
	return math.Max(b.value-from, to-b.value)
}

// difference compares two values. An interval of one standard deviation is widened to hold
// 95 of 100 cases of any noise that the host draws.
func difference(label string, a, b bar, sdA, sdB bool) Difference {
	d := Difference{Label: label, A: a.text(), B: b.text()}
	if a.suppressed || b.suppressed {
		d.bar = bar{label: label, suppressed: true}
		d.Verdict = "suppressed"
		return d
	}
	half := func(b bar, sd bool) float64 {
		if sd {
			return 2.12 * (b.high - b.low) / 2
		}
		return (b.high - b.low) / 2
	}
	by, ha, hb := b.value-a.value, half(a, sdA), half(b, sdB)
	noise := math.Hypot(ha, hb)
	d.a, d.b = a.value, b.value
	d.bar = bar{label: label, value: by, low: by, high: by, sampled: a.sampled || b.sampled}
	if ha > 0 && hb > 0 {
		d.bar.low, d.bar.high = by-noise, by+noise
		d.Noise, d.ratio = rounded(noise, noise), math.Abs(by)/noise
		if a, b := a.around(), b.around(); a > 0 && b > 0 {
			d.bar.half = math.Hypot(a, b)
		}
	}
	d.By = rounded(by, noise)
	switch {
	case by == 0:
		d.Verdict = "the same"
	case d.Noise == "":
		d.Verdict = "the noise is not known"
	case math.Abs(by) <= noise:
		d.Verdict = "noise explains it"
	case !d.bar.sampled:
		d.Verdict = "larger than noise explains"
	case d.bar.half == 0:
		d.Verdict = "larger than noise explains; sampling adds more, which is not public"
	case math.Abs(by) <= d.bar.half:
		d.Verdict = "larger than noise explains, but not than noise and sampling"
	default:
		d.Verdict = "larger than noise and sampling explain"
	}
	return d
}

// Text is the outcome for one release in a sentence.
func (d Differences) Text() string {
	switch {
	case len(d.Rows) == 0 && d.Note == "":
		return "it has no values that can be compared"
	case len(d.Rows) == 0:
		return d.Note
	}
	text := fmt.Sprintf("%d of %d differences are larger than noise explains", d.Beyond, len(d.Rows))
	if d.Drawn > 0 {
		text += fmt.Sprintf(", and sampling may explain %d of them", d.Drawn)
	}
	if d.Known == 0 {
		text = fmt.Sprintf("%d differences; the noise is not known or nothing differs", len(d.Rows))
	} else if chance := float64(d.Known) / 20; chance >= 1 {
		text += fmt.Sprintf(" (without any change at most about %s would be, by chance)", plain(chance, 2))
	}
	if d.Note != "" {
		text += "; " + d.Note
	}
	return text
}

// Shown are the rows that a page lists.
func (d Differences) Shown() []Difference { return d.Rows[:min(len(d.Rows), mostCompared)] }

// Hidden returns how many rows a page leaves out.
func (d Differences) Hidden() int { return len(d.Rows) - len(d.Shown()) }

// WriteText prints the comparison for a terminal.
func (c *Comparison) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	list := func(title string, all []Change) {
		fmt.Fprintf(t, "%s\n", title)
		for _, x := range all {
			fmt.Fprintf(t, "  %s\t%s\t→ %s\n", x.What, orDash(x.A), orDash(x.B))
		}
		if len(all) == 0 {
			fmt.Fprintln(t, "  nothing")
		}
	}
	fmt.Fprintf(t, "A  %s\nB  %s\n\n", c.A, c.B)
	list("what changed in the job", c.Job)
	list("what changed in the public facts about the data", c.Data)
	fmt.Fprintln(t, "results")
	for _, r := range c.Results {
		fmt.Fprintf(t, "  %s: %s\n", r.Release, r.Text())
		for i, d := range r.Rows {
			if i == 6 {
				fmt.Fprintf(t, "    and %d more\n", len(r.Rows)-i)
				break
			}
			fmt.Fprintf(t, "    %s\t%s\t→ %s\tby %s\t%s\n", orDash(d.Label), d.A, d.B, d.By, d.Verdict)
		}
	}
	list("cost", c.Costs)
	fmt.Fprintf(t, "both together: %s\n", c.Together)
	return t.Flush()
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// MarshalJSON writes the comparison for programs.
func (c *Comparison) MarshalJSON() ([]byte, error) {
	type plain Comparison
	return json.Marshal((*plain)(c))
}

//go:embed compare.html.tmpl
var compareText string

// WriteHTML writes the comparison as one page.
func (c *Comparison) WriteHTML(w io.Writer) error {
	t, err := template.New("compare").Funcs(template.FuncMap{"dash": orDash, "sentence": sentence}).Parse(compareText)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if err := t.Execute(&body, c); err != nil {
		return err
	}
	return Document(w, c.A+" and "+c.B, template.HTML(body.String())) //nolint:gosec // a template escaped it
}
