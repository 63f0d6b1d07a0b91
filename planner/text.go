package planner

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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
	assumed(b, w.Assumptions, w.Simulated)
	table(b, w.header(), w.rows())
	for _, n := range w.notes() {
		fmt.Fprintf(b, "%s\n", n)
	}
	if w.Best >= 0 {
		fmt.Fprintf(b, "best: %s %.4g, error %.4g\n", w.Axis, w.Points[w.Best].X, w.Points[w.Best].Total)
	}
	fmt.Fprintf(b, "does sampling help? %s: %s\n", w.Verdict.Kind, w.Verdict.Reason)
	return b.Flush()
}

func assumed(b io.Writer, assumptions []string, repetitions int) {
	for _, a := range assumptions {
		fmt.Fprintf(b, "assumed: %s\n", a)
	}
	if repetitions > 0 {
		fmt.Fprintf(b, "simulated: %d repetitions, %d populations\n", repetitions, populations)
	}
}

func table(out io.Writer, header []string, rows [][]string) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join(header, "\t")+"\t")
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t")+"\t")
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
		r := []string{mark, p.Design, percent(p.Rate), count(p.Size), cell(p.Target.Epsilon), cell(p.Target.Delta),
			cell(p.Sample.Epsilon), cell(p.Sample.Delta), cell(p.NoiseSD), cell(p.SamplingSD), cell(p.Total), percent(p.Relative), cell(p.Full.Total)}
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
