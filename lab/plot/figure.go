package plot

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/dprelease/dprelease/internal/say/figure"
)

// Figure is one plot of curves and marks. Its axes span what is drawn.
type Figure struct {
	axes        Axes
	parts       []part
	rows, names []string // what the upright and the level axis name, where they hold names and no numbers
	fixed       map[string][2]float64
	tones       int // how many curves and kinds of marks have a look of their own
}

// Axes describe a figure.
type Axes struct {
	Title, X, Y string
	LogX, LogY  bool

	_ struct{}
}

// part is a curve, marks of one kind, or a filled outline.
type part struct {
	name, class string
	points      []figure.Point
}

// looks is the number of curves of one figure that look different; the style sheet has a class for each.
const looks = 6

// New makes an empty figure.
func New(a Axes) *Figure { return &Figure{axes: a, fixed: map[string][2]float64{}} }

// Range fixes the visible part of an axis: "x" or "y".
func (f *Figure) Range(which string, lo, hi float64) { f.fixed[which] = [2]float64{lo, hi} }

// Line adds a curve. Points that are not finite, or not positive on a logarithmic
// axis, are left out.
func (f *Figure) Line(name string, x, y []float64) {
	f.add(name, fmt.Sprintf("line tone%d", f.tones%looks), 2, x, y)
	f.tones++
}

// Rule adds a thin grey line to compare with.
func (f *Figure) Rule(name string, x, y []float64) { f.add(name, "line rule", 2, x, y) }

// Points adds marks without a line; each call has a shape of its own.
func (f *Figure) Points(name string, x, y []float64) {
	f.add(name, figure.Shapes[f.tones%len(figure.Shapes)], 1, x, y)
	f.tones++
}

// Marks adds rings without a line, of the same shape in every call.
func (f *Figure) Marks(name string, x, y []float64) { f.add(name, "ring", 1, x, y) }

// Crosses adds crosses without a line.
func (f *Figure) Crosses(name string, x, y []float64) { f.add(name, "cross", 1, x, y) }

// Upright adds a dashed upright line at x, from bottom to top.
func (f *Figure) Upright(name string, x, bottom, top float64) {
	f.add(name, "line dashed", 2, []float64{x, x}, []float64{bottom, top})
}

// Level adds a dashed line at y, across the violins.
func (f *Figure) Level(name string, y float64) {
	f.add(name, "line dashed", 2, []float64{-0.6, float64(len(f.names)) - 0.4}, []float64{y, y})
}

// Dots puts one row for each name, from the top, with a mark for each value of it;
// all marks of one label share a shape.
func (f *Figure) Dots(names, labels []string, values [][]float64) {
	f.rows = names
	rows := make([]float64, len(names))
	for i := range names {
		rows[i] = float64(len(names) - 1 - i)
	}
	for k, label := range labels {
		f.add(label, figure.Shapes[k%len(figure.Shapes)], 1, values[k], rows)
	}
}

// add keeps the points that can be drawn, if there are enough of them.
func (f *Figure) add(name, class string, least int, x, y []float64) {
	var on []figure.Point
	for i := range min(len(x), len(y)) {
		bad := math.IsNaN(x[i]) || math.IsInf(x[i], 0) || math.IsNaN(y[i]) || math.IsInf(y[i], 0)
		if bad || f.axes.LogX && x[i] <= 0 || f.axes.LogY && y[i] <= 0 {
			continue
		}
		on = append(on, figure.Point{X: x[i], Y: y[i]})
	}
	if len(on) >= least {
		f.parts = append(f.parts, part{name, class, on})
	}
}

// span returns the ends of an axis: those that were fixed, or what is drawn.
func (f *Figure) span(which string, log bool, of func(figure.Point) float64) (lo, hi float64) {
	if fixed, ok := f.fixed[which]; ok {
		return fixed[0], fixed[1]
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, p := range f.parts {
		for _, q := range p.points {
			lo, hi = math.Min(lo, of(q)), math.Max(hi, of(q))
		}
	}
	switch {
	case lo > hi:
		return 1, 2 // nothing is drawn
	case log:
		if lo == hi {
			return lo / 2, hi * 2
		}
		return snapped(lo, hi)
	case lo == hi:
		return lo - 1, hi + 1
	}
	return lo, hi
}

// frame draws the figure.
func (f *Figure) frame() *figure.Frame {
	x := figure.Axis{Name: f.axes.X, Log: f.axes.LogX, Ticks: even}
	x.Min, x.Max = f.span("x", x.Log, func(p figure.Point) float64 { return p.X })
	y := figure.Axis{Name: f.axes.Y, Log: f.axes.LogY, Ticks: even}
	y.Min, y.Max = f.span("y", y.Log, func(p figure.Point) float64 { return p.Y })
	for _, a := range []*figure.Axis{&x, &y} {
		if a.Log {
			a.Ticks = decades{}
		}
	}
	if f.names != nil {
		x.Ticks, x.Min, x.Max = named(f.names), -0.6, float64(len(f.names))-0.4
	}
	if f.rows != nil {
		y.Ticks, y.Min, y.Max = upsideDown(f.rows), -0.6, float64(len(f.rows))-0.4
	}
	var keys []figure.Key
	for _, p := range f.parts {
		if p.name != "" {
			keys = append(keys, figure.Key{Class: p.class, Name: p.name})
		}
	}
	out := figure.NewFrame(x, y, keys...)
	for _, p := range f.parts {
		switch {
		case strings.HasPrefix(p.class, "line"):
			out.Curve(p.points, p.class)
		case p.class == "violin":
			out.Outline(p.points, p.class)
		default:
			for _, q := range p.points {
				out.Mark(q, p.class)
			}
		}
	}
	return out
}

// SVG returns the figure as an SVG document.
func (f *Figure) SVG() []byte { return Row{f}.SVG() }

// Row is a picture of figures side by side.
type Row []*Figure

// SVG returns the row as an SVG document that brings its own style.
func (r Row) SVG() []byte {
	var parts bytes.Buffer
	width, height := 0.0, 0.0
	for _, f := range r {
		const margin, line = 6, 15
		d := f.frame()
		top := 0.0
		for _, text := range strings.Split(f.axes.Title, "\n") {
			if text != "" {
				top += line
				fmt.Fprintf(&parts, `<g transform="translate(%s %s)"><text class="title">%s</text></g>`, figure.At(width+8), figure.At(top),
					html.EscapeString(text))
			}
		}
		fmt.Fprintf(&parts, `<g transform="translate(%s %s)">%s</g>`, figure.At(width), figure.At(top), d.Shapes())
		width, height = width+d.Width+margin, math.Max(height, top+d.Height+margin)
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" `+
		`class="figure"><style>%s</style><rect class="paper" width="100%%" height="100%%"/>%s</svg>`,
		figure.At(width), figure.At(height), figure.At(width*1.6), Style, parts.String())
}

// Style gives the classes their look on white paper, readable in grey. Every rule is
// for this class of drawings alone, since a page applies it to all of its parts.
const Style = `.figure text{font:11px "Liberation Sans",Arial,sans-serif;fill:#101010}` +
	`.figure .title{font-size:12px}.figure .middle{text-anchor:middle}.figure .end{text-anchor:end}` +
	`.figure .paper{fill:#fff}.figure path,.figure line{fill:none}.figure .grid{stroke:#e2e2e2}.figure .axis{stroke:#909090}` +
	`.figure .line{stroke-width:1.6}.figure .rule{stroke:#909090;stroke-width:1}` +
	`.figure .dashed{stroke:#101010;stroke-width:1;stroke-dasharray:4 3}` +
	`.figure .quartiles{stroke:#101010;stroke-width:2.4}.figure .violin{fill:#c9d8e8;stroke:#1a4f8b;stroke-width:.8}` +
	`.figure .tone0{stroke:#101010}.figure .tone1{stroke:#1a4f8b;stroke-dasharray:7 3}` +
	`.figure .tone2{stroke:#b35500;stroke-dasharray:1.5 2.5}` +
	`.figure .tone3{stroke:#2e7d52;stroke-dasharray:8 2.5 1.5 2.5}.figure .tone4{stroke:#7a3b8f;stroke-dasharray:12 4}` +
	`.figure .tone5{stroke:#808080;stroke-dasharray:3 3}` +
	`.figure .ring,.figure .cross,.figure .triangle,.figure .box{fill:none;stroke:#101010}.figure .disc{fill:#101010}`
