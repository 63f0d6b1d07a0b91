package tables

import (
	"slices"
	"strings"

	"github.com/dprelease/dprelease/report"
)

// table is one table as it is published, in every format.
type table struct {
	name    string // of its files
	sheet   string // the name of its sheet
	title   string
	columns []column
	rows    [][]string
	notes   []string
}

// column is one column of a table.
type column struct {
	name, doc string
	kind      string              // string, int64 or float64
	label     string              // what readers call it, "" for its name
	words     *report.Publication // has what readers call its values
}

// number reports whether a column holds numbers.
func (c column) number() bool { return c.kind != "string" }

// release makes the table of one release.
func (b *book) release(e report.Release, values report.Table) table {
	t := table{name: e.Name, title: b.about(e)}
	for _, f := range e.Fields {
		doc, _ := b.in.Note(f.Doc)
		t.columns = append(t.columns, column{name: f.Name, label: b.words.Label(f.Name), doc: doc, kind: f.Type, words: b.words})
	}
	rows, alone := e.Rows(values)
	judged := slices.ContainsFunc(values.Columns, func(c report.Column) bool { return c.Name == "estimate" })
	marked := slices.IndexFunc(e.Fields, func(f report.Field) bool { return f.Name != "" && f.Name == e.StatusColumn() })
	if judged && marked >= 0 {
		t.columns[marked].doc = b.t("status") + ". " + t.columns[marked].doc
	} else if judged {
		t.columns = append(t.columns, column{name: t.free("status"), doc: b.t("status"), kind: "string"})
	}
	for _, row := range rows {
		mark := b.rules.mark(row)
		if mark == Suppressed && judged {
			for k, c := range values.Columns {
				if report.Noisy(c) {
					row.Cells[k] = ""
				}
			}
		}
		if judged && marked >= 0 {
			row.Cells[marked] = strings.TrimSpace(mark + " " + row.Cells[marked])
		} else if judged {
			row.Cells = append(row.Cells, mark)
		}
		t.rows = append(t.rows, row.Cells)
	}
	if judged {
		known := slices.ContainsFunc(rows, func(r report.Row) bool { return r.Error > 0 })
		t.notes = append(t.notes, b.legend(known, alone)...)
	}
	for _, text := range b.report.LimitNotes(e) {
		t.notes = append(t.notes, text+".")
	}
	t.notes = append(append(t.notes, b.words.Notes...), b.t("rounded"), b.report.Promise())
	t.notes = append(t.notes, b.source()...)
	return t
}

// free returns a name of a column that the table does not have yet.
func (t table) free(name string) string {
	for slices.ContainsFunc(t.columns, func(c column) bool { return c.name == name }) {
		name += "_"
	}
	return name
}

// about returns the title of a release.
func (b *book) about(e report.Release) string {
	text := b.words.Label(e.Name)
	if len(e.By) > 0 {
		var by []string
		for _, name := range e.By {
			by = append(by, b.words.Label(name))
		}
		text += " " + b.in.T("result.by", strings.Join(by, ", "))
	}
	if p := b.report.Publication; p != nil && p.Period != "" {
		text += ", " + p.Period
	}
	return text
}

// legend explains the marks. Where no error is public, nothing is marked by it.
func (b *book) legend(known, alone bool) []string {
	measure := b.t("error")
	if alone {
		measure = b.t("error_alone")
	}
	out := []string{b.t("suppressed")}
	switch {
	case !known:
		return append(out, b.t("unknown"))
	case b.rules.Blank > 0:
		out[0] = b.t("blank", percent(b.rules.Blank), measure)
	}
	if b.rules.Flag > 0 {
		out = append([]string{b.t("unreliable", percent(b.rules.Flag), measure)}, out...)
	}
	return out
}

// source returns sentences with the publisher and the contact.
func (b *book) source() []string {
	p := b.report.Publication
	if p == nil {
		return nil
	}
	var out []string
	if p.Publisher != "" {
		out = append(out, b.t("source", p.Publisher))
	}
	if p.Contact != "" {
		out = append(out, b.in.T("page.contact", p.Contact)+".")
	}
	return out
}
