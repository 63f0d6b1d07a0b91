package report

import (
	"fmt"
	"html/template"
	"strings"
)

// The most tables of a release by marginals that have a picture, of one and of two columns.
const (
	mostLines = 3
	mostHeats = 4
)

// marginal is one table of a release that holds many.
type marginal struct {
	columns []string
	rows    []int
}

// tables are the tables of one and of two columns, in the order of the release, and how many
// there are in all. It keeps the rows of those alone: a release may have millions.
func (r *result) tables() (lines, heats []marginal, all int) {
	names := r.columns["table"].Texts
	seen := map[string]*marginal{}
	var order []string
	var m *marginal
	for i, name := range names {
		ok := i > 0 && name == names[i-1]
		if !ok {
			m, ok = seen[name]
		}
		if !ok {
			all++
			columns := strings.Split(name, ",")
			if len(columns) <= 2 && name != "total" {
				m = &marginal{columns: columns}
				order = append(order, name)
			}
			seen[name] = m
		}
		if m != nil {
			m.rows = append(m.rows, i)
		}
	}
	for _, name := range order {
		switch m := seen[name]; {
		case len(m.rows) < 2 || len(m.rows) > mostHeatCells:
		case len(m.columns) == 1 && len(lines) < mostLines:
			lines = append(lines, *m)
		case len(m.columns) == 2 && len(heats) < mostHeats:
			heats = append(heats, *m)
		}
	}
	return lines, heats, all
}

// marginals draws tables of one column as rows and those of two as heat maps.
func (r *result) marginals(id string) {
	lines, heats, all := r.tables()
	var noise []float64
	for k, m := range append(lines, heats...) {
		one := result{w: r.w, release: r.release, table: r.table.picked(m)}
		one.index()
		bars, l := one.bars()
		title := r.w.t("result.title", r.release.Name) + ", " + strings.Join(m.columns, " × ")
		place := fmt.Sprintf("%s-m%d", id, k)
		if len(m.columns) == 1 {
			one.rows(place, title, bars, l, []Column{one.columns[m.columns[0]]})
		} else {
			one.heat(place, title, one.columns[m.columns[0]].Texts, one.columns[m.columns[1]].Texts, bars)
			noise = append(noise, one.typicalNoise(bars))
		}
		r.pictures = append(r.pictures,
			template.HTML(`<p class="what">`+template.HTMLEscapeString(strings.Join(m.columns, " × "))+`</p>`)) //nolint:gosec // escaped
		r.pictures = append(r.pictures, one.pictures...)
		r.shares = append(r.shares, one.shares...)
		for _, text := range one.under {
			r.under = appendNew(r.under, text)
		}
	}
	if len(heats) > 0 {
		r.under = append(r.under, r.w.t("result.heat"))
		if x := middle(noise); x > 0 {
			r.under = append(r.under, r.w.t("result.heat_noise", Rounded(x, x)))
		}
	}
	if shown := len(lines) + len(heats); shown < all {
		r.under = append(r.under, r.w.t("result.tables", shown, grouped(int64(all))))
	}
}

// picked is a table of some rows, whose values have the names of their columns.
func (t Table) picked(m marginal) Table {
	var out Table
	for _, c := range t.Columns {
		name := c.Name
		for k, column := range m.columns {
			if c.Name == fmt.Sprintf("value%d", k+1) {
				name = column
			}
		}
		if name == c.Name && c.Texts != nil {
			continue // the name of the table, and values of other tables
		}
		one := c.Pick(m.rows)
		one.Name = name
		out.Columns = append(out.Columns, one)
	}
	return out
}
