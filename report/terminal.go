package report

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
)

// Fact is a sentence with a label.
type Fact struct{ Label, Text string }

// The most releases that the account of a run names, those of no use first, and the most rows of each that it prints.
const (
	shownReleases = 5
	shownRows     = 12
)

// Told is a run, for the person who ran it, and in JSON for programs.
type Told struct {
	Already bool   `json:"already_released"`     // the releases were there: nothing was drawn or debited
	Dir     string `json:"dir"`                  // holds the releases
	Made    string `json:"new_ledger,omitempty"` // says that the ledger is new
	Late    string `json:"late,omitempty"`       // says that the run missed its hour
	Report  Report `json:"report"`               // what stands in its report.json

	Unmade string           `json:"-"` // where Already, says what the job now asks for and the first run did not make
	Page   string           `json:"-"` // the address of the page
	Values map[string]Table `json:"-"`
}

// WriteText prints what a person wants to know after a run: in some ten lines, or with everything that the report says.
func (t *Told) WriteText(out io.Writer, detail bool) error {
	w, r := t.Report.Publication.inEnglish(), &t.Report
	s := document.Section{Parts: useless(w, r)}
	add := func(label, text string) {
		if text != "" {
			s.Parts = append(s.Parts, document.Part{Label: w.t(label), Text: text})
		}
	}
	if t.Already {
		s.Parts = slices.Insert(s.Parts, 0, document.Part{Text: w.t("terminal.already")}, document.Part{Text: t.Unmade})
	}
	all := Briefs(r, t.Values)
	lines := &document.Table{}
	for _, b := range all[:min(len(all), shownReleases)] {
		lines.Rows = append(lines.Rows, document.Row(signs[b.Grade]+" "+w.labels.Label(b.Release), b.Label, b.Values))
	}
	if n := len(all) - shownReleases; n > 0 {
		lines.More = "  " + w.t("terminal.more", n)
	}
	s.Parts = append(s.Parts, document.Part{Table: lines})
	s.Parts = append(s.Parts, leftOut(w, r)...)
	s.Parts = append(s.Parts, spent(w, r, !detail)...)
	s.Parts = append(s.Parts, charged(w, r))
	s.Parts = append(s.Parts, promise(w, r)...)
	for _, g := range r.Budget.gauges(w) {
		add("budget.gauge", g.Text)
	}
	add("terminal.late", t.Late)
	add("budget.ledger", t.Made)
	if names := r.Unconfined(); len(names) > 0 {
		add("terminal.unconfined", strings.Join(names, ", ")+": "+w.t("provenance.unconfined"))
	}
	if !detail {
		add("terminal.report", t.Page+" "+w.t("terminal.details"))
		return document.WriteText(out, s)
	}
	add("terminal.releases", t.Dir)
	add("terminal.report", t.Page+" "+w.t("terminal.programs"))
	sections := []document.Section{s}
	for _, e := range r.Releases {
		one := document.Section{Title: w.t("terminal.release", w.labels.Label(e.Name), e.Mechanism.Name, w.source(e.From))}
		if v := w.labelled(e, t.Values[e.Name].shown(shownRows)).grid(w); v != nil {
			if n := t.Values[e.Name].rows() - len(v.Rows); n > 0 {
				v.More = w.t("terminal.rows", n)
			}
			one.Parts = append(one.Parts, document.Part{Table: v})
		}
		one.Parts = append(one.Parts, said(w, r, e)...)
		sections = append(sections, one)
	}
	return document.WriteText(out, append(sections, details(w, r, nil, false)...)...)
}

// WritePlan prints what a plan costs and promises, a row for each release. Limit is that of the budget, "" for none.
func WritePlan(out io.Writer, r *Report, limit string, detail bool) error {
	w := wordsIn("en")
	head := document.Section{Parts: useless(w, r)}
	add := func(s *document.Section, label, text string) {
		if text != "" {
			s.Parts = append(s.Parts, document.Part{Label: label, Text: text})
		}
	}
	title := w.t("terminal.job", r.Job.Name, r.Dataset.ID, r.Dataset.Relation)
	if n := r.Dataset.Population; n > 0 {
		title += ", " + grouped(n) + " " + w.many(r.Dataset)
	}
	add(&head, "", title)
	add(&head, w.t("protected.collected"), r.Dataset.collected(w))
	add(&head, w.t("protected.travelled"), w.Or("travelled."+r.Dataset.Travelled, ""))
	figures := document.Section{Title: w.t("verdict.title"), Parts: planned(w, r)}
	for _, e := range r.Releases {
		for _, text := range e.Keys.text(w, r.Dataset) {
			add(&figures, w.t("terminal.keys", e.Name), text)
		}
		if e.Keys != nil && e.Keys.Guarantee != nil {
			add(&figures, w.t("charge.keys", e.Name), Charge(*e.Keys.Guarantee))
		}
	}
	figures.Parts = append(figures.Parts, leftOut(w, r)...)
	if r.Dataset.Periods == nil && slices.ContainsFunc(r.Releases, Release.fixedCap) {
		figures.Parts = append(figures.Parts, note(w.t("limit.cap_private")))
	}
	figures.Parts = append(figures.Parts, spent(w, r, false)...)
	whole := document.Section{Title: w.t("bounds.job"), Parts: []document.Part{charged(w, r)}}
	add(&whole, w.t("terminal.limit"), limit)
	whole.Parts = append(whole.Parts, promise(w, r)...)
	if !detail {
		add(&whole, w.t("protected.meaning"), meaning(w, r.Guarantee, r.Dataset))
		add(&whole, w.t("protected.unit"), r.Dataset.unitNote(w))
	}
	sections := []document.Section{head, figures, whole, account(w, r)}
	if !detail {
		sections[1].Parts = append(sections[1].Parts, kept(w, r)...)
		return document.WriteText(out, append(sections, document.Section{Title: w.t("terminal.plan_details"), Parts: []document.Part{{}}})...)
	}
	for _, e := range r.Releases {
		sections = append(sections, document.Section{Title: w.t("terminal.release", e.Name, e.Mechanism.Name, e.From), Parts: said(w, r, e)})
	}
	return document.WriteText(out, append(sections, details(w, r, nil, true)...)...)
}

// planned is the table of the releases of a plan, and what its signs stand for.
func planned(w words, r *Report) []document.Part {
	at := map[string]Brief{}
	for _, one := range Briefs(r, nil) {
		at[one.Release] = one
	}
	drawn := slices.ContainsFunc(r.Releases, func(e Release) bool { return slices.ContainsFunc(e.Expected, ExpectedError.drawn) })
	t := &document.Table{}
	for _, name := range []string{"first.figure", "first.of", "provenance.mechanism", "charge.charged", "terminal.noise", "terminal.both",
		"first.worth"} {
		if name != "terminal.both" || drawn {
			t.Head = append(t.Head, document.Head{Name: w.t(name)})
		}
	}
	t.Head[0].Name = "  " + t.Head[0].Name
	out := []document.Part{{Table: t}}
	unknown, even, divided, ranks, open := false, false, false, false, false
	for _, e := range r.Releases {
		one := at[e.Name]
		noise, both := cmp.Or(one.Noise, "–"), cmp.Or(one.Draw, "–")
		unknown, divided = unknown || noise == "–", divided || strings.Contains(noise, "/m")
		even = even || strings.Contains(noise, "≈")
		cells := []string{signs[one.Grade] + " " + e.Name, e.From, e.Mechanism.Name, point(e.Cost().Epsilon, e.Cost().Delta, Spent), noise}
		ranks = ranks || slices.ContainsFunc(e.Expected, func(x ExpectedError) bool { return x.Rank })
		if drawn {
			cells, even = append(cells, both), even || strings.Contains(both, "≈")
			open = open || both == "–" && noise != "–" || both != noise && strings.HasPrefix(both, "at most")
		}
		t.Rows = append(t.Rows, document.Row(append(cells, one.Label)...))
		for _, x := range e.Expected {
			if text := oneEnds(w, x.OneEnd); text != "" {
				out = append(out, document.Part{Text: e.Name + ": " + text})
			}
		}
	}
	for _, sign := range []struct {
		stands bool
		words  string
	}{{unknown, "terminal.unknown"}, {even, "terminal.even"}, {divided, "terminal.divided"}, {ranks, "terminal.ranks"},
		{open, "terminal.draw"}} {
		if sign.stands {
			out = append(out, note(w.t(sign.words)))
		}
	}
	return out
}

// signs begin the line of a release; a terminal gives them a colour.
var signs = map[string]string{"poor": "✗", "fair": "!", "good": "✓"}

// useless lists the releases that are not worth their price.
func useless(w words, r *Report) (out []document.Part) {
	for _, e := range r.Releases {
		if k := slices.IndexFunc(e.Expected, func(x ExpectedError) bool { return x.Useless() != "" }); k >= 0 {
			out = append(out, document.Part{Text: w.t("terminal.useless", e.Name, e.Expected[k].Useless())})
		}
	}
	return out
}

// leftOut lists the limits of the releases, each once.
func leftOut(w words, r *Report) (out []document.Part) {
	for _, l := range r.allLimits(w) {
		out = append(out, document.Part{Label: w.t("terminal.limits"), Text: l.words()})
	}
	return out
}

// spent lists the cost of the job and what was asked for each release; short, in one line.
func spent(w words, r *Report, short bool) (out []document.Part) {
	if text := r.Spend.text(w); text != "" {
		out = append(out, document.Part{Label: w.t("spend.label"), Text: text})
	}
	var parts []string
	for _, e := range r.Releases {
		if text := e.Amount(); text != "" {
			parts = append(parts, e.Name+" "+text)
		}
		if text := e.asked(w); text != "" && !short {
			out = append(out, document.Part{Label: e.Name, Text: text})
		}
	}
	if n := len(parts) - shownReleases; n > 0 {
		parts = append(parts[:shownReleases], w.t("first.more", n))
	}
	if short && len(parts) > 0 {
		out = append(out, document.Part{Label: w.t("spend.asked"), Text: strings.Join(parts, "; ")})
	}
	return out
}

// charged writes the cost of everything, and who pays for a panel.
func charged(w words, r *Report) document.Part {
	label := "charged.all"
	if p := r.Dataset.Panel; p != nil {
		label = "charged.waves"
		if r.Budget != nil && !slices.ContainsFunc(r.Budget.Amounts, func(a Amount) bool { return a.Cost != "0" }) {
			label = "charged.first"
		}
		if p.Again {
			label = "charged.again"
		}
	}
	return document.Part{Label: w.t(label), Text: Charge(r.Guarantee) + " (" + r.Guarantee.Method + ")"}
}

// said lists the sentences of a report on one release.
func said(w words, r *Report, e Release) (out []document.Part) {
	add := func(label string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				out = append(out, document.Part{Label: w.t(label), Text: text})
			}
		}
	}
	add("charge.charged", Charge(e.Guarantee)+" ("+e.Guarantee.Method+")")
	add("draws.target", point(e.Target.Epsilon, e.Target.Delta, Allowed))
	if e.From != All {
		add("draws.sample", point(e.Sample.Epsilon, e.Sample.Delta, Allowed))
	}
	add("spend.asked", e.asked(w))
	add("terminal.limits", limitText(w, e, r.Dataset, true)...)
	add("terminal.weights", e.Weights.text(w)...)
	add("terminal.keys_of", e.Keys.text(w, r.Dataset)...)
	for _, f := range e.Fields {
		if f.Name == "count" && f.Doc != "" {
			add("terminal.count", w.note(f.Doc))
		}
	}
	add("terminal.event", e.Guarantee.EventText)
	add("provenance.mechanism", e.Mechanism.Version+", "+e.Mechanism.origin(w))
	return out
}
