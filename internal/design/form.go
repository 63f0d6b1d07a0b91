package design

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/report"
)

// control is one thing on the page that a person can change. Its name says what it changes, to Action.
type control struct {
	ID, Name, Kind string // Kind: text, choice, radio, range, lines
	Label, Help    string
	Value          string
	Options        []choice
	Problem        string
	Hints          string // the id of a list of words that may be typed
	Foreign        bool   // Help is English, whatever the page is
}

// choice is one value of a control.
type choice struct {
	Value, Label, Help string
	Group              string // the heading under which it stands, with those before and after it that have the same
	Foreign            bool
}

// group holds the choices of a control under one heading.
type group struct {
	Label   string
	Options []choice
}

// Groups returns the choices of a control by their headings.
func (c control) Groups() (out []group) {
	for _, o := range c.Options {
		if len(out) == 0 || out[len(out)-1].Label != o.Group {
			out = append(out, group{Label: o.Group})
		}
		last := &out[len(out)-1]
		last.Options = append(last.Options, o)
	}
	return out
}

// form is everything on the page but the text of the job.
type form struct {
	*words
	Header        header
	Table, About  []control
	File          []control // how a CSV file is written
	FileOpen      bool
	Unit          []control
	Columns       []column
	Tables        []tableForm
	Add           control
	Publication   []control
	Limit         []control
	Problems      job.Problems
	Priced        bool
	Spent, Chance string
	Caution       string
	Left          []string
	Names         []string // of columns, for the words that may be typed
	Shared        bool
}

// column is one column of the table, and what the job says of it.
type column struct {
	Name, What string
	Reason     string // why it cannot be used
	Use        control
	Facts      []control
	Assumed    []control
	Open       bool
}

// tableForm is one release, as an office names a table.
type tableForm struct {
	Name, Title string
	Index       int
	What        []control
	More        []control
	Exact       []control
	Noise       string
	Draw        string // noise and draw together, "" where that is the same or not known
	Cells       string
	Label       string
	Grade       string
	Note        string
	Study       bool
}

// maker makes the controls of a form.
type maker struct {
	*words
	root     *yaml.Node
	problems map[string]string
}

// at is the path of a key as problems name it.
func at(path ...string) string {
	out := ""
	for _, p := range path {
		if i, err := strconv.Atoi(p); err == nil && strings.HasSuffix(out, "releases") {
			out = job.Item(out, i)
		} else {
			out = job.Key(out, p)
		}
	}
	return out
}

func (m *maker) control(kind, verb, label string, path ...string) control {
	name := pointer(verb, path...)
	id := fnv.New64a()
	id.Write([]byte(name))
	return control{ID: fmt.Sprintf("c%x", id.Sum64()), Name: name, Kind: kind, Label: m.T(label), Help: m.Or(label+".help", ""),
		Value: text(m.root, path...), Problem: m.problems[at(path...)]}
}

// lines is the control of a list, as a line with commas.
func (m *maker) lines(label string, path ...string) control {
	c := m.control("text", "list", label, path...)
	all := texts(find(m.root, path...))
	for i, t := range all {
		if strings.ContainsAny(t, ",\"") {
			all[i] = `"` + strings.ReplaceAll(t, `"`, `""`) + `"`
		}
	}
	c.Value = strings.Join(all, ", ")
	return c
}

func (m *maker) choices(c control, value string, options ...choice) control {
	c.Value, c.Options = value, options
	if !slices.ContainsFunc(options, func(o choice) bool { return o.Value == value }) {
		c.Options = append([]choice{{Value: value, Label: value}}, options...) // what the text says stays visible
		if value == "" {
			c.Options[0].Label = m.T("choose")
		}
	}
	return c
}

// options are choices with texts of the page.
func (m *maker) options(prefix string, values ...string) (out []choice) {
	for _, v := range values {
		name := prefix + "." + v
		if v == "" {
			name = prefix + ".none"
		}
		out = append(out, choice{Value: v, Label: m.T(name), Help: m.Or(name+".help", "")})
	}
	return out
}

// form makes the page from the text of a job and what was found out about it.
func (w *words) form(root *yaml.Node, h header, f found) *form {
	f.problems = append(f.problems, h.contradicts(root)...)
	m := &maker{words: w, root: root, problems: map[string]string{}}
	for _, p := range f.problems {
		if m.problems[p.Path] == "" {
			m.problems[p.Path] = strings.TrimPrefix(p.Text(), p.Path+": ")
		}
	}
	out := &form{words: w, Header: h, Problems: f.problems}
	for _, c := range h.Columns {
		out.Names = append(out.Names, c.Name)
	}
	for _, name := range keys(find(root, "dataset", "columns")) {
		if !slices.Contains(out.Names, name) {
			out.Names = append(out.Names, name)
		}
	}
	m.about(out)
	m.columns(out, h)
	m.tables(out, f)
	m.price(out, f)
	return out
}

// about makes the first step: the table, and whose privacy it is about.
func (m *maker) about(out *form) {
	out.Table = []control{m.control("text", "text", "source", "dataset", "source", "path")}
	m.file(out)
	relation := m.control("radio", "set", "relation", "dataset", "relation")
	relation.Options = m.options("relation", "add-remove", "replace-one")
	out.About = append(out.About, m.control("text", "text", "id", "dataset", "id"), relation)
	switch relation.Value {
	case "replace-one":
		out.About = append(out.About, m.control("text", "set", "size", "dataset", "size"))
	case "add-remove":
		out.About = append(out.About, m.control("text", "set", "at_least", "dataset", "at_least"))
	}
	n := find(m.root, "dataset", "unit")
	column := m.control("choice", "unit", "unit")
	column.Problem = m.problems["dataset.unit"]
	options := m.options("unit", "")
	for _, name := range out.Names {
		options = append(options, choice{Value: name, Label: name})
	}
	out.Unit = append(out.Unit, m.choices(column, text(n, "column"), options...))
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	out.Unit = append(out.Unit, m.control("text", "text", "unit.name", "dataset", "unit", "name"))
	several := m.control("radio", "rows", "rows")
	several.Options = m.options("rows", "one", "cap", "fold")
	switch {
	case find(m.root, "dataset", "cap") != nil:
		several.Value = "cap"
	case find(m.root, "dataset", "fold") != nil:
		several.Value = "fold"
	case text(n, "rows") == "1":
		several.Value = "one"
	}
	if out.Unit = append(out.Unit, several); several.Value == "cap" {
		out.Unit = append(out.Unit, m.control("text", "set", "cap.groups", "dataset", "cap", "groups"),
			m.control("text", "set", "cap.rows", "dataset", "cap", "rows"))
	}
}

// file makes how a CSV file writes its fields, numbers and days.
func (m *maker) file(out *form) {
	if path := text(m.root, "dataset", "source", "path"); path == "" || named(path) {
		return
	}
	for _, key := range []string{"delimiter", "decimal", "thousands", "dates", "encoding"} {
		c := m.control("choice", "text", "file."+key, "dataset", "source", key)
		options := []choice{{Label: m.T("file." + key + ".none")}}
		words := language.Choices("dataset", "source", key)
		if key == "delimiter" {
			words = []string{";", "tab", "|"}
		}
		for _, word := range words {
			options = append(options, choice{Value: word, Label: m.Or("file."+key+"."+word, word)})
		}
		out.File = append(out.File, m.choices(c, c.Value, options...))
		out.FileOpen = out.FileOpen || c.Value != "" || c.Problem != ""
	}
}

// columns makes what is publicly known of each column.
func (m *maker) columns(out *form, h header) {
	folds := find(m.root, "dataset", "fold") != nil
	unit := text(m.root, "dataset", "unit", "column")
	for _, name := range out.Names {
		c := column{Name: name}
		if i := slices.IndexFunc(h.Columns, func(c table.Column) bool { return c.Name == name }); i >= 0 && h.Columns[i].Usable {
			c.What = m.Or("holds."+fmt.Sprint(h.Columns[i].Kind), "")
			if h.Columns[i].Text {
				c.What = ""
			}
		} else if i >= 0 {
			c.Reason = h.Columns[i].Reason
		}
		if name == unit {
			c.What = m.T("column.unit")
		}
		said := find(m.root, "dataset", "columns", name)
		use := m.control("choice", "use", "column.use", name)
		use.Label = m.T("column.use", name)
		value := ""
		switch {
		case said == nil:
		case find(said, "domain") != nil:
			value = "category"
		case find(said, "lower") != nil || find(said, "upper") != nil || find(said, "bounds") != nil:
			value = "number"
		default:
			value = text(said, "type")
		}
		if use.Problem = m.problems[at("dataset", "columns", name)]; said != nil && value == "" {
			value = "?"
		}
		c.Use = m.choices(use, value, m.options("use", "", "number", "category", "date", "timestamp", "bool", "text")...)
		in := func(kind, verb, label, key string) control {
			return m.control(kind, verb, label, "dataset", "columns", name, key)
		}
		switch value {
		case "number":
			c.Facts = append(c.Facts, in("text", "set", "lower", "lower"), in("text", "set", "upper", "upper"))
			for _, key := range []string{"mean", "sd"} {
				c.Assumed = append(c.Assumed, m.control("text", "set", "assume."+key, "dataset", "columns", name, "assume", key))
			}
		case "category":
			c.Facts = append(c.Facts, m.lines("domain", "dataset", "columns", name, "domain"))
		}
		if value == "number" || value == "category" {
			missing := in("choice", "set", "missing", "missing")
			c.Facts = append(c.Facts, m.choices(missing, missing.Value, m.options("missing", "", "drop")...))
		}
		if value == "category" {
			outside := in("choice", "set", "outside", "outside")
			c.Facts = append(c.Facts, m.choices(outside, outside.Value, m.options("missing", "", "drop")...))
		}
		if folds && said != nil {
			fold := m.control("choice", "set", "fold", "dataset", "fold", name)
			c.Facts = append(c.Facts,
				m.choices(fold, fold.Value, m.options("fold", "", "sum", "mean", "min", "max", "count", "any", "all", "mode")...))
		}
		out.Columns = append(out.Columns, c)
	}
}

// tables makes the second step, and the numbers of the third that belong to one table.
func (m *maker) tables(out *form, f found) {
	n := find(m.root, "releases")
	if n == nil || n.Kind != yaml.SequenceNode {
		n = &yaml.Node{}
	}
	shared := find(m.root, "budget", "spend") != nil
	for i, r := range n.Content {
		nth := strconv.Itoa(i)
		mechanism := text(r, "mechanism")
		t := tableForm{Name: text(r, "name"), Index: i}
		if t.Title = t.Name; f.report != nil {
			t.Title = f.report.Publication.Label(t.Name)
		}
		statistic := m.control("choice", "kind", "statistic", nth)
		statistic.Problem = m.problems[job.Key(job.Item("releases", i), "mechanism")]
		t.What = append(t.What, m.control("text", "text", "name", "releases", nth, "name"), m.choices(statistic, mechanism, m.statistics()...))
		m.params(&t, mechanism, nth)
		by := texts(find(r, "by"))
		for k := range min(len(by)+1, max(2, len(by))) {
			label := "by.rows"
			if k > 0 {
				label = "by.columns"
			}
			c := m.control("choice", "by", label, nth, strconv.Itoa(k))
			value := ""
			if k < len(by) {
				value = by[k]
			}
			if c.Problem = m.problems[job.Key(job.Item("releases", i), "by")]; k > 0 {
				c.Problem = ""
			}
			options := m.options("by", "")
			for _, name := range out.Names {
				if find(m.root, "dataset", "columns", name, "domain") != nil {
					options = append(options, choice{Value: name, Label: name})
				}
			}
			t.What = append(t.What, m.choices(c, value, options...))
		}
		where := m.control("text", "text", "where", "releases", nth, "where")
		where.Hints = "names"
		t.What = append(append(t.What, where), m.period(nth)...)
		if samples := keys(find(m.root, "samples")); len(samples) > 0 {
			from := m.control("choice", "text", "from", "releases", nth, "from")
			options := m.options("from", "")
			for _, s := range samples {
				options = append(options, choice{Value: s, Label: s})
			}
			t.What = append(t.What, m.choices(from, from.Value, options...))
		}
		switch {
		case shared && find(r, "guarantee") == nil:
			t.Exact = append(t.Exact, m.control("text", "set", "weight", "releases", nth, "weight"))
		case find(r, "guarantee", "rho") != nil:
			t.Exact = m.amount("rho", "releases", nth, "guarantee", "rho")
		default:
			t.Exact = m.amount("epsilon", "releases", nth, "guarantee", "epsilon")
		}
		if t.Title == "" {
			t.Title = m.T("untitled", i+1)
		}
		m.exact(&t, f, i)
		out.Tables = append(out.Tables, t)
	}
	out.Add = m.choices(control{ID: "add", Name: "add", Kind: "choice", Label: m.T("add"), Help: m.T("add.help")}, "", m.statistics()...)
}

// amount makes a field and a slider for one amount.
func (m *maker) amount(label string, path ...string) []control {
	field := m.control("text", "set", label, path...)
	slide := m.control("range", "amount", label+".slide", path...)
	slide.Value, slide.Problem = strconv.Itoa(slider(field.Value)), ""
	return []control{field, slide}
}

// exact adds how exact a table would be.
func (m *maker) exact(t *tableForm, f found, i int) {
	if f.report == nil || i >= len(f.job.Releases) {
		return
	}
	k := slices.IndexFunc(f.report.Releases, func(r report.Release) bool { return r.Name == t.Name })
	if k < 0 {
		return
	}
	r, b := f.report.Releases[k], f.briefs[t.Name]
	t.Noise, t.Label, t.Grade, t.Study = b.Noise, b.Label, b.Grade, true
	if b.Draw != b.Noise {
		t.Draw = b.Draw
	}
	cells := 1
	for _, name := range r.By {
		if c, ok := f.job.Dataset.Column(name); ok && len(c.Domain) > 0 {
			cells *= len(c.Domain)
		}
	}
	if t.Cells = m.T("cells.one"); cells > 1 {
		t.Cells = m.T("cells.many", cells)
	}
	for _, e := range r.Expected {
		switch {
		case e.Note != "" && t.Note == "":
			t.Note = e.Note
		case e.Sampling != nil && e.Sampling.Assumed != nil && t.Note == "":
			t.Note = e.Sampling.Assumption
		}
	}
}

// price makes what the whole job costs, and what is left of the budget.
func (m *maker) price(out *form, f found) {
	out.Limit = m.amount("limit", "budget", "limit", "epsilon")
	if find(m.root, "budget", "limit", "rho") != nil {
		out.Limit = m.amount("limit.rho", "budget", "limit", "rho")
	}
	delta := m.control("text", "set", "delta", "budget", "limit", "delta")
	out.Limit = append(out.Limit, delta)
	if out.Shared = find(m.root, "budget", "spend") != nil; out.Shared {
		out.Limit = append(out.Limit, m.amount("spend", "budget", "spend", "epsilon")...)
	}
	for _, key := range []string{"title", "publisher", "period"} {
		out.Publication = append(out.Publication, m.control("text", "text", "publication."+key, "publication", key))
	}
	if f.report == nil {
		return
	}
	r := f.report
	out.Priced = true
	out.Spent = m.T("spent", report.Spent(r.Guarantee.Epsilon), report.Spent(r.Guarantee.Delta))
	if a := r.Guarantee.Attacker; a != nil {
		one := r.Dataset.One()
		if one == "row" {
			one = m.T("row")
		}
		out.Chance = a.Chance(m.Words, r.Guarantee.Relation, one, r.Dataset.Place())
		out.Caution = a.Caution(m.Words, one)
	}
	if b := r.Budget; b != nil {
		for _, x := range b.Amounts {
			switch name := m.Or("amount."+x.Unit, x.Unit); x.Limit {
			case "":
				out.Left = append(out.Left, m.T("left.open", name, x.Spent))
			case "0": // a budget without a δ has none left
			default:
				out.Left = append(out.Left, m.T("left", name, x.Left, x.Limit))
			}
		}
	}
}

// Described names the texts that say more about a control.
func (c control) Described() template.HTMLAttr {
	var ids []string
	if c.Help != "" {
		ids = append(ids, c.ID+"-help")
	}
	if c.Problem != "" {
		ids = append(ids, c.ID+"-problem")
	}
	if ids == nil {
		return ""
	}
	text := `aria-describedby="` + strings.Join(ids, " ") + `"`
	if c.Problem != "" {
		text += ` aria-invalid="true"`
	}
	return template.HTMLAttr(text) //nolint:gosec // ids hold letters, digits and dashes only
}

// with is a control and the words of its page, for the template.
type with struct {
	C control
	W *words
}

// With puts a control beside the words of the page.
func (f *form) With(c control) with { return with{c, f.words} }
