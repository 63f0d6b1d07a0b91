package report

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/sentence"
)

// words are the texts of a page in one language.
type words struct {
	*sentence.Words
	labels *Publication // nil where the job has no words of its own
}

// wordsIn are the texts of a language, English where there are none.
func wordsIn(language string) words { return words{Words: sentence.In(language)} }

// inEnglish are the texts for a terminal, with the words of a publication.
func (p *Publication) inEnglish() words {
	w := wordsIn("en")
	w.labels = p
	return w
}

// note is a remark of a mechanism, a design or a method in the language of the page, and stays English where nobody knows it.
func (w words) note(text string) string {
	out, _ := w.Note(text)
	return out
}

func (w words) t(name string, blanks ...any) string { return w.T(name, blanks...) }

// Label returns the word of readers for a release, a column or a unit.
func (p *Publication) Label(name string) string {
	if p == nil {
		return name
	}
	return cmp.Or(p.Labels[name], name)
}

// ValueLabel returns the word of readers for a value of a column.
func (p *Publication) ValueLabel(column, value string) string {
	if p == nil {
		return value
	}
	return cmp.Or(p.Labels[column+" = "+value], p.Labels[value], value)
}

// columns names some columns in a row.
func (w words) columns(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = w.labels.Label(name)
	}
	return strings.Join(out, ", ")
}

// labelled is a table with the words for its values. The column group holds those of the one column that a release is by.
func (w words) labelled(e Release, t Table) Table {
	if (w.labels == nil || len(w.labels.Labels) == 0) && !w.Foreign() {
		return t
	}
	var params struct {
		By any `json:"by"`
	}
	_ = json.Unmarshal(e.Params, &params) // else it is by nothing
	out := Table{Columns: slices.Clone(t.Columns)}
	for i, c := range out.Columns {
		column := c.Name
		if by, one := params.By.(string); one && column == "group" {
			column = by
		}
		if c.Texts == nil || slices.Contains(ownTexts, c.Name) {
			continue
		}
		out.Columns[i].Texts = make([]string, len(c.Texts))
		for k, text := range c.Texts {
			out.Columns[i].Texts[k] = w.labels.ValueLabel(column, text)
			if e.countsUnits() { // the words of the program
				out.Columns[i].Texts[k] = w.note(text)
			}
		}
	}
	return out
}

// ownTexts are the columns whose texts are words of the release itself.
var ownTexts = []string{"flag", "status", "kind", "table", "period"}
