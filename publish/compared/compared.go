package compared

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dprelease/dprelease/report"
)

// Side is one of two runs that are compared: its report and what it released.
type Side struct {
	Name   string // how people tell the two apart
	Report report.Report
	Values map[string]report.Table
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
	Title   string       `json:"title"`             // in the words of the second run's publication
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

	a, b  float64         // the two values
	gap   report.Released // the one less the other
	ratio float64
}

// changes pairs the facts of two runs and keeps those that differ.
func changes(a, b []report.Fact) []Change {
	out := []Change{}
	for _, x := range a {
		k := slices.IndexFunc(b, func(y report.Fact) bool { return y.Label == x.Label })
		switch {
		case k < 0:
			out = append(out, Change{What: x.Label, A: x.Text})
		case b[k].Text != x.Text:
			out = append(out, Change{x.Label, x.Text, b[k].Text})
		}
	}
	for _, y := range b {
		if !slices.ContainsFunc(a, func(x report.Fact) bool { return x.Label == y.Label }) {
			out = append(out, Change{What: y.Label, B: y.Text})
		}
	}
	return out
}

// Compare returns what differs between two runs.
func Compare(a, b Side) *Comparison {
	c := &Comparison{A: a.Name, B: b.Name, Results: []Differences{},
		Job: changes(a.Report.JobFacts(), b.Report.JobFacts()), Data: changes(a.Report.DataFacts(), b.Report.DataFacts())}
	words := b.Report.Publication
	for i, e := range a.Report.Releases {
		k := slices.IndexFunc(b.Report.Releases, func(x report.Release) bool { return x.Name == e.Name })
		if k < 0 {
			continue
		}
		if _, ok := a.Values[e.Name]; !ok || b.Values[e.Name].Columns == nil {
			c.Results = append(c.Results, Differences{Release: e.Name, Title: words.Label(e.Name), Rows: []Difference{},
				Note: "its values are in Parquet or Arrow files alone; a comparison reads CSV and JSON"})
			continue
		}
		c.Results = append(c.Results, differences(fmt.Sprintf("d%d", i), words, e, b.Report.Releases[k], a.Values[e.Name], b.Values[e.Name]))
	}
	c.Costs = []Change{{"charged", report.Charge(a.Report.Guarantee), report.Charge(b.Report.Guarantee)}}
	c.Together = together(&a.Report, &b.Report)
	return c
}

// together describes what two runs cost in one. The points of both are added, which holds
// however the second run was chosen after the first one was read (P10).
func together(a, b *report.Report) string {
	same := a.Dataset.Relation == b.Dataset.Relation && a.Dataset.One() == b.Dataset.One() && a.Dataset.UnitColumn == b.Dataset.UnitColumn
	x, y := a.Budget, b.Budget
	switch {
	case !same:
		return "the two guarantees protect different things (" + neighbours(a.Dataset) + "; " + neighbours(b.Dataset) +
			"): they cannot be compared, and there is no sum"
	case x != nil && y != nil && x.Ledger == y.Ledger && x.Sequence == y.Sequence && x.Sequence > 0:
		return "both folders hold the releases of one run, which was charged once: " + report.Charge(a.Guarantee)
	}
	g := report.Guarantee{Epsilon: report.SumUp(a.Guarantee.Epsilon, b.Guarantee.Epsilon),
		Delta: report.SumUp(a.Guarantee.Delta, b.Guarantee.Delta), Relation: a.Guarantee.Relation}
	text := report.Charge(g) + ": " + report.Chance(g, a.Dataset)
	if both := append(slices.Clone(a.Dataset.PublicColumns), b.Dataset.PublicColumns...); !slices.Equal(a.Dataset.PublicColumns,
		b.Dataset.PublicColumns) {
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
		return "for a " + a.Dataset.One() + " in one of the two slices at most " + report.Charge(larger) +
			"; for one that is in both at most " + text
	}
	return "at most " + text
}

func neighbours(d report.Dataset) string { return "one " + d.One() + ", " + d.Relation.String() }

// mostCompared is the number of rows of a release that are listed, the clearest differences first.
const mostCompared = 200

// differences compares one release. The noises of two runs are independent. Where each lies
// within h in 95 of 100 cases, so does their difference within √(h²+h²), for any two of
// normal and Laplace noises (a test adds the tails up).
func differences(id string, words *report.Publication, a, b report.Release, left, right report.Table) Differences {
	out := Differences{Release: a.Name, Title: words.Label(a.Name), Rows: []Difference{}}
	if a.Mechanism.Name != b.Mechanism.Name {
		out.Note = "another mechanism: the values mean different things"
		return out
	}
	at, second := map[string]report.Released{}, words.ReleasedValues(b, right)
	for _, v := range second {
		at[v.Key] = v
	}
	alone := 0
	for _, v := range words.ReleasedValues(a, left) {
		if w, ok := at[v.Key]; ok {
			out.Rows = append(out.Rows, difference(v, w))
		} else {
			alone++
		}
	}
	if alone > 0 || len(second) > len(out.Rows) {
		out.Note = fmt.Sprintf("%d values are in the first run alone and %d in the second alone", alone, len(second)-len(out.Rows))
	}
	slices.SortStableFunc(out.Rows, func(x, y Difference) int { return cmp.Compare(y.ratio, x.ratio) })
	var gaps []report.Released
	for _, d := range out.Rows {
		if d.ratio > 0 {
			out.Known++
		}
		if d.ratio > 1 {
			out.Beyond++
			if d.gap.Sampled && d.gap.Around <= 0 || math.Abs(d.gap.Value) <= d.gap.Around {
				out.Drawn++
			}
		}
		gaps = append(gaps, d.gap)
	}
	out.Picture = report.Dots(id, "Differences of "+out.Title, gaps, "what noise alone explains, in 95 of 100 cases",
		"what noise and sampling explain")
	return out
}

// difference compares two values.
func difference(a, b report.Released) Difference {
	d := Difference{Label: a.Label, A: a.Text, B: b.Text, a: a.Value, b: b.Value}
	if a.Suppressed || b.Suppressed {
		d.gap = report.Released{Label: a.Label, Suppressed: true}
		d.Verdict = "suppressed"
		return d
	}
	by, noise := b.Value-a.Value, math.Hypot(a.Noise, b.Noise)
	d.gap = report.Released{Label: a.Label, Value: by, Sampled: a.Sampled || b.Sampled}
	if a.Noise > 0 && b.Noise > 0 {
		d.gap.Noise = noise
		d.Noise, d.ratio = report.Rounded(noise, noise), math.Abs(by)/noise
		if a.Around > 0 && b.Around > 0 {
			d.gap.Around = math.Hypot(a.Around, b.Around)
		}
	}
	d.By = report.Rounded(by, noise)
	switch {
	case by == 0:
		d.Verdict = "the same"
	case d.Noise == "":
		d.Verdict = "the noise is not known"
	case math.Abs(by) <= noise:
		d.Verdict = "noise explains it"
	case !d.gap.Sampled:
		d.Verdict = "larger than noise explains"
	case d.gap.Around == 0:
		d.Verdict = "larger than noise explains; sampling adds more, which is not public"
	case math.Abs(by) <= d.gap.Around:
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
		text += fmt.Sprintf(" (without any change at most about %s would be, by chance)", strconv.FormatFloat(chance, 'f', 0, 64))
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
		fmt.Fprintf(t, "  %s: %s\n", r.Title, r.Text())
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

//go:embed compared.html.tmpl
var compareText string

// WriteHTML writes the comparison as one page.
func (c *Comparison) WriteHTML(w io.Writer) error {
	t, err := template.New("compared").Funcs(template.FuncMap{"dash": orDash, "sentence": report.Sentence}).Parse(compareText)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if err := t.Execute(&body, c); err != nil {
		return err
	}
	return report.Document(w, c.A+" and "+c.B, template.HTML(body.String())) //nolint:gosec // a template escaped it
}
