package report

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// Languages are the languages that a page can be written in. Each is one file of texts.
var Languages = []string{"en", "de"}

//go:embed texts/*.yaml
var textFiles embed.FS

// words are the texts of a page in one language, by name.
type words struct {
	language string
	texts    map[string]string
	labels   *Publication // nil where the job has no words of its own
}

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
	if w.labels == nil || len(w.labels.Labels) == 0 {
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
		if c.Text == nil || slices.Contains(ownTexts, c.Name) {
			continue
		}
		out.Columns[i].Text = make([]string, len(c.Text))
		for k, text := range c.Text {
			out.Columns[i].Text[k] = w.labels.ValueLabel(column, text)
		}
	}
	return out
}

// ownTexts are the columns whose texts are words of the release itself.
var ownTexts = []string{"flag", "status", "kind", "table", "period"}

var catalogues = sync.OnceValue(func() map[string]words {
	out := map[string]words{}
	for _, name := range Languages {
		b, err := textFiles.ReadFile("texts/" + name + ".yaml")
		w := words{language: name}
		if err == nil {
			err = yaml.Unmarshal(b, &w.texts)
		}
		if err != nil {
			panic(fmt.Sprintf("the texts of %s: %v", name, err)) // they are embedded, and a test reads them
		}
		out[name] = w
	}
	return out
})

// wordsIn are the texts of a language, English where there are none.
func wordsIn(language string) words {
	if w, ok := catalogues()[language]; ok {
		return w
	}
	return catalogues()["en"]
}

// t is a text with its blanks filled in.
func (w words) t(name string, blanks ...any) string {
	text, ok := w.texts[name]
	if !ok {
		return name // a test finds it
	}
	if len(blanks) == 0 {
		return text
	}
	return fmt.Sprintf(text, blanks...)
}

// or is the text of that name, or another one where there is none.
func (w words) or(name, other string) string {
	if text, ok := w.texts[name]; ok {
		return text
	}
	return other
}

// foreign reports whether texts of a report, which are English, stand in a page of
// another language.
func (w words) foreign() bool { return w.language != "en" }
