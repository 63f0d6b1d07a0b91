package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is one plot.
type Figure struct {
	plot          *plot.Plot
	logX, logY    bool
	lines         int
	width, height vg.Length
}

// Axes describe a figure.
type Axes struct {
	Title, X, Y string
	LogX, LogY  bool
	// LegendLeft and LegendTop place the legend; the zero values mean right and
	// bottom.
	LegendLeft, LegendTop bool

	_ struct{}
}

var (
	ink   = color.Gray{Y: 0x10}
	axis  = color.Gray{Y: 0x90}
	faint = color.Gray{Y: 0xe2}
	tones = []color.Color{
		color.Gray{Y: 0x10}, color.RGBA{0x1a, 0x4f, 0x8b, 0xff}, color.RGBA{0xb3, 0x55, 0x00, 0xff},
		color.RGBA{0x2e, 0x7d, 0x52, 0xff}, color.RGBA{0x7a, 0x3b, 0x8f, 0xff}, color.Gray{Y: 0x80},
	}
	dashes = [][]vg.Length{
		nil, {vg.Points(7), vg.Points(3)}, {vg.Points(1.5), vg.Points(2.5)},
		{vg.Points(8), vg.Points(2.5), vg.Points(1.5), vg.Points(2.5)}, {vg.Points(12), vg.Points(4)}, {vg.Points(3), vg.Points(3)},
	}
)

// New is an empty figure.
func New(a Axes) *Figure {
	p := plot.New()
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(11)}
	p.Title.Text = a.Title
	p.Title.TextStyle.Font = sans
	p.Title.TextStyle.Font.Size = vg.Points(12)
	p.Title.Padding = vg.Points(8)
	p.X.Label.Text, p.Y.Label.Text = a.X, a.Y
	for _, x := range []*plot.Axis{&p.X, &p.Y} {
		x.LineStyle.Color, x.Tick.LineStyle.Color = axis, axis
		x.Label.TextStyle.Font, x.Tick.Label.Font = sans, sans
		x.Tick.Label.Font.Size = vg.Points(10)
		x.Padding = 0
		x.Tick.Marker = even
	}
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = faint, faint
	p.Add(g)
	p.Legend.TextStyle.Font = sans
	p.Legend.TextStyle.Font.Size = vg.Points(10)
	p.Legend.ThumbnailWidth = vg.Points(30)
	p.Legend.Padding = vg.Points(2)
	p.Legend.Left, p.Legend.Top = a.LegendLeft, a.LegendTop
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(-6), vg.Points(6)
	if a.LegendLeft {
		p.Legend.XOffs = vg.Points(6)
	}
	if a.LegendTop {
		p.Legend.YOffs = vg.Points(-6)
	}
	p.TextHandler = text.Plain{Fonts: font.DefaultCache}
	if a.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	}
	if a.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	}
	return &Figure{plot: p, logX: a.LogX, logY: a.LogY, width: 15 * vg.Centimeter, height: 10 * vg.Centimeter}
}

// Range fixes the visible part of an axis: "x" or "y".
func (f *Figure) Range(which string, lo, hi float64) {
	a := &f.plot.X
	if which == "y" {
		a = &f.plot.Y
	}
	a.Min, a.Max = lo, hi
}

// drawable are the points that can be drawn.
func (f *Figure) drawable(x, y []float64) plotter.XYs {
	var out plotter.XYs
	for i := range min(len(x), len(y)) {
		bad := math.IsNaN(x[i]) || math.IsInf(x[i], 0) || math.IsNaN(y[i]) || math.IsInf(y[i], 0)
		if bad || f.logX && x[i] <= 0 || f.logY && y[i] <= 0 {
			continue
		}
		out = append(out, plotter.XY{X: x[i], Y: y[i]})
	}
	return out
}

// Line adds a curve. Points that are not finite, or not positive on a logarithmic
// axis, are left out.
func (f *Figure) Line(name string, x, y []float64) {
	f.line(name, f.drawable(x, y), tones[f.lines%len(tones)], dashes[f.lines%len(dashes)], 1.6)
	f.lines++
}

// Rule adds a thin grey line to compare with.
func (f *Figure) Rule(name string, x, y []float64) {
	f.line(name, f.drawable(x, y), axis, nil, 1)
}

func (f *Figure) line(name string, xy plotter.XYs, tone color.Color, dash []vg.Length, points float64) {
	if len(xy) < 2 {
		return
	}
	l, err := plotter.NewLine(xy)
	if err != nil {
		return
	}
	l.Width, l.Color, l.Dashes = vg.Points(points), tone, dash
	f.plot.Add(l)
	f.explain(name, l)
}

// explain adds a line or mark to the legend. A page may show the text in a wider font than the
// one that was measured; where the mark follows the text, blanks leave room for that.
func (f *Figure) explain(name string, mark plot.Thumbnailer) {
	if name == "" {
		return
	}
	if !f.plot.Legend.Left {
		name += strings.Repeat(" ", 2+len(name)/5)
	}
	f.plot.Legend.Add(name, mark)
}

// Points adds marks without a line; each call has a shape of its own.
func (f *Figure) Points(name string, x, y []float64) {
	shapes := []draw.GlyphDrawer{draw.RingGlyph{}, draw.CrossGlyph{}, draw.TriangleGlyph{}, draw.BoxGlyph{}}
	f.marks(name, x, y, shapes[f.lines%len(shapes)])
	f.lines++
}

// Marks adds rings without a line, of the same shape in every call.
func (f *Figure) Marks(name string, x, y []float64) { f.marks(name, x, y, draw.RingGlyph{}) }

// Crosses adds crosses without a line.
func (f *Figure) Crosses(name string, x, y []float64) { f.marks(name, x, y, draw.CrossGlyph{}) }

func (f *Figure) marks(name string, x, y []float64, shape draw.GlyphDrawer) {
	xy := f.drawable(x, y)
	if len(xy) == 0 {
		return
	}
	s, err := plotter.NewScatter(xy)
	if err != nil {
		return
	}
	s.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: vg.Points(3.5), Shape: shape}
	f.plot.Add(s)
	f.explain(name, s)
}

// Dots puts one row for each name, from the top, with a mark for each value of it;
// all marks of one label share a shape. The horizontal axis should be logarithmic.
func (f *Figure) Dots(names, labels []string, values [][]float64) {
	n := len(names)
	reversed := make([]string, n)
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.CrossGlyph{}, draw.TriangleGlyph{}}
	rows := make([]float64, n)
	for i, name := range names {
		reversed[n-1-i], rows[i] = name, float64(n-1-i)
	}
	for k, label := range labels {
		f.marks(label, values[k], rows, shapes[k%len(shapes)])
	}
	f.plot.NominalY(reversed...)
	f.plot.Y.Min, f.plot.Y.Max = -0.6, float64(n)-0.4
	f.plot.X.Min, f.plot.X.Max = snapped(f.plot.X.Min, f.plot.X.Max)
	f.width, f.height = 17*vg.Centimeter, vg.Length(n)*26+130
}

// SVG is the figure as an SVG document.
func (f *Figure) SVG() ([]byte, error) { return f.write(vgsvg.New(f.width, f.height)) }

// PNG is the figure as an image.
func (f *Figure) PNG() ([]byte, error) {
	return f.write(vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(160))})
}

// Encode is the figure in the format that a file's name asks for.
func (f *Figure) Encode(path string) ([]byte, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".svg":
		return f.SVG()
	case ".png":
		return f.PNG()
	}
	return nil, fmt.Errorf("%s: a plot ends in .svg or .png", path)
}

// snap widens a logarithmic upright axis to round numbers.
func (f *Figure) snap() {
	if f.logY {
		f.plot.Y.Min, f.plot.Y.Max = snapped(f.plot.Y.Min, f.plot.Y.Max)
	}
}

func (f *Figure) write(to vg.CanvasWriterTo) ([]byte, error) {
	f.snap()
	page := draw.New(to)
	page.SetColor(color.White)
	page.Fill(page.Path())
	f.plot.Draw(draw.Crop(page, vg.Points(6), -vg.Points(14), vg.Points(4), -vg.Points(8)))
	var b bytes.Buffer
	if _, err := to.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
