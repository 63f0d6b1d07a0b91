package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/privacy"
)

// view holds the words and numbers that the template prints, with nothing left to decide.
type view struct {
	words words

	Title, Publisher, Period, Contact, Lede string
	Notes                                   []string
	Anew                                    bool // the words are younger than the figures
	Meter                                   template.HTML
	Chance                                  string
	Promise                                 []document.Part
	First                                   []verdictView // the figures of the first screen
	Limits                                  []string      // of all releases
	MoreVerdicts                            int
	AnyNoise                                bool // a picture shows noise
	Limited                                 bool // values have noise, and limits besides
	Sampled                                 bool

	Tool, Charged string

	Results      []resultView
	MoreReleases int
	Gauges       []gaugeView
	Details      []document.Section
}

// T is a text of the page's language.
func (v *view) T(name string, blanks ...any) string { return v.words.t(name, blanks...) }

// Language is the language of the page.
func (v *view) Language() string { return v.words.Name }

// Mark marks a text of report.json, which is English, in a page of another language.
func (v *view) Mark(foreign bool) template.HTMLAttr {
	if foreign && v.words.Foreign() {
		return ` lang="en"`
	}
	return ""
}

// partView is a part of a document in a page.
type partView struct {
	*view
	document.Part
	Open, Close bool // a list of facts or items begins before it, or ends after it
}

// Parts are the parts of a section, with the places where lists begin and end.
func (v *view) Parts(all []document.Part) (out []partView) {
	kind := func(i int) string {
		if i < 0 || i >= len(all) {
			return ""
		}
		switch all[i].Class {
		case document.Fact, document.Digest:
			return document.Fact
		case document.Item:
			return document.Item
		}
		return ""
	}
	for i, p := range all {
		begins := p.Heading != "" || kind(i-1) != kind(i)
		ends := i+1 == len(all) || kind(i+1) != kind(i) || all[i+1].Heading != ""
		out = append(out, partView{v, p, kind(i) != "" && begins, kind(i) != "" && ends})
	}
	return out
}

// List is the element of the list that the part stands in, "" where it stands in none.
func (p partView) List() string {
	switch p.Class {
	case document.Fact, document.Digest:
		return "dl"
	case document.Item:
		return "ul"
	}
	return ""
}

// gridView is a table in a page. Label names it for those who do not see it.
type gridView struct {
	*document.Table
	Label string
}

// Grid prepares a table for the template.
func (v *view) Grid(t *document.Table, label string) gridView { return gridView{t, label} }

// Style returns the classes of a cell.
func (gridView) Style(c document.Cell) string {
	var out []string
	for _, one := range []struct {
		is   bool
		name string
	}{{c.Number, "n"}, {c.Whole, "p"}, {c.Strong, "charged"}, {c.Digest, "digest"}} {
		if one.is {
			out = append(out, one.name)
		}
	}
	return strings.Join(out, " ")
}

// methodNames are the methods in the order of the table.
var methodNames = []string{"basic", "rdp", "pld", "shuffle", "iterate", "split", "kept"}

func newView(p *Page, r *Report, values map[string]Table) *view {
	w := r.words()
	v := &view{
		words: w, Tool: r.Tool.Name + " " + r.Tool.Version, Charged: Charge(r.Guarantee), Sampled: r.anySampled(),
		Promise: promise(w, r), Details: details(w, r, p, false), Gauges: r.Budget.gauges(w),
	}
	v.headline(r)
	v.addResults(r, values)
	return v
}

func relationWords(w words, d Dataset) string {
	if d.Relation == privacy.ReplaceOne {
		return w.t("relation.values", w.many(d), w.one(d))
	}
	return w.t("relation.presence", w.many(d), w.one(d), w.t(string(d.Place())))
}

func point(epsilon, delta float64, number func(float64) string) string {
	return "ε\u00a0" + number(epsilon) + ", δ\u00a0" + number(delta)
}

// Charge never quotes an ε without its δ (P2).
func Charge(g Guarantee) string { return point(g.Epsilon, g.Delta, Spent) }

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
			text = "…"
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
