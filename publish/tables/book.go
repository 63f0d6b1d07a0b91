package tables

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/say/sentence"
	"github.com/dprelease/dprelease/report"
)

// File is one file of a publication.
type File struct {
	Name    string
	Content []byte
}

// book is a publication while its files are made.
type book struct {
	report *report.Report
	rules  Rules
	in     *sentence.Words
	words  *report.Publication // not nil
	tables []table
}

// t is a text in the language of the publication, with its blanks filled in.
func (b *book) t(name string, blanks ...any) string { return b.in.T("table."+name, blanks...) }

// The names of the files that are not about one release. No release begins with an underscore.
const (
	listName       = "_tables"
	dictionaryName = "_dictionary"
)

// Make returns the files of a publication. Left are the releases whose values the caller does not have.
func Make(r *report.Report, values map[string]report.Table, rules Rules) (files []File, left []string, err error) {
	b := &book{report: r, rules: rules, words: cmp.Or(r.Publication, &report.Publication{})}
	b.in = sentence.In(b.words.Language)
	for _, e := range r.Releases {
		if values[e.Name].Columns == nil {
			left = append(left, e.Name)
			continue
		}
		b.tables = append(b.tables, b.release(e, values[e.Name]))
	}
	sheets := append([]table{b.list()}, append(b.tables, b.dictionary())...)
	nameSheets(sheets)
	for _, t := range sheets {
		text, err := t.csv()
		if err != nil {
			return nil, nil, err
		}
		about, err := b.csvw(t)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, File{t.name + ".csv", text}, File{t.name + ".csv-metadata.json", about})
	}
	workbook, err := xlsx(sheets)
	if err != nil {
		return nil, nil, err
	}
	files = append(files, File{"tables.xlsx", workbook})
	record, err := b.dcat(files)
	return append(files, File{"dcat.jsonld", record}), left, err
}

// list makes the table of the tables.
func (b *book) list() table {
	t := table{name: listName, sheet: b.t("tables"), title: b.title()}
	for _, c := range []struct{ name, kind string }{{"table", "string"}, {"file", "string"}, {"title", "string"}, {"mechanism", "string"},
		{"from", "string"}, {"filter", "string"},
		{"epsilon", "float64"}, {"delta", "float64"}, {"unit", "string"}, {"rows", "int64"}, {"limits", "string"}} {
		t.columns = append(t.columns, column{name: c.name, doc: b.t(c.name), kind: c.kind})
	}
	for _, e := range b.report.Releases {
		rows := ""
		if e.Limits != nil && e.Limits.Cap != nil {
			rows = strconv.FormatInt(e.Limits.Cap.Rows*max(e.Limits.Cap.Groups, 1), 10)
		}
		file := e.Name + ".csv"
		if !b.has(e.Name) {
			file = ""
		}
		t.rows = append(t.rows, []string{e.Name, file, b.about(e), e.Mechanism.Name + " " + e.Mechanism.Version, e.From, e.Where + e.Having,
			report.Spent(e.Cost().Epsilon), report.Spent(e.Cost().Delta), b.report.Dataset.One(), rows, strings.Join(b.report.LimitNotes(e), ". ")})
	}
	t.notes = append([]string{b.report.Promise()}, b.source()...)
	return t
}

func (b *book) has(name string) bool {
	for _, t := range b.tables {
		if t.name == name {
			return true
		}
	}
	return false
}

// title returns the title of the publication, and the name of the job where it has none.
func (b *book) title() string {
	if p := b.report.Publication; p != nil && p.Title != "" {
		return p.Title
	}
	return b.report.Job.Name
}

// dictionary makes the table of all columns: those that are published, and those of the private table that they are computed from.
func (b *book) dictionary() table {
	t := table{name: dictionaryName, sheet: b.t("dictionary"), title: b.title()}
	for _, c := range []struct{ name, kind string }{{"table", "string"}, {"column", "string"}, {"role", "string"}, {"type", "string"},
		{"meaning", "string"},
		{"lower", "float64"}, {"upper", "float64"}, {"clipping", "string"}, {"missing", "string"}, {"outside", "string"}} {
		t.columns = append(t.columns, column{name: c.name, doc: b.t(c.name), kind: c.kind})
	}
	for _, of := range b.tables {
		for _, c := range of.columns {
			t.rows = append(t.rows, []string{of.name, c.name, "published", c.kind, c.doc, "", "", "", "", ""})
		}
		for _, e := range b.report.Releases {
			if e.Name != of.name || e.Limits == nil {
				continue
			}
			for _, c := range e.Limits.Columns {
				row := []string{of.name, c.Column, "source", "", "", "", "", "", c.Missing, c.Outside}
				if c.Lower != nil && c.Upper != nil {
					row[3], row[5], row[6], row[7] = "float64", number(*c.Lower), number(*c.Upper), "public"
					if c.Found {
						row[7] = "private"
					}
				} else {
					row[3] = "string"
				}
				t.rows = append(t.rows, row)
			}
		}
	}
	t.notes = append([]string{b.report.Promise()}, b.source()...)
	return t
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// csv writes a table by RFC 4180, in UTF-8 without a mark. No text is a formula (report.Cell).
func (t table) csv() ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	line := make([]string, len(t.columns))
	for k, c := range t.columns {
		line[k] = report.Cell(c.name)
	}
	if err := w.Write(line); err != nil {
		return nil, err
	}
	for _, row := range t.rows {
		for k, c := range t.columns {
			if line[k] = row[k]; !c.number() {
				line[k] = report.Cell(row[k])
			}
		}
		if err := w.Write(line); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

// nameSheets gives each table a name of its own that Excel takes: at most 31 letters, whatever their case.
func nameSheets(all []table) {
	used := map[string]bool{}
	for i := range all {
		name := all[i].sheet
		if name == "" {
			name = all[i].name
		}
		const most = 31
		short := []rune(name)
		short = short[:min(len(short), most)]
		for n := 2; used[strings.ToLower(string(short))]; n++ {
			end := []rune(" " + strconv.Itoa(n))
			short = append([]rune(name)[:min(len([]rune(name)), most-len(end))], end...)
		}
		used[strings.ToLower(string(short))] = true
		all[i].sheet = string(short)
	}
}
