package planner

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"

	"github.com/dprelease/dprelease/internal/say/figure/plot"
)

// page is one answer as an HTML document that loads nothing.
type page struct {
	Title, Lead, Alt string
	Assumptions      []string
	Header           []string
	Rows             [][]string
	Notes            []string
	Figure           template.HTML
}

// pageTemplate is parsed when the first page is made.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

const pageText = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --rule: #d5dae0; --panel: #f4f6f8; --main: #1a4f8b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --paper: #14171b; --rule: #39424c; --panel: #1d2228; --main: #8fc1ff; } }
html { font: 100%/1.55 system-ui, "Liberation Sans", Arial, sans-serif; color: var(--ink); background: var(--paper); }
body { margin: 0 auto; padding: 1.5rem 1.25rem 4rem; max-width: 64rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
.lead { background: var(--panel); border-left: 4px solid var(--main); padding: .8rem 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .45rem; border-bottom: 1px solid var(--rule); white-space: nowrap; }
td:first-child { font-weight: 700; color: var(--main); }
th:nth-child(2), td:nth-child(2) { text-align: left; }
th.note, td.note { text-align: left; white-space: normal; min-width: 14rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.scroll:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
figure { margin: 1.5rem 0; max-width: 40rem; background: #ffffff; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { color: #1b1f24; font-size: .85rem; padding: 0 .6rem .6rem; }
@media print { body { max-width: none; padding: 0; } .scroll { overflow: visible; } table { font-size: 7.5pt; }` +
	` th, td { padding: .15rem .3rem; white-space: normal; } th.note, td.note { min-width: 0; } tr, figure { break-inside: avoid; } }
</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<p class="lead">{{.Lead}}</p>
{{if .Assumptions}}<h2>Assumed, publicly</h2><ul>{{range .Assumptions}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{if .Figure}}<figure>{{.Figure}}<figcaption>{{.Alt}}</figcaption></figure>{{end}}
{{if .Rows}}<h2>Table</h2>
<div class="scroll" tabindex="0" role="region" aria-label="The numbers"><table><thead><tr>` +
	`{{range .Header}}<th scope="col"{{if eq . "note"}} class="note"{{end}}>` +
	`{{if .}}{{.}}{{else}}<span class="unseen">the best</span>{{end}}</th>{{end}}</tr></thead>
<tbody>{{range .Rows}}<tr>{{range $i, $cell := .}}` +
	`<td{{if eq (index $.Header $i) "note"}} class="note"{{end}}>{{$cell}}</td>{{end}}</tr>{{end}}</tbody></table></div>{{end}}
{{if .Notes}}<ul>{{range .Notes}}<li>{{.}}</li>{{end}}</ul>{{end}}
<p>No private table was read for this page.</p>
</main>
</body>
</html>
`

// render fills in the page. Every text of the figure was escaped when it was drawn.
func (p page) render(f *plot.Figure) ([]byte, error) {
	if f != nil {
		open, rest, _ := strings.Cut(string(f.SVG()), ">")
		p.Figure = template.HTML(open + ` role="img"><title>` + template.HTMLEscapeString(p.Title) + "</title><desc>" +
			//nolint:gosec // see above
			template.HTMLEscapeString(p.Alt) + "</desc>" + rest)
	}
	p.Header, p.Rows = filled(p.Header, p.Rows)
	var b bytes.Buffer
	err := pageTemplate().Execute(&b, p)
	return b.Bytes(), err
}

// capital begins a sentence with a word of this package.
func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// HTML is the sweep as a page.
func (w *Sweep) HTML() ([]byte, error) {
	f, err := w.Figure()
	if err != nil {
		f = nil // no point has a known error: the table says why
	}
	return page{
		Title: fmt.Sprintf("%s: sweep of %s over %s", w.Job, w.Release, w.Axis),
		Lead:  fmt.Sprintf("Does sampling help? %s: %s.", capital(w.Verdict.Kind), w.Verdict.Reason),
		Alt: "The standard error of the release and its parts, noise and sampling, along the " + string(w.Axis) +
			"; the table below has the numbers.",
		Assumptions: w.Assumptions, Header: w.header(), Rows: w.rows(), Notes: w.notes(),
	}.render(f)
}

// HTML is the comparison as a page.
func (c *Comparison) HTML() ([]byte, error) {
	lead := "The errors are not known under these assumptions."
	if c.Best >= 0 {
		lead = fmt.Sprintf("Most accurate at the same guarantee: %s, with an error of %.4g.", c.Designs[c.Best].Name, c.Designs[c.Best].Total)
	}
	header, rows := c.header(), c.rows()
	for i := range rows {
		rows[i] = rows[i][:len(header)-1] // the notes stand below
	}
	f, err := c.Figure()
	if err != nil {
		f = nil // no design has a known error: the table says why
	}
	return page{
		Title: fmt.Sprintf("%s: designs for %s at ε %.4g", c.Job, c.Release, c.Target.Epsilon), Lead: lead,
		Alt:         "The standard error of each design, and its parts noise and sampling; the table below has the numbers.",
		Assumptions: c.Assumptions, Header: header[:len(header)-1], Rows: rows, Notes: c.remarks(),
	}.render(f)
}

// HTML is the solution as a page.
func (r *Solution) HTML() ([]byte, error) {
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		return nil, err
	}
	p := r.Point
	return page{
		Title: fmt.Sprintf("%s: what reaches %s ≤ %s for %s", r.Job, r.Goal.Measure, r.Goal.limit(), r.Release),
		Lead:  fmt.Sprintf("%s = %.6g is enough.", r.Over, r.Value), Assumptions: r.Assumptions,
		Header: []string{"", "design", "n", "ε", "ε on sample", "noise", "sampling", "error", "relative"},
		Rows: [][]string{{"", p.Design, count(p.Size), cell(p.Target.Epsilon), cell(p.Sample.Epsilon), cell(p.NoiseSD),
			cell(p.SamplingSD), cell(p.Total), percent(p.Relative)}},
	}.render(nil)
}

// Figure draws the error along the axis, and its parts.
func (w *Sweep) Figure() (*plot.Figure, error) {
	labels := map[Axis]string{Rate: "sampling rate", Size: "size of the sample", Epsilon: "ε on the population"}
	f := plot.New(plot.Axes{
		Title: fmt.Sprintf("release %s (%s)", w.Release, w.Mechanism), X: labels[w.Axis], Y: "standard error",
		LogX: true, LogY: true,
	})
	var x, total, noise, sampling, full []float64
	for _, p := range w.Points {
		if p.Refused != "" {
			continue
		}
		x = append(x, p.X)
		total, noise, sampling = append(total, p.Total), append(noise, p.NoiseSD), append(sampling, p.SamplingSD)
		full = append(full, p.Full.Total)
	}
	if slices.Max(slices.Concat([]float64{0}, total, noise, sampling, full)) == 0 {
		return nil, fmt.Errorf("no point has a known error; assume: {sd: …}, or a distribution, for the column")
	}
	f.Line("error", x, total)
	f.Line("noise", x, noise)
	f.Line("sampling", x, sampling)
	f.Rule("the full table", x, full)
	return f, nil
}

// Figure draws the designs' errors and their parts.
func (c *Comparison) Figure() (*plot.Figure, error) {
	f := plot.New(plot.Axes{Title: fmt.Sprintf("%s at ε %.4g", c.Release, c.Target.Epsilon), X: "standard error", LogX: true})
	var names []string
	var total, noise, sampling []float64
	for _, d := range c.Designs {
		if d.Total == 0 {
			continue
		}
		names = append(names, d.Name)
		total, noise, sampling = append(total, d.Total), append(noise, d.NoiseSD), append(sampling, d.SamplingSD)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no design has a known error; assume: {sd: …} for the column")
	}
	f.Dots(names, []string{"error", "noise", "sampling"}, [][]float64{total, noise, sampling})
	return f, nil
}
