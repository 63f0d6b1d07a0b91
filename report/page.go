package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/internal/say/verdict"
	"github.com/dprelease/dprelease/privacy"
)

// Page is the report for people, with everything that can be known without data: its
// figures are drawn from the events alone.
type Page struct {
	whole   figures
	draws   map[string]figures
	onePass []document.Figure
	local   [][]document.Cell
	rules   []document.Part
}

// figures are the pictures of one guarantee, each with its numbers.
type figures struct {
	Profile, Attack, Efficiency document.Figure
	Sampled                     bool
}

// The limits of a page. A job of thousands of releases still gives a page that can be
// opened and printed. The page says what it leaves out; report.json has all of it.
const (
	maxDrawFigures = 3
	maxReleases    = 200
	maxDraws       = 50
	maxRows        = 40
	maxAllRows     = 1000
	maxWords       = 40 // releases with a sentence and bounds of their own
	maxFiles       = 60
)

// NewPage draws the figures of a report, in the language that it asks for. It reads no
// data, so a run does it before anything is spent.
func NewPage(r *Report) (*Page, error) {
	p := &Page{draws: map[string]figures{}}
	w := r.words()
	var err error
	var before float64
	for _, d := range r.Draws {
		before += d.Sample.Epsilon
	}
	if p.whole, err = newFigures(w, "job", r.Guarantee, r.Guarantee.Relation, before, w.t("profile.all")); err != nil {
		return nil, err
	}
	if len(r.Draws) > 1 {
		for _, d := range r.Draws {
			if d.Design == "full" || len(p.draws) >= maxDrawFigures {
				continue
			}
			f, err := newFigures(w, fmt.Sprintf("draw%d", len(p.draws)), d.Guarantee, sampleRelation(d), d.Sample.Epsilon,
				w.t("profile.draw", d.Name))
			if err != nil {
				return nil, err
			}
			p.draws[d.Name] = f
		}
	}
	for _, d := range r.Draws {
		if a := d.Amplification; a != nil && a.Bound > 0 {
			f := p.draws[d.Name]
			f.Efficiency = document.Figure{Picture: efficiencyFigure(w, d, fmt.Sprintf("eff%d", len(p.draws))),
				Caption: w.t("efficiency.caption", d.Name, Allowed(d.Target.Epsilon))}
			if len(p.draws) < maxDrawFigures || f.Profile.Picture != "" {
				p.draws[d.Name] = f
			}
		}
	}
	if err := p.special(r); err != nil {
		return nil, err
	}
	// Once without values, so that a failure comes before anything is spent.
	return p, p.WriteHTML(io.Discard, io.Discard, r, nil)
}

// sampleRelation is the relation under which the sample's own profile is shown: that of
// the population, if the mechanisms hold under it, else the first under which they do.
func sampleRelation(d Draw) privacy.Relation {
	if len(d.SampleRelations) == 0 || slices.Contains(d.SampleRelations, d.Guarantee.Relation) {
		return d.Guarantee.Relation
	}
	return d.SampleRelations[0]
}

// newFigures evaluates a guarantee's event with and without its sampling, and draws
// everything from those evaluations.
func newFigures(w words, id string, g Guarantee, inner privacy.Relation, sample float64, what string) (figures, error) {
	event, err := g.event()
	if err != nil {
		return figures{}, err
	}
	at := privacy.Point{Epsilon: g.Epsilon, Delta: g.Delta}
	plainEvent, sampled := privacy.WithoutSampling(event)
	right := g.Epsilon * 1.25
	if sampled {
		// The curve of the unamplified event reaches the same δ here.
		sample = verdict.Reach(plainEvent, inner, g.Delta, sample)
		right = max(right, 1.1*sample)
	}
	if !(right > 0) {
		right = 1
	}
	after, ok := verdict.ProfileOf(event, g.Relation).Trace(at, right)
	if !ok {
		return figures{}, nil
	}
	var before verdict.Curve
	if sampled {
		before, sampled = verdict.ProfileOf(plainEvent, inner).Trace(privacy.Point{Epsilon: max(sample, g.Epsilon), Delta: 1}, right)
	}
	most := func(alarm float64) float64 { // the curve, and the verdict where it speaks of the same
		if a := g.Attacker; a != nil && alarm == 0.05 {
			return a.Detection
		}
		return after.Detection(alarm)
	}
	shape := profileFigure{after: after, before: before, sampled: sampled, charged: at}
	desc, delta := w.t("profile.desc", Spent(g.Delta), Spent(g.Epsilon)), "δ"
	if sampled {
		desc, delta = desc+" "+w.t("profile.desc_sample"), "δ, "+w.t("figure.population")
	}
	f := figures{Sampled: sampled}
	f.Profile = document.Figure{Picture: shape.render(w, id+"-profile", w.t("profile.title", what), desc), Caption: what,
		Table: curveTable("ε", delta)}
	f.Attack = document.Figure{Picture: attackFigure(w, after, before, sampled, id+"-attack", w.t("attacker.title", what),
		w.t("attacker.desc", verdict.Percent(most(0.05)))),
		Table: curveTable(w.t("figure.alarm"), w.t("attacker.any"))}
	f.Attack.Table.Caption = w.t("attacker.caption")
	if sampled {
		f.Profile.Table.Head = append(f.Profile.Table.Head, document.Head{Name: "δ, " + w.t("figure.before"), Number: true})
		f.Attack.Table.Head = append(f.Attack.Table.Head, document.Head{Name: w.t("figure.unamplified"), Number: true})
	}
	row := func(t *document.Table, of, value string, unamplified func() string) {
		cells := []document.Cell{{Text: of, Number: true}, {Text: value, Number: true}}
		if sampled {
			cells = append(cells, document.Cell{Text: unamplified(), Number: true})
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		eps := share * g.Epsilon
		row(f.Profile.Table, Spent(eps), Spent(after.Near(eps)), func() string { return Spent(before.Near(eps)) })
	}
	for _, alarm := range []float64{0.001, 0.01, 0.05, 0.1, 0.5} {
		row(f.Attack.Table, percent(alarm), verdict.Percent(most(alarm)), func() string { return verdict.Percent(before.Detection(alarm)) })
	}
	return f, nil
}

// curveTable is a table of two numbers a row.
func curveTable(of, value string) *document.Table {
	return &document.Table{Named: true, Head: []document.Head{{Name: of, Number: true}, {Name: value, Number: true}}}
}

// pictures are the sections of the page that show curves.
func (p *Page) pictures(r *Report) []document.Section {
	w := r.words()
	profile := document.Section{ID: "profile", Title: w.t("profile.heading"), Parts: []document.Part{{Text: w.t("profile.text")}}}
	curves := document.Part{Figures: appendFigure(nil, p.whole.Profile)}
	efficiency := document.Section{ID: "efficiency", Title: w.t("efficiency.heading"), Parts: []document.Part{{Text: w.t("efficiency.text")}}}
	t := &document.Table{Name: w.t("efficiency.heading"), Named: true, Head: document.Columns(w.t("draws.draw"))}
	for _, name := range []string{"q", "ε", "εₙ", w.t("figure.efficiency"), "c = ε/q", "log(1+c)/c"} {
		t.Head = append(t.Head, document.Head{Name: name, Number: true})
	}
	var drawn []document.Figure
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		if !d.sampled() {
			continue
		}
		curves.Figures = appendFigure(curves.Figures, p.draws[d.Name].Profile)
		drawn = appendFigure(drawn, p.draws[d.Name].Efficiency)
		t.Rows = append(t.Rows, d.efficiencies())
	}
	profile.Parts = append(profile.Parts, curves)
	efficiency.Parts = append(efficiency.Parts, document.Part{Table: t}, document.Part{Figures: drawn})
	text := w.t("attacker.values", w.one(r.Dataset))
	if r.Dataset.Relation == privacy.AddRemove {
		text = w.t("attacker.presence", w.one(r.Dataset))
	}
	if p.whole.Attack.Picture != "" {
		text += " " + w.t("attacker.example", verdict.Percent(r.Guarantee.attacker().Detection))
	}
	attacker := document.Section{ID: "attacker", Title: w.t("attacker.heading"),
		Parts: []document.Part{{Text: text}, {Figures: appendFigure(nil, p.whole.Attack)}}}
	if p.whole.Sampled {
		attacker.Parts = append(attacker.Parts, note(w.t("attacker.secret")))
	}
	out := []document.Section{{ID: "rules", Title: w.t("rule.heading"), Parts: p.rules}, profile, attacker}
	if len(t.Rows) > 0 {
		out = append(out, efficiency)
	}
	if len(p.onePass) > 0 {
		out = append(out, document.Section{ID: "positions", Title: w.t("position.heading"),
			Parts: []document.Part{{Text: w.t("position.text")}, {Figures: p.onePass}}})
	}
	if len(p.local) > 0 {
		t := &document.Table{Name: w.t("local.heading"), Named: true, Rows: p.local, Head: document.Columns(w.t("draws.draw"))}
		for _, name := range []string{"local.categories", "local.epsilon", "local.truth", "local.users"} {
			t.Head = append(t.Head, document.Head{Name: w.t(name), Number: true})
		}
		t.Head = append(t.Head, document.Head{Name: w.t("local.after")})
		out = append(out,
			document.Section{ID: "local", Title: w.t("local.heading"), Parts: []document.Part{{Text: w.t("local.text")}, {Table: t}}})
	}
	return out
}

func appendFigure(all []document.Figure, f document.Figure) []document.Figure {
	if f.Picture == "" {
		return all
	}
	return append(all, f)
}

// efficiencies is the efficiency of a draw and what it rests on.
func (d Draw) efficiencies() []document.Cell {
	out := []document.Cell{{Text: d.Name}}
	texts := []string{"–", Allowed(d.Target.Epsilon), Allowed(d.Sample.Epsilon), "–", "–", "–"}
	if d.Efficiency > 0 {
		texts[3] = trim(d.Efficiency)
	}
	if a := d.Amplification; a != nil {
		texts[0] = percent(a.Rate)
		if a.Bound > 0 {
			texts[4], texts[5] = trim(d.Target.Epsilon/a.Rate), trim(a.Bound)
		}
	}
	for _, text := range texts {
		out = append(out, document.Cell{Text: text, Number: true})
	}
	return out
}

//go:embed page.html.tmpl
var pageText string

//go:embed page.css
var pageStyle string

// pageTemplate is parsed when the first page is made: most processes make none.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{"maths": maths, "sentence": Sentence, "stop": stop, "policy": policy,
		"style": func() template.CSS { return template.CSS(pageStyle) }, //nolint:gosec // the style sheet is embedded
		"own":   mark("own"), "public": mark("public"), "both": mark("both")}).Parse(pageText))
})

// policy lets the page's own style sheet in, and nothing else: no script, no picture, no font, no form, no address.
func policy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// WriteHTML writes the page of a report that NewPage has seen, with the released
// values. The page for the public leaves out the ledger.
func (p *Page) WriteHTML(own, public io.Writer, r *Report, values map[string]Table) error {
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, newView(p, r, values)); err != nil {
		return err
	}
	text := b.Bytes()
	if r.words().Foreign() {
		text = texts.ReplaceAllFunc(text, func(t []byte) []byte { return []byte(r.words().Number(string(t))) })
	}
	pieces := bytes.Split(text, []byte("<!--"))
	for reader, w := range map[string]io.Writer{"own": own, "public": public} {
		var page bytes.Buffer
		page.Grow(len(text))
		page.Write(pieces[0])
		for _, piece := range pieces[1:] {
			if whose, text, _ := bytes.Cut(piece, []byte("-->")); string(whose) == reader || string(whose) == "both" {
				page.Write(text)
			}
		}
		if _, err := page.WriteTo(w); err != nil {
			return err
		}
	}
	return nil
}

// mark is a comment where what one reader sees begins. No other text of a page holds a comment: the template escapes it.
func mark(reader string) func() template.HTML {
	return func() template.HTML { return template.HTML("<!--" + reader + "-->") } //nolint:gosec // see above
}

// texts are the texts of a page between its tags. One that is a number alone is written in the page's language.
var texts = regexp.MustCompile(`>[^<>]+<`)

// WriteSections writes sections as a self-contained page in the style of the report.
func WriteSections(w io.Writer, title string, sections []document.Section) error {
	var body bytes.Buffer
	v := &view{words: wordsIn("en"), Title: title, Details: sections}
	if err := pageTemplate().ExecuteTemplate(&body, "sections", v); err != nil {
		return err
	}
	return Document(w, title, template.HTML(body.String())) //nolint:gosec // a template wrote it
}

// Document writes a self-contained page in English around a body, in the style of the report.
func Document(w io.Writer, title string, body template.HTML) error {
	return pageTemplate().ExecuteTemplate(w, "document", map[string]any{"Language": "en", "Title": title, "Body": body})
}
