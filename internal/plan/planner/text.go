package planner

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dprelease/dprelease/privacy"
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

// WriteText prints the sweep for a person.
func (w *Sweep) WriteText(out io.Writer) error {
	b := bufio.NewWriter(out)
	fmt.Fprintf(b, "job %s, release %s (%s): sweep over %s\n", w.Job, w.Release, w.Mechanism, w.Axis)
	leave := []string{"δ on sample"} // δ/q, the rate's inverse times δ
	if w.Axis == Epsilon {
		leave = append(leave, "design", "rate", "n", "δ")
	} else if p := w.planned(); p != nil {
		leave = append(leave, "ε", "δ", "full table")
		paragraph(b, fmt.Sprintf("at %s on the population, where the full table's error is %s", budget(p.Target), cell(p.Full.Total)))
	}
	assumed(b, w.Assumptions, w.Simulated)
	table(b, w.header(), w.rows(), leave...)
	for _, n := range w.notes() {
		paragraph(b, n)
	}
	if w.Best >= 0 {
		fmt.Fprintf(b, "best: %s %.4g, error %.4g\n", w.Axis, w.Points[w.Best].X, w.Points[w.Best].Total)
	}
	paragraph(b, fmt.Sprintf("does sampling help? %s: %s", w.Verdict.Kind, w.Verdict.Reason))
	return b.Flush()
}

// planned is a point that has a plan.
func (w *Sweep) planned() *Point {
	for i := range w.Points {
		if w.Points[i].Refused == "" {
			return &w.Points[i]
		}
	}
	return nil
}

func budget(p privacy.Point) string {
	if p.Delta == 0 {
		return fmt.Sprintf("ε %.4g", p.Epsilon)
	}
	return fmt.Sprintf("ε %.4g, δ %.3g", p.Epsilon, p.Delta)
}

func assumed(b io.Writer, assumptions []string, repetitions int) {
	for _, a := range assumptions {
		paragraph(b, "assumed: "+a)
	}
	if repetitions > 0 {
		fmt.Fprintf(b, "simulated: %d repetitions, %d populations\n", repetitions, populations)
	}
}

// paragraph prints text on one line; the terminal breaks it.
func paragraph(out io.Writer, text string) {
	fmt.Fprintln(out, strings.Join(strings.Fields(text), " "))
}

// filled are the columns that are not left out and have something in some row.
func filled(header []string, rows [][]string, leave ...string) ([]string, [][]string) {
	var keep []int
	for i, h := range header {
		some := slices.ContainsFunc(rows, func(r []string) bool { return r[i] != "–" })
		if some && !slices.Contains(leave, h) {
			keep = append(keep, i)
		}
	}
	of := func(cells []string) []string {
		out := make([]string, len(keep))
		for k, i := range keep {
			out[k] = cells[i]
		}
		return out
	}
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = of(r)
	}
	return of(header), out
}

// table prints the filled columns.
func table(out io.Writer, header []string, rows [][]string, leave ...string) {
	short := map[string]string{"ε on sample": "ε_n", "efficiency": "eff.", "best": "*"}
	header, rows = filled(header, rows, leave...)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells []string) {
		for _, cell := range cells {
			if s, ok := short[cell]; ok {
				cell = s
			}
			fmt.Fprint(t, cell+"\t")
		}
		fmt.Fprintln(t)
	}
	line(header)
	for _, r := range rows {
		line(r)
	}
	t.Flush()
}

func (w *Sweep) header() []string {
	return []string{"", "design", "rate", "n", "ε", "δ", "ε on sample", "δ on sample", "noise", "sampling", "error", "relative", "full table"}
}

func (w *Sweep) rows() [][]string {
	var out [][]string
	for i, p := range w.Points {
		mark := ""
		if i == w.Best {
			mark = "best"
		}
		size := p.Size
		if w.Axis == Size {
			size = int64(p.X)
		}
		r := []string{mark, p.Design, percent(p.Rate), count(size), cell(p.Target.Epsilon), cell(p.Target.Delta),
			cell(p.Sample.Epsilon), cell(p.Sample.Delta), cell(p.NoiseSD), cell(p.SamplingSD), cell(p.Total), percent(p.Relative),
			cell(p.Full.Total)}
		out = append(out, r)
	}
	return out
}

// notes are the reasons for what the table leaves open, each once.
func (w *Sweep) notes() []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range w.Points {
		for _, n := range []string{p.Refused, p.Unknown} {
			if n != "" && !seen[n] {
				seen[n] = true
				out = append(out, fmt.Sprintf("%s %.4g: %s", w.Axis, p.X, n))
			}
		}
	}
	return out
}

// MarshalJSON writes the sweep with the version of its format.
func (w *Sweep) MarshalJSON() ([]byte, error) {
	type plain Sweep
	return json.Marshal(struct {
		Version int    `json:"version"`
		Kind    string `json:"kind"`
		*plain
	}{1, "sweep", (*plain)(w)})
}
