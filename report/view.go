package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/verdict"
	"github.com/dprelease/dprelease/privacy"
)

// view holds the words and numbers that the template prints, with nothing left to decide.
type view struct {
	words words

	Policy string
	Style  template.CSS
	Public bool

	Title, Publisher, Period, Contact, Lede string
	Chance, ChanceBefore                    string
	Meter                                   template.HTML
	Cautions                                []string
	Levels                                  []string      // what others than a unit are promised
	Believed                                []string      // what nothing checks
	First                                   []verdictView // the figures of the first screen
	Limits                                  []string      // of all releases
	MoreVerdicts                            int
	Stories                                 []storyView
	Presence                                bool // the relation is add-remove
	AnyNoise                                bool // a picture shows noise
	NoiseAlone                              bool // values have noise, and limits besides
	AnyErrors                               bool // the plan knows an error in numbers

	Job, Dataset, Relation, RelationMeans, UnitNote, Look, Collected string
	Tool, Digest                                                     string
	Charged, Meaning, Spend                                          string
	One, Caught                                                      string

	Results      []resultView
	MoreReleases int
	Columns      []columnView
	Draws        []drawView
	MoreDraws    int
	Kept         []string
	Whole        figures
	Methods      []string
	MethodWords  []string
	Bounds       []boundView
	Unsupported  []reasonView
	Claims       []claimView
	Sampled      []drawView
	Rules        []ruleView
	OnePass      []positionView
	Local        []localView
	Budget       *budgetView
	Files        []fileView
	MoreFiles    int
	Mechanisms   []mechanismView
	Events       []factView
}

// T is a text of the page's language.
func (v *view) T(name string, blanks ...any) string { return v.words.t(name, blanks...) }

// Language is the language of the page.
func (v *view) Language() string { return v.words.language }

// Foreign marks a text of report.json, which is English, in a page of another language.
func (v *view) Foreign() template.HTMLAttr {
	if v.words.foreign() {
		return ` lang="en"`
	}
	return ""
}

// columnView explains a column of the released tables.
type columnView struct{ Name, Doc, Releases string }

type drawView struct {
	Name, Design, Target, Charged, Sample, SampleRelations string
	Sampled                                                bool
	Rate, C, Epsilon, SampleEpsilon, Efficiency, Bound     string
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

type factView struct{ Name, Value string }

type fileView struct{ Release, Path, SHA256 string }

type mechanismView struct{ Name, Version, Origin, SHA256 string }

// methodNames are the methods in the order of the table.
var methodNames = []string{"basic", "rdp", "pld", "shuffle", "iterate", "split", "kept"}

func newView(p *Page, r *Report, values map[string]Table, public bool) *view {
	w := p.words
	v := &view{
		words: w, Policy: policy(), Style: template.CSS(pageStyle), Public: public, //nolint:gosec // the style sheet is embedded
		Job: r.Job.Name, Dataset: r.Dataset.ID, Relation: r.Dataset.Relation.String(), UnitNote: sentence(r.Dataset.UnitNote()), Look: sentence(r.Look.Text()),
		One: w.one(r.Dataset), Presence: r.Dataset.Relation == privacy.AddRemove,
		RelationMeans: relationWords(w, r.Dataset), Collected: r.Dataset.Collected,
		Tool: r.Tool.Name + " " + r.Tool.Version, Digest: r.Job.Digest,
		Spend: r.Spend.text(w), Charged: charge(r.Guarantee), Meaning: sentence(meaning(w, r.Guarantee, r.Dataset)),
		Whole: p.whole, Rules: p.rules, OnePass: p.onePass, Local: p.local, Stories: story(w, r),
	}
	if len(p.whole.Powers) > 0 {
		v.Caught = verdict.Percent(r.Guarantee.attacker().Detection)
	}
	v.headline(p, r)
	v.addResults(r, values)
	v.addDraws(p, r)
	v.addKept(r)
	v.addBounds(r)
	v.addClaims(r)
	v.addProvenance(r)
	if !public {
		v.Budget = newBudgetView(w, r.Budget)
	}
	return v
}

func relationWords(w words, d Dataset) string {
	if d.Relation == privacy.ReplaceOne {
		return w.t("relation.values", w.many(d), w.one(d))
	}
	return w.t("relation.presence", w.many(d), w.one(d), d.Place().In(w.language))
}

func point(epsilon, delta float64, number func(float64) string) string {
	return "ε\u00a0" + number(epsilon) + ", δ\u00a0" + number(delta)
}

// charge never quotes an ε without its δ (P2).
func charge(g Guarantee) string { return point(g.Epsilon, g.Delta, Spent) }

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

// ParamsText are the parameters of a mechanism in a line.
func ParamsText(raw json.RawMessage) string {
	var params map[string]any
	if json.Unmarshal(raw, &params) != nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		text := plainText(params[name])
		if len(text) > 200 {
			text = "see report.json"
		}
		parts = append(parts, name+": "+text)
	}
	return strings.Join(parts, "; ")
}

// plainText is a parameter as people write it: a list without brackets, and an object as JSON.
func plainText(value any) string {
	switch v := value.(type) {
	case []any:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = plainText(w)
		}
		return strings.Join(words, ", ")
	case map[string]any:
		if b, err := json.Marshal(v); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(value)
}

// addColumns says once what columns of the same name and meaning mean.
func (v *view) addColumns(e Release) {
	for _, f := range e.Fields {
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
			Name: d.Name, Design: v.words.or("design."+d.Design, d.Design), Sampled: d.Design != "full",
			Target: point(d.Target.Epsilon, d.Target.Delta, Allowed), Charged: charge(d.Guarantee),
			Sample: point(d.Sample.Epsilon, d.Sample.Delta, Allowed), Figures: p.draws[d.Name],
			Epsilon: Allowed(d.Target.Epsilon), SampleEpsilon: Allowed(d.Sample.Epsilon),
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
			one := mechanismView{Name: m.Name, Version: m.Version, Origin: v.T("provenance.plugin"), SHA256: m.SHA256}
			if m.Sandbox != "" {
				one.Origin += ", sandbox: " + m.Sandbox
			}
			if m.Sandbox == unconfined {
				one.Origin += " (" + v.T("provenance.unconfined") + ")"
			}
			switch m.Result {
			case ResultApart:
				one.Origin += "; " + v.T("provenance.apart")
			case ResultTrusted:
				one.Origin += "; " + v.T("provenance.trusted")
			}
			if m.Builtin {
				one.Origin = v.T("provenance.builtin")
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
	v.Events = append(v.Events, factView{v.T("bounds.job"), r.Guarantee.EventText})
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		v.Events = append(v.Events, factView{v.T("bounds.draw", d.Name), d.Guarantee.EventText})
	}
}
