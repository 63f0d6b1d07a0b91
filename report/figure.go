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
)

// The figures' tones: what is charged is a full heavy line, what it is compared
// with a thinner broken one, so that they read the same in grey.
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
		a.Tick.Marker = even{}
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

// even labels about five multiples of 1, 2 or 5 times a power of ten.
type even struct{}

// Ticks are the round numbers inside [lo, hi].
func (even) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) {
		return []plot.Tick{{Value: lo, Label: trim(lo)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, m := range []float64{5, 2} {
		if (hi-lo)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	var out []plot.Tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi*(1+1e-9) && len(out) < 12; i++ {
		out = append(out, plot.Tick{Value: i*step + 0, Label: plain(math.Abs(i)*step*sign(i), 6)})
	}
	return out
}

func sign(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}

// decades labels powers of ten, at most about six of them.
type decades struct{}

// Ticks are the powers of ten inside [lo, hi], or round numbers where there are
// fewer than two.
func (decades) Ticks(lo, hi float64) []plot.Tick {
	first, last := math.Ceil(math.Log10(lo)-1e-9), math.Floor(math.Log10(hi)+1e-9)
	if last-first < 1 {
		return even{}.Ticks(lo, hi)
	}
	step := math.Max(1, math.Ceil((last-first)/6))
	var out []plot.Tick
	for k := last; k >= first; k-- {
		t := plot.Tick{Value: math.Pow(10, k)}
		if math.Mod(last-k, step) == 0 {
			t.Label = power(int(k))
		}
		out = append(out, t)
	}
	return out
}

func power(k int) string {
	if k >= -2 && k <= 3 {
		return trim(math.Pow(10, float64(k)))
	}
	return fmt.Sprintf("1e%d", k)
}

// profileFigure draws δ(ε) before and after amplification.
type profileFigure struct {
	after, before curve
	sampled       bool
	charged       privacy64
}

// privacy64 is the charged point.
type privacy64 struct{ eps, del float64 }

func (f profileFigure) render(id, title, description string) (template.HTML, error) {
	p := newFigure("ε", "δ")
	right := f.after.eps[len(f.after.eps)-1]
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	p.Y.Min, p.Y.Max = f.floor(), 1
	p.X.Min, p.X.Max = 0, right
	logarithmic := f.sampled && right > 5*f.charged.eps
	if logarithmic {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
		p.X.Min = f.charged.eps / 30
	}
	if f.sampled {
		line(p, "population", f.after.visible(p), mainTone, 2, nil)
		line(p, "before amplification", f.before.visible(p), otherTone, 1.4, broken)
	} else {
		line(p, "guarantee", f.after.visible(p), mainTone, 2, nil)
	}
	ring(p, "charged", f.charged.eps, math.Max(f.charged.del, p.Y.Min))
	return render(p, id, title, description)
}

// floor is the smallest δ that is drawn.
func (f profileFigure) floor() float64 {
	if f.charged.del > 0 {
		return math.Pow(10, math.Floor(math.Log10(math.Max(f.charged.del, 1e-280)))-2)
	}
	return 1e-6
}

// visible is the part of the curve inside the frame; where it falls through the
// floor it falls straight down.
func (c curve) visible(p *plot.Plot) plotter.XYs {
	var out plotter.XYs
	for i, d := range c.del {
		if c.eps[i] < p.X.Min {
			continue
		}
		if d < p.Y.Min {
			if len(out) > 0 {
				// Along the chord on these axes; straight down where δ vanishes at once.
				x := c.eps[i]
				if last := out[len(out)-1]; d > 0 && last.Y > d {
					x = last.X + (x-last.X)*math.Log(last.Y/p.Y.Min)/math.Log(last.Y/d)
				}
				out = append(out, plotter.XY{X: x, Y: p.Y.Min})
			}
			break
		}
		out = append(out, plotter.XY{X: c.eps[i], Y: math.Min(d, 1)})
	}
	return out
}

// attackFigure draws the largest chance of detection against the chance of a
// false alarm.
func attackFigure(after, before curve, sampled bool, id, title, description string) (template.HTML, error) {
	p := newFigure("false alarm", "detection")
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	if sampled {
		line(p, "without amplification", before.power(), otherTone, 1.4, broken)
	}
	line(p, "any attacker, at most", after.power(), mainTone, 2, nil)
	line(p, "guessing", plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, axisTone, 1.2, dotted)
	return render(p, id, title, description)
}

// power is the attacker's curve, finely where it bends.
func (c curve) power() plotter.XYs {
	var out plotter.XYs
	for _, a := range []float64{0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075} {
		out = append(out, plotter.XY{X: a, Y: c.detection(a)})
	}
	for i := 4; i <= 40; i++ {
		a := float64(i) / 40
		out = append(out, plotter.XY{X: a, Y: c.detection(a)})
	}
	return out
}
