package report

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/dprelease/dprelease/internal/figure"
)

// The figures' tones. The charged curve is a heavy full line and the one beside it is thin
// and broken, so that they differ in grey too.
var (
	ink       = color.Gray{Y: 0x00}
	mainTone  = color.Gray{Y: 0x10}
	otherTone = color.Gray{Y: 0x70}
	axisTone  = color.Gray{Y: 0xa0}
	faint     = color.Gray{Y: 0xe0}
	broken    = []vg.Length{vg.Points(6), vg.Points(3)}
	dotted    = []vg.Length{vg.Points(1.5), vg.Points(2.5)}
)

// width and height are small enough to be read on a narrow phone.
const width, height = 360 * vg.Length(1), 300 * vg.Length(1)

// newFigure is an empty plot in the report's style.
func newFigure(x, y string) *plot.Plot {
	p := plot.New()
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(11)}
	p.BackgroundColor = nil
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Color, a.Tick.LineStyle.Color = axisTone, axisTone
		a.Label.TextStyle.Font, a.Tick.Label.Font = sans, sans
		a.Label.TextStyle.Color, a.Tick.Label.Color = ink, ink
		a.Tick.Label.Font.Size = vg.Points(10)
		a.Padding = 0
		a.Tick.Marker = even
	}
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = faint, faint
	p.Add(g)
	p.Legend.TextStyle.Font = sans
	p.Legend.TextStyle.Font.Size = vg.Points(10)
	p.Legend.TextStyle.Color = ink
	p.Legend.ThumbnailWidth = vg.Points(26)
	p.Legend.Padding = vg.Points(3)
	p.Legend.Top, p.Legend.Left = true, true
	return p
}

// line adds one curve; what has fewer than two points inside the frame is left out.
func line(p *plot.Plot, name string, xy plotter.XYs, tone color.Color, points float64, dashes []vg.Length) {
	if len(xy) < 2 {
		return
	}
	l, err := plotter.NewLine(xy)
	if err != nil {
		return
	}
	l.Width, l.Color, l.Dashes = vg.Points(points), tone, dashes
	p.Add(l)
	if name != "" {
		p.Legend.Add(name, l)
	}
}

// ring marks one point.
func ring(p *plot.Plot, name string, x, y float64) {
	s, err := plotter.NewScatter(plotter.XYs{{X: x, Y: y}})
	if err != nil {
		return
	}
	s.GlyphStyle = draw.GlyphStyle{Color: mainTone, Radius: vg.Points(4), Shape: heavyRing{}}
	p.Add(s)
	p.Legend.Add(name, s)
}

// heavyRing is a ring that can be seen on a line.
type heavyRing struct{}

// DrawGlyph draws the ring.
func (heavyRing) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: vg.Points(1.6)})
	var ring vg.Path
	ring.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	ring.Arc(at, style.Radius, 0, 2*math.Pi)
	ring.Close()
	c.Stroke(ring)
}

// render draws a plot as a part of the page, its legend above it, where it
// covers no curve.
func render(p *plot.Plot, id, title, description string) (template.HTML, error) {
	p.TextHandler = text.Plain{Fonts: font.DefaultCache}
	legend := p.Legend
	p.Legend = plot.NewLegend()
	c := vgsvg.New(width, height)
	page := draw.Crop(draw.New(c), vg.Points(2), -vg.Points(10), vg.Points(2), -vg.Points(4))
	used := legend.Rectangle(page).Size().Y + vg.Points(8)
	p.Draw(draw.Crop(page, 0, 0, 0, -used))
	legend.Draw(draw.Crop(page, vg.Points(30), 0, 0, 0))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	return inline(b.Bytes(), id, title, description)
}

// even marks round numbers.
var even = figure.Even(func(x float64) string { return plain(x, 6) })

// decades marks powers of ten, at most about six of them.
var decades = figure.Decades{Most: 6, Label: power, Else: even}

func power(k int) string {
	if k >= -2 && k <= 3 {
		return trim(math.Pow(10, float64(k)))
	}
	return fmt.Sprintf("1e%d", k)
}
