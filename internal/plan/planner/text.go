package planner

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// cell is a number for a table, a dash where there is none.
func cell(x float64) string {
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf("%.4g", x)
}

// count is a size for a table.
func count(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

func percent(x float64) string {
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g %%", 100*x)
}

func budget(p privacy.Point) string {
	if p.Delta == 0 {
		return fmt.Sprintf("ε %.4g", p.Epsilon)
	}
	return fmt.Sprintf("ε %.4g, δ %.3g", p.Epsilon, p.Delta)
}

// answer is an answer as people read it, on a terminal and on a page.
type answer struct {
	title       string
	assumptions []string
	simulated   int // the repetitions
	before      string
	header      []string
	rows        [][]string
	leave       []string // columns for which a terminal has no room
	after       []string
	figure      template.HTML // "" for none
	alt         string        // the words of the figure
}

// texts makes parts of sentences. A terminal breaks their lines.
func texts(all ...string) (out []document.Part) {
	for _, text := range all {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			out = append(out, document.Part{Text: text})
		}
	}
	return out
}

// parts lists the sentences and the table, without the columns to leave out.
func (a *answer) parts(leave ...string) []document.Part {
	var out []document.Part
	for _, text := range a.assumptions {
		out = append(out, texts("assumed: "+text)...)
	}
	if a.simulated > 0 {
		out = append(out, texts(fmt.Sprintf("simulated: %d repetitions, %d populations", a.simulated, populations))...)
	}
	out = append(out, texts(a.before)...)
	if len(a.rows) > 0 {
		out = append(out, document.Part{Table: filled(a.header, a.rows, leave...)})
	}
	return append(out, texts(a.after...)...)
}

// write prints the answer.
func (a *answer) write(w io.Writer) error {
	return document.WriteText(w, document.Section{Parts: append(texts(a.title), a.parts(a.leave...)...)})
}

// page returns the answer as an HTML document that loads nothing.
func (a *answer) page() ([]byte, error) {
	parts := append(a.parts(), texts("No private table was read for this page")...)
	if a.figure != "" {
		parts = append(parts, document.Part{Figures: []document.Figure{{Picture: a.figure, Caption: a.alt}}})
	}
	var b bytes.Buffer
	err := report.WriteSections(&b, a.title, []document.Section{{Parts: parts}})
	return b.Bytes(), err
}

// filled is a table of the columns that are not left out and have something in some row.
func filled(header []string, rows [][]string, leave ...string) *document.Table {
	t := &document.Table{Name: "The numbers", Rows: make([][]document.Cell, len(rows))}
	for i, h := range header {
		if slices.Contains(leave, h) || !slices.ContainsFunc(rows, func(r []string) bool { return r[i] != "–" && r[i] != "" }) {
			continue
		}
		words := h == "best" || h == "design" || h == "note"
		t.Head = append(t.Head, document.Head{Name: h, Number: !words, Wide: h == "note"})
		for k, r := range rows {
			t.Rows[k] = append(t.Rows[k], document.Cell{Text: r[i], Number: !words, Strong: h == "best"})
		}
	}
	return t
}

// mark is the sign of the best row.
func mark(best bool) string {
	if best {
		return "*"
	}
	return ""
}

// answer is the sweep for people.
func (w *Sweep) answer() *answer {
	a := &answer{title: fmt.Sprintf("job %s, release %s (%s): sweep over %s", w.Job, w.Release, w.Mechanism, w.Axis),
		assumptions: w.Assumptions, simulated: w.Simulated,
		header: []string{"best", "design", "rate", "n", "ε", "δ", "εₙ", "δₙ", "noise", "sampling", "error", "relative",
			"full table"},
		leave: []string{"δₙ"}, // δ/q, the rate's inverse times δ
		alt: "The standard error of the release and its parts, noise and sampling, along the " + string(w.Axis) +
			"; the table has the numbers.",
	}
	if i := slices.IndexFunc(w.Points, func(p Point) bool { return p.Refused == "" }); w.Axis == Epsilon {
		a.leave = append(a.leave, "design", "rate", "n", "δ")
	} else if i >= 0 {
		a.leave = append(a.leave, "ε", "δ", "full table")
		a.before = fmt.Sprintf("at %s on the population, where the full table's error is %s", budget(w.Points[i].Target),
			cell(w.Points[i].Full.Total))
	}
	for i, p := range w.Points {
		size := p.Size
		if w.Axis == Size {
			size = int64(p.X)
		}
		a.rows = append(a.rows, []string{mark(i == w.Best), p.Design, percent(p.Rate), count(size), cell(p.Target.Epsilon), cell(p.Target.Delta),
			cell(p.Sample.Epsilon), cell(p.Sample.Delta), cell(p.NoiseSD), cell(p.SamplingSD), cell(p.Total), percent(p.Relative),
			cell(p.Full.Total)})
	}
	// The reasons for what the table leaves open, each once.
	seen := map[string]bool{}
	for _, p := range w.Points {
		for _, n := range []string{p.Refused, p.Unknown} {
			if n != "" && !seen[n] {
				seen[n] = true
				a.after = append(a.after, fmt.Sprintf("%s %.4g: %s", w.Axis, p.X, n))
			}
		}
	}
	if w.Best >= 0 {
		a.after = append(a.after, fmt.Sprintf("best: %s %.4g, error %.4g", w.Axis, w.Points[w.Best].X, w.Points[w.Best].Total))
	}
	a.after = append(a.after, fmt.Sprintf("does sampling help? %s: %s", w.Verdict.Kind, w.Verdict.Reason))
	a.figure = w.figure(a.title, a.alt)
	return a
}

// WriteText prints the sweep for a person.
func (w *Sweep) WriteText(out io.Writer) error { return w.answer().write(out) }

// HTML is the sweep as a page.
func (w *Sweep) HTML() ([]byte, error) { return w.answer().page() }
