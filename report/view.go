package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// view holds what the template prints: words and numbers, with nothing left to decide.
type view struct {
	Policy string
	Style  template.CSS
	Public bool

	Job, Dataset, Relation, RelationMeans, Unit, UnitNote, Look, Population, Collected string
	Tool, Digest                                                                       string
	Charged, Meaning, Caution                                                          string
	One, Many, Caught                                                                  string

	Releases     []releaseView
	MoreReleases int
	Columns      []columnView
	Intervals    bool // a release has intervals for its noise
	Draws        []drawView
	MoreDraws    int
	Kept         []string
	Whole        figures
	Methods      []string
	Bounds       []boundView
	Unsupported  []reasonView
	Claims       []claimView
	Sampled      []drawView
	Verdicts     []verdictView
	Rules        []ruleView
	OnePass      []positionView
	Local        []localView
	Budget       *budgetView
	Files        []fileView
	MoreFiles    int
	Mechanisms   []mechanismView
	Events       []factView
}

type releaseView struct {
	Name, From, Mechanism, Version string
	Sampled                        bool
	SelfNoising                    bool
	Meaning, Charged               string
	Params                         string
	Errors                         []errorView
	Notes                          []string
	Values                         *gridView
	File                           string
}

// columnView explains a column of the released tables.
type columnView struct{ Name, Doc, Releases string }

type drawView struct {
	Name, Design, Target, Charged, Sample, SampleRelations string
	Sampled                                                bool
	Rate, Rule, Source                                     string
	C, Epsilon, SampleEpsilon, Efficiency, Bound, Verdict  string
	Figures                                                figures
}

type boundView struct {
	What  string
	Delta string
	Cells []boundCell
}

type boundCell struct {
	Text    string
	Charged bool
}

type reasonView struct{ Method, Reason, Where string }

type claimView struct{ Where, Source, Point, Charged, Why string }

type verdictView struct{ Release, Text string }

type factView struct{ Name, Value string }

type fileView struct{ Release, Path, SHA256 string }

type mechanismView struct{ Name, Version, Origin, SHA256 string }

// methodWords are the methods in the order of the table, with what they are.
var methodWords = []struct{ name, words string }{
	{"basic", "closed forms and composition of (ε, δ) points"},
	{"rdp", "Rényi divergences at many orders"},
	{"pld", "privacy-loss distributions, rounded up"},
	{"shuffle", "shuffling of local reports"},
	{"iterate", "only the last iterate is released"},
	{"split", "the shares of the sample’s budget that the releases were held to, composed and amplified once"},
	{"kept", "what a draw that several jobs use costs in all, less what it did before this job"},
}

// designWords say what a design does.
var designWords = map[string]string{
	"full": "the whole table", "poisson": "a Poisson sample: every unit on its own coin", "srswor": "a simple random sample without replacement",
	"multistage": "a multistage sample without replacement", "stratified": "a stratified sample",
}

func newView(p *Page, r *Report, values map[string]Table, public bool) *view {
	v := &view{
		Policy: policy(), Style: template.CSS(pageStyle), Public: public, //nolint:gosec // the style sheet is embedded
		Job: r.Job.Name, Dataset: r.Dataset.ID, Relation: r.Dataset.Relation.String(), Unit: r.Dataset.Unit, UnitNote: sentence(r.Dataset.UnitNote()), Look: sentence(r.Look.Text()),
		One: r.Dataset.One(), Many: r.Dataset.Many(), Caution: sentence(caution(r.Guarantee, r.Dataset, p.caught)),
		RelationMeans: relationWords(r.Dataset), Collected: r.Dataset.Collected,
		Tool: r.Tool.Name + " " + r.Tool.Version, Digest: r.Job.Digest,
		Charged: charge(r.Guarantee), Meaning: sentence(Meaning(r.Guarantee, r.Dataset)),
		Whole: p.whole, Rules: p.rules, OnePass: p.onePass, Local: p.local,
	}
	if r.Dataset.Population > 0 {
		v.Population = grouped(r.Dataset.Population)
	}
	if len(p.whole.Powers) > 0 {
		v.Caught = roundedUp(p.whole.caught)
	}
	v.addReleases(r, values)
	v.addDraws(p, r)
	v.addKept(r)
	v.addBounds(r)
	v.addClaims(r)
	v.addProvenance(r)
	if !public {
		v.Budget = newBudgetView(r.Budget)
	}
	return v
}

func relationWords(d Dataset) string {
	if d.Relation == privacy.ReplaceOne {
		return "the number of " + d.Many() + " is public; what is hidden is the values of any one " + d.One()
	}
	return "the number of " + d.Many() + " is secret; what is hidden is whether any one " + d.One() + " is in the table at all"
}

func point(epsilon, delta float64, number func(float64) string) string {
	return "ε\u00a0" + number(epsilon) + ", δ\u00a0" + number(delta)
}

// charge never quotes an ε without its δ (P2).
func charge(g Guarantee) string { return point(g.Epsilon, g.Delta, Spent) }

func (v *view) addReleases(r *Report, values map[string]Table) {
	rows := maxAllRows
	for i, e := range r.Releases {
		if i == maxReleases {
			v.MoreReleases = len(r.Releases) - maxReleases
			break
		}
		one := releaseView{
			Name: e.Name, From: e.From, Mechanism: e.Mechanism.Name, Version: e.Mechanism.Version, SelfNoising: e.Mechanism.SelfNoising,
			Sampled: e.From != "table", Meaning: sentence(Meaning(e.Guarantee, r.seenFrom(e.From))), Charged: charge(e.Guarantee),
			Params: paramsText(e.Params),
		}
		one.Errors, one.Notes = errorViews(e.Expected, e.Fields)
		for _, text := range e.Keys.Text(r.Dataset) {
			one.Notes = append(one.Notes, sentence(text))
		}
		if len(e.Files) > 0 {
			one.File = e.Files[0].Path
		}
		if t, ok := values[e.Name]; ok {
			one.Values = t.grid(e.Fields, min(maxRows, rows))
			rows -= min(t.rows(), maxRows, rows)
		}
		v.Releases = append(v.Releases, one)
		v.addColumns(e)
		if e.Verdict != "" {
			v.Verdicts = append(v.Verdicts, verdictView{e.Name, sentence(e.Verdict)})
		}
	}
}

// seenFrom is the data set with what is public of it for one draw: only the frame of
// that draw has columns that a neighbour keeps.
func (r *Report) seenFrom(draw string) Dataset {
	d := r.Dataset
	d.PublicColumns = nil
	for _, e := range r.Draws {
		if e.Name == draw {
			d.PublicColumns = e.PublicColumns
		}
	}
	return d
}

// paramsText are the parameters of a mechanism in a line.
func paramsText(raw json.RawMessage) string {
	var params map[string]any
	if json.Unmarshal(raw, &params) != nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		text := fmt.Sprint(params[name])
		if list, ok := params[name].([]any); ok {
			words := make([]string, len(list))
			for i, w := range list {
				words[i] = fmt.Sprint(w)
			}
			text = strings.Join(words, ", ")
		}
		if len(text) > 200 {
			text = "see report.json"
		}
		parts = append(parts, name+": "+text)
	}
	return strings.Join(parts, "; ")
}

// addColumns says once what columns of the same name and meaning mean.
func (v *view) addColumns(e Release) {
	for _, f := range e.Fields {
		v.Intervals = v.Intervals || f.Name == "noise_low"
		if f.Doc == "" {
			continue
		}
		k := slices.IndexFunc(v.Columns, func(c columnView) bool { return c.Name == f.Name && c.Doc == f.Doc })
		switch {
		case k < 0:
			v.Columns = append(v.Columns, columnView{f.Name, f.Doc, e.Name})
		case len(v.Columns[k].Releases) < 120:
			v.Columns[k].Releases += ", " + e.Name
		}
	}
}

func (v *view) addDraws(p *Page, r *Report) {
	for i, d := range r.Draws {
		if i == maxDraws {
			v.MoreDraws = len(r.Draws) - maxDraws
			break
		}
		one := drawView{
			Name: d.Name, Design: designWords[d.Design], Sampled: d.Design != "full",
			Target: point(d.Target.Epsilon, d.Target.Delta, Allowed), Charged: charge(d.Guarantee),
			Sample: point(d.Sample.Epsilon, d.Sample.Delta, Allowed), Figures: p.draws[d.Name],
			Epsilon: Allowed(d.Target.Epsilon), SampleEpsilon: Allowed(d.Sample.Epsilon), Verdict: sentence(d.Verdict),
		}
		for k, rel := range d.SampleRelations {
			if k > 0 {
				one.SampleRelations += " and "
			}
			one.SampleRelations += rel.String()
		}
		if a := d.SampleArrival; a != nil {
			one.SampleRelations = fmt.Sprintf("replace-one (%s under add-remove, because the noise is added)", point(a.Epsilon, a.Delta, Spent))
		}
		if d.Efficiency > 0 {
			one.Efficiency = trim(d.Efficiency)
		}
		if a := d.Amplification; a != nil {
			one.Rate = percent(a.Rate)
			if a.Bound > 0 {
				one.Bound, one.C = trim(a.Bound), trim(d.Target.Epsilon/a.Rate)
			}
		}
		v.Draws = append(v.Draws, one)
		if one.Sampled {
			v.Sampled = append(v.Sampled, one)
		}
	}
}

func (v *view) addProvenance(r *Report) {
	known := map[Mechanism]bool{}
	for _, e := range r.Releases {
		if m := e.Mechanism; !known[m] {
			known[m] = true
			one := mechanismView{Name: m.Name, Version: m.Version, Origin: "plugin of a third party", SHA256: m.SHA256}
			if m.Sandbox != "" {
				one.Origin += ", sandbox: " + m.Sandbox
			}
			if m.Builtin {
				one.Origin = "built in"
			}
			v.Mechanisms = append(v.Mechanisms, one)
		}
		for _, f := range e.Files {
			if len(v.Files) == maxFiles {
				v.MoreFiles++
				continue
			}
			v.Files = append(v.Files, fileView{e.Name, f.Path, f.SHA256})
		}
	}
	v.Events = append(v.Events, factView{"the whole job", r.Guarantee.EventText})
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		v.Events = append(v.Events, factView{"draw " + d.Name, d.Guarantee.EventText})
	}
}
