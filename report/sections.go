package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/privacy"
)

// details are the sections for a reader who checks the figures. A terminal has no page p, and no sections of pictures.
func details(w words, r *Report, p *Page, public bool) []document.Section {
	out := []document.Section{protected(w, r), numbers(w, r, p != nil), charges(w, r, p != nil)}
	if p != nil {
		out = append(out, p.pictures(r)...)
	}
	out = append(out, bounds(w, r))
	if !public {
		out = append(out, account(w, r))
	}
	return append(out, provenance(w, r))
}

// fact is a label with a short text.
func fact(label, text string) document.Part {
	return document.Part{Label: label, Text: text, Class: document.Fact}
}

// note is an explanation.
func note(text string) document.Part { return document.Part{Text: text, Class: document.Quiet} }

// protected describes what the guarantee is about.
func protected(w words, r *Report) document.Section {
	s := document.Section{ID: "protected", Title: w.t("protected.heading")}
	add := func(label, text string) {
		if text != "" {
			s.Parts = append(s.Parts, document.Part{Label: w.t(label), Text: text})
		}
	}
	add("protected.dataset", r.Dataset.ID+", "+r.Dataset.Relation.String()+": "+relationWords(w, r.Dataset))
	add("protected.unit", r.Dataset.unitNote(w))
	add("protected.collected", r.Dataset.collected(w))
	add("protected.travelled", w.Or("travelled."+r.Dataset.Travelled, ""))
	add("protected.meaning", meaning(w, r.Guarantee, r.Dataset))
	return s
}

// charges shows what each release and each draw costs. A terminal says above how the releases share the budget.
func charges(w words, r *Report, page bool) document.Section {
	t := &document.Table{Name: w.t("charge.heading"), Named: true,
		Head: document.Columns(w.t("charge.release"), w.t("charge.charged"), w.t("error.meaning"))}
	t.Head[2].Wide = true
	row := func(name string, g Guarantee, d Dataset, i int) {
		text := ""
		if i < maxWords {
			text = Sentence(meaning(w, g, d))
		}
		t.Rows = append(t.Rows, []document.Cell{{Text: name}, {Text: Charge(g), Whole: true}, {Text: text}})
	}
	for i, e := range r.Releases[:min(len(r.Releases), maxReleases)] {
		row(w.labels.Label(e.Name), e.Guarantee, r.seenFrom(e.From), i)
		if e.Keys != nil && e.Keys.Guarantee != nil {
			row(w.t("charge.keys", w.labels.Label(e.Name)), *e.Keys.Guarantee, r.seenFrom(e.From), i)
		}
	}
	s := document.Section{ID: "guarantee", Title: w.t("charge.heading"), Parts: []document.Part{{Table: t}, note(w.t("charge.compose"))}}
	if text := r.Spend.text(w); text != "" && page {
		s.Parts = append(s.Parts, document.Part{Text: text})
	}
	s.Parts = append(s.Parts, draws(w, r)...)
	s.Parts = append(s.Parts, kept(w, r)...)
	return s
}

// draws shows what is guaranteed on the population and spent on samples.
func draws(w words, r *Report) (out []document.Part) {
	sampled := r.anySampled()
	t := &document.Table{Name: w.t("draws.heading"), Named: true,
		Head: document.Columns(w.t("draws.draw"), w.t("draws.design"), w.t("draws.charged"), w.t("draws.target"))}
	if sampled {
		out = append(out, document.Part{Heading: w.t("draws.heading"), Text: w.t("draws.text")})
		t.Head = slices.Insert(t.Head, 2, document.Head{Name: w.t("draws.rate"), Number: true})
		t.Head = append(t.Head, document.Columns(w.t("draws.sample"), w.t("draws.relation"))...)
	}
	var said []document.Part
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		row := []document.Cell{{Text: d.Name}, {Text: w.Or("design."+d.Design, d.Design)}, {Text: Charge(d.Guarantee), Whole: true, Strong: true},
			{Text: point(d.Target.Epsilon, d.Target.Delta, Allowed), Whole: true}}
		if sampled {
			rate, sample := "–", "–"
			if d.Amplification != nil {
				rate = percent(d.Amplification.Rate)
			}
			if d.sampled() {
				sample = point(d.Sample.Epsilon, d.Sample.Delta, Allowed)
			}
			row = slices.Insert(row, 2, document.Cell{Text: rate, Number: true})
			row = append(row, document.Cell{Text: sample, Whole: true}, document.Cell{Text: d.relations(w)})
		}
		t.Rows = append(t.Rows, row)
		if text := efficiencyWords(w, d); text != "" {
			said = append(said, fact(d.Name, text))
		}
		if len(d.PublicColumns) > 0 {
			said = append(said, fact(d.Name, w.t("draws.public", strings.Join(d.PublicColumns, ", "))))
		}
	}
	out = append(out, document.Part{Table: t})
	if n := len(r.Draws) - maxDraws; n > 0 {
		out = append(out, document.Part{Text: w.t("draws.more", n)})
	}
	return append(out, said...)
}

// sampled reports whether the draw is a part of the table.
func (d Draw) sampled() bool { return d.Design != "full" }

func (r *Report) anySampled() bool { return slices.ContainsFunc(r.Draws, Draw.sampled) }

// text names the wave of a panel and who pays for it, "" where there is no panel.
func (p *Panel) text(w words) string {
	switch {
	case p == nil:
		return ""
	case p.Again:
		return w.t("panel.again", p.Wave, p.Waves)
	}
	return w.t("panel.text", p.Wave, p.Waves)
}

// efficiencyWords describes what a draw did to the noise of a total.
func efficiencyWords(w words, d Draw) string {
	switch times := 1 / d.Efficiency; {
	case d.Efficiency <= 0:
		return ""
	case times < 0.995:
		return w.t("draws.quieter", trim(times))
	case times < 1.005:
		return w.t("draws.alike")
	default:
		return w.t("draws.louder", trim(times))
	}
}

func list(names []string) string {
	text := ""
	for i, n := range names {
		if i == 6 {
			return text + " …"
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

// relations are those under which the releases from a sample hold.
func (d Draw) relations(w words) string {
	if a := d.SampleArrival; a != nil {
		return w.t("draws.arrival", point(a.Epsilon, a.Delta, Spent))
	}
	var names []string
	for _, rel := range d.SampleRelations {
		names = append(names, rel.String())
	}
	return strings.Join(names, w.t("meaning.and"))
}

// kept describes the cost so far of each draw that several jobs use, and of the draw that made the table.
func kept(w words, r *Report) (out []document.Part) {
	add := func(text string, k *Kept) {
		on := func(before, after privacy.Point) string {
			return w.t("kept.before", point(before.Epsilon, before.Delta, Spent), point(after.Epsilon, after.Delta, Spent))
		}
		out = append(out, fact(w.t("kept.sample"), text), fact(w.t("kept.spent"), on(k.SampleBefore, k.SampleAfter)),
			fact(w.t("kept.costs"), on(k.Before, k.After)), fact(w.t("kept.charged"), point(k.Charged.Epsilon, k.Charged.Delta, Spent)))
	}
	if r.Collection != nil {
		add(w.t("kept.table"), r.Collection)
	}
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		switch k := d.Kept; {
		case k == nil:
		case k.Reused:
			add(w.t("kept.reused", k.ID, k.Jobs), k)
		case k.ID == "":
			add(w.t("kept.planned", d.Name), k)
		default:
			add(w.t("kept.new", k.ID, d.Name), k)
		}
	}
	if len(out) > 0 {
		out = append(out, note(w.t("kept.curves")))
	}
	return out
}

// bounds shows what each method proves, what is claimed elsewhere, and where a method has no bound.
func bounds(w words, r *Report) document.Section {
	type bounded struct {
		what string
		g    Guarantee
	}
	all := []bounded{{w.t("bounds.job"), r.Guarantee}}
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		all = append(all, bounded{w.t("bounds.draw", d.Name), d.Guarantee})
	}
	wide := len(all)
	for _, e := range r.Releases[:min(len(r.Releases), maxWords)] {
		all = append(all, bounded{w.t("bounds.release", w.labels.Label(e.Name)), e.Guarantee})
	}
	used := map[string]bool{}
	for _, b := range all {
		for m := range b.g.Methods {
			used[m] = true
		}
	}
	var methods []string
	t := &document.Table{Name: w.t("bounds.heading"), Caption: w.t("bounds.caption"), Named: true,
		Head: []document.Head{{Name: w.t("bounds.for")}, {Name: "δ", Number: true}}}
	s := document.Section{ID: "bounds", Title: w.t("bounds.heading"), Parts: []document.Part{{Table: t}}}
	for _, m := range methodNames {
		if used[m] {
			methods = append(methods, m)
			s.Parts = append(s.Parts, document.Part{Text: w.t("method." + m), Class: document.Item})
			delete(used, m)
		}
	}
	methods = append(methods, slices.Sorted(maps.Keys(used))...)
	for _, m := range methods {
		t.Head = append(t.Head, document.Head{Name: m, Number: true})
	}
	for _, b := range all {
		row := []document.Cell{{Text: b.what}, {Text: Spent(b.g.Delta), Number: true}}
		for _, m := range methods {
			c := document.Cell{Text: "–", Number: true}
			if eps, ok := b.g.Methods[m]; ok {
				if c.Text = Spent(eps); m == b.g.Method {
					c.Text, c.Strong = c.Text+" ("+w.t("figure.charged")+")", true
				}
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	seen := map[string]bool{}
	for _, b := range all { // the published figures that are not charged, each once
		for _, c := range b.g.Claimed {
			if key := fmt.Sprint(c.Source, c.Epsilon, c.Delta); !seen[key] && len(seen) < maxWords {
				seen[key] = true
				text := w.t("bounds.claim", point(c.Epsilon, c.Delta, Allowed), b.what, c.Source, Charge(b.g), w.note(c.Why))
				s.Parts = append(s.Parts, document.Part{Label: w.t("bounds.claimed"), Text: text, Class: document.Warn})
			}
		}
	}
	heading := w.t("bounds.without")
	for _, b := range all[:wide] { // each reason once, for the first that it is about
		for _, u := range b.g.Unsupported {
			if !seen[u.Error()] && len(seen) < 2*maxWords {
				seen[u.Error()] = true
				s.Parts = append(s.Parts,
					document.Part{Heading: heading, Label: u.Method, Text: w.note(u.Text()) + " (" + b.what + ")", Class: document.Item})
				heading = ""
			}
		}
	}
	return s
}

// provenance names the programs that made the releases, what was done to the data, and the files.
func provenance(w words, r *Report) document.Section {
	s := document.Section{ID: "provenance", Title: w.t("provenance.heading")}
	add := func(label, text, class string) {
		s.Parts = append(s.Parts, document.Part{Label: w.t(label), Text: text, Class: class})
	}
	add("provenance.program", r.Tool.Name+" "+r.Tool.Version, document.Fact)
	add("provenance.job", r.Job.Name, document.Fact)
	add("provenance.digest", r.Job.Digest, document.Digest)
	known := map[Mechanism]bool{}
	for _, e := range r.Releases {
		if m := e.Mechanism; !known[m] {
			known[m] = true
			text := m.Name + " " + m.Version + ", " + m.origin(w)
			if m.SHA256 != "" {
				text += ", SHA-256 " + m.SHA256
			}
			add("provenance.mechanism", text, document.Fact)
		}
	}
	s.Parts = append(s.Parts,
		document.Part{Heading: w.t("provenance.events"), Label: w.t("bounds.job"), Text: r.Guarantee.EventText, Class: document.Digest})
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		s.Parts = append(s.Parts, document.Part{Label: w.t("bounds.draw", d.Name), Text: d.Guarantee.EventText, Class: document.Digest})
	}
	t := &document.Table{Name: w.t("provenance.files"), Named: true, Head: document.Columns(w.t("provenance.file"), "SHA-256")}
	more := 0
	for _, e := range r.Releases {
		for _, f := range e.Files {
			if len(t.Rows) == maxFiles {
				more++
				continue
			}
			t.Rows = append(t.Rows, []document.Cell{{Text: f.Path, Link: f.Path}, {Text: f.SHA256, Digest: true}})
		}
	}
	if more > 0 {
		t.More = w.t("provenance.more", more)
	}
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, document.Part{Heading: w.t("provenance.files"), Table: t})
	}
	return s
}

// origin describes where a mechanism comes from, what confines it, and what its results rest on.
func (m Mechanism) origin(w words) string {
	if m.Builtin {
		return w.t("provenance.builtin")
	}
	text := w.t("provenance.plugin")
	if m.Sandbox != "" {
		text += ", sandbox: " + m.Sandbox
	}
	if m.Sandbox == unconfined {
		text += " (" + w.t("provenance.unconfined") + ")"
	}
	if m.Result != "" {
		text += "; " + w.t("rests."+m.Result)
	}
	if m.SelfNoising {
		text += "; " + w.t("verdict.self_noising")
	}
	return text
}
