package pipeline

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/run/look"
	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/internal/say/sentence"
)

// Looked is a private look at the tables of a job, for the one person who may see it.
type Looked struct{ *look.Look }

// WriteText prints the look.
func (l Looked) WriteText(w io.Writer) error {
	f := findings{Words: sentence.In("en")}
	f.say("", f.T("look.confidential", l.Warning))
	if len(l.Failures) == 0 {
		f.say("", f.T("look.fine", l.Job.Name))
	} else {
		f.say("", f.T("look.fails", l.Job.Name))
	}
	for _, x := range l.Failures {
		f.say("", "  "+x.Code+": "+x.Why)
	}
	sections := []document.Section{{Parts: f.parts}}
	f.parts = nil
	f.add("look.ledger", l.Record)
	f.add("look.rows", fmt.Sprintf("%d (%s)", l.Rows, l.Declared))
	f.table(l.Look)
	sections = append(sections, document.Section{Title: f.T("look.title"), Parts: f.parts})
	for _, t := range l.Tables {
		f.parts = nil
		f.add("look.rows", fmt.Sprint(t.Rows))
		f.table(&t.Look)
		for _, name := range slices.Sorted(maps.Keys(t.Without)) {
			f.say(f.T("look.without", name), f.T("look.without_rows", t.Without[name], name))
		}
		sections = append(sections, document.Section{Title: f.T("look.table", t.Name), Parts: f.parts})
	}
	return document.WriteText(w, sections...)
}

// findings collects what a look found.
type findings struct {
	*sentence.Words
	parts []document.Part
}

func (f *findings) say(label, text string) {
	f.parts = append(f.parts, document.Part{Label: label, Text: text})
}
func (f *findings) add(label, text string) { f.say(f.T(label), text) }

// table adds the findings in one table.
func (f *findings) table(l *look.Look) {
	for i := range l.Columns {
		f.column(&l.Columns[i])
	}
	if len(l.Others) > 0 {
		f.add("look.others", strings.Join(l.Others, ", "))
	}
	if u := l.UnitRows; u != nil {
		text := f.T("look.unit_rows", u.Units, fmt.Sprintf("%.3g", u.Mean), u.Largest)
		for _, q := range u.Share {
			if q.Share == 0.5 || q.Share == 0.99 {
				text += f.T("look.unit_share", fmt.Sprint(100*q.Share), q.Rows)
			}
		}
		f.add("look.units", text+f.T("look.unit_null", u.NullRows))
		for _, c := range l.Dropped {
			f.say(f.T("look.cap", c.Release), f.dropped(c))
		}
	}
	if u := l.Units; u != nil {
		f.add("look.units", f.T("look.unit_repeated", u.Missing, u.Repeated))
	}
	for _, d := range l.Draws {
		label := f.T("look.draw", d.Name)
		f.say(label, f.T("look.frame", d.Units, d.Outside))
		for _, text := range slices.Concat(d.Strata, d.Differ) {
			f.say(label, text)
		}
	}
	for i := range l.Releases {
		r := &l.Releases[i]
		label := f.T("look.release", r.Release)
		if g := r.Groups; g != nil {
			f.say(label, f.T("look.groups", g.Held, g.Possible, strings.Join(g.By, ", "), g.Smallest))
		}
		f.say(label, f.counted(r))
	}
}

// column adds the findings in a column.
func (f *findings) column(c *look.LookColumn) {
	f.say(f.T("look.column", c.Name), c.Declared)
	f.say("  "+f.T("look.stored"), c.Stored)
	for _, k := range []struct {
		what string
		n    int64
	}{{f.T("look.missing"), c.Missing}, {f.T("look.unread", string(c.Holds)), c.Unread}, {f.T("look.below"), c.Below},
		{f.T("look.above"), c.Above}, {f.T("look.outside"), c.Outside}} {
		if k.n > 0 {
			f.say("  "+k.what, f.T("look.in_rows", k.n))
		}
	}
	for _, value := range slices.Sorted(maps.Keys(c.Foreign)) {
		f.say("  "+f.T("look.foreign"), f.T("look.foreign_rows", fmt.Sprintf("%q", value), c.Foreign[value]))
	}
}

// counted returns the sentence on the rows that count in a release.
func (f *findings) counted(r *look.LookRelease) string {
	counts := []any{r.Rows - r.Filtered - r.Left, r.Rows}
	text := f.T("look.reads", counts...)
	if r.Units {
		text = f.T("look.reads_units", counts...)
	}
	var of []string
	if r.Filtered > 0 {
		of = append(of, f.T("look.filtered", r.Filtered))
	}
	if r.Left > 0 {
		of = append(of, f.T("look.left", r.Left))
	}
	if len(of) > 0 {
		text += ": " + strings.Join(of, ", ")
	}
	if r.Clipped > 0 {
		text += f.T("look.clipped", r.Clipped)
	}
	return text
}

// dropped returns the sentence on the rows that a cap leaves out of a release.
func (f *findings) dropped(c run.CapDrop) string {
	text := f.T("look.cap_rows", c.Dropped, c.Rows)
	if c.Dropped > 0 {
		text += f.T("look.cap_loss", fmt.Sprintf("%.3g", 100*float64(c.Dropped)/float64(c.Rows)))
	}
	return text
}
