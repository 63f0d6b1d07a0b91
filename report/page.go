package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/internal/say/verdict"
	"github.com/dprelease/dprelease/privacy"
)

// Page is the report for people, with everything that can be known without data: its
// figures are drawn from the events alone.
type Page struct {
	words   words
	whole   figures
	draws   map[string]figures
	onePass []positionView
	local   []localView
	rules   []ruleView
}

// figures are the pictures and data tables of one guarantee.
type figures struct {
	Profile, Attack, Efficiency template.HTML
	Points                      []profilePoint
	Powers                      []powerPoint
	Sampled                     bool
	Title                       string
}

type profilePoint struct{ Epsilon, After, Before string }

type powerPoint struct{ Alarm, After, Before string }

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
	p := &Page{draws: map[string]figures{}, words: wordsIn("en")}
	if r.Publication != nil {
		p.words = wordsIn(r.Publication.Language)
	}
	w := p.words
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
			f, err := newFigures(w, fmt.Sprintf("draw%d", len(p.draws)), d.Guarantee, sampleRelation(d), d.Sample.Epsilon, w.t("profile.draw", d.Name))
			if err != nil {
				return nil, err
			}
			p.draws[d.Name] = f
		}
	}
	for _, d := range r.Draws {
		if a := d.Amplification; a != nil && a.Bound > 0 {
			f := p.draws[d.Name]
			f.Efficiency = efficiencyFigure(w, d, fmt.Sprintf("eff%d", len(p.draws)))
			if len(p.draws) < maxDrawFigures || f.Profile != "" {
				p.draws[d.Name] = f
			}
		}
	}
	if err := p.special(r); err != nil {
		return nil, err
	}
	// Once without values, so that a failure comes before anything is spent.
	return p, p.WriteHTML(io.Discard, r, nil, false)
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
	f := figures{Sampled: sampled, Title: what}
	most := func(alarm float64) float64 { // the curve, and the verdict where it speaks of the same
		if a := g.Attacker; a != nil && alarm == 0.05 {
			return a.Detection
		}
		return after.Detection(alarm)
	}
	shape := profileFigure{after: after, before: before, sampled: sampled, charged: at}
	desc := w.t("profile.desc", Spent(g.Delta), Spent(g.Epsilon))
	if sampled {
		desc += " " + w.t("profile.desc_sample")
	}
	f.Profile = shape.render(w, id+"-profile", w.t("profile.title", what), desc)
	f.Attack = attackFigure(w, after, before, sampled, id+"-attack", w.t("attacker.title", what), w.t("attacker.desc", verdict.Percent(most(0.05))))
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		eps := share * g.Epsilon
		p := profilePoint{Epsilon: Spent(eps), After: Spent(after.Near(eps))}
		if sampled {
			p.Before = Spent(before.Near(eps))
		}
		f.Points = append(f.Points, p)
	}
	for _, alarm := range []float64{0.001, 0.01, 0.05, 0.1, 0.5} {
		p := powerPoint{Alarm: percent(alarm), After: verdict.Percent(most(alarm))}
		if sampled {
			p.Before = verdict.Percent(before.Detection(alarm))
		}
		f.Powers = append(f.Powers, p)
	}
	return f, nil
}

//go:embed page.html.tmpl
var pageText string

//go:embed page.css
var pageStyle string

// pageTemplate is parsed when the first page is made: most processes make none.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{"maths": maths, "args": func(v *view, f figures) pair { return pair{v, f} }}).Parse(pageText))
})

// pair holds the data of a figure's template: the page for its words, and the figures.
type pair struct {
	Page    *view
	Figures figures
}

// policy lets the page's own style sheet in and nothing else: no script, no
// picture, no font, no form, no address.
func policy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// WriteHTML writes the page of a report that NewPage has seen, with the released
// values. The page for the public leaves out the ledger.
func (p *Page) WriteHTML(w io.Writer, r *Report, values map[string]Table, public bool) error {
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, newView(p, r, values, public)); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// frame is a page around a body. It has the style of the report, and asks for nothing.
var frame = template.Must(template.New("document").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{{.Title}}</title>
<style>{{.Style}}</style>
</head>
<body>
{{.Body}}
</body>
</html>
`))

// Document writes a self-contained page in the style of the report.
func Document(w io.Writer, title string, body template.HTML) error {
	return frame.Execute(w, map[string]any{"Policy": policy(), "Title": title, "Style": template.CSS(pageStyle), "Body": body}) //nolint:gosec // the style sheet is embedded, and a template wrote the body
}
