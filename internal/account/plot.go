package account

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/dprelease/dprelease/internal/expr"
)

// plotFormat is the format that a file's name asks for.
func plotFormat(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg", ".png":
		return ext[1:], nil
	}
	return "", fmt.Errorf("%s: a plot ends in .svg or .png", path)
}

// drawPlot evaluates the curves and writes the file, whole or not at all.
func drawPlot(q *expr.Query, a *answer, path string) error {
	format, err := plotFormat(path)
	if err != nil {
		return err
	}
	curves, x, err := trace(q, a)
	if err != nil {
		return err
	}
	p := newPlot(a, curves, x)
	const width, height = 18 * vg.Centimeter, 12 * vg.Centimeter
	var to vg.CanvasWriterTo = vgsvg.New(width, height)
	if format == "png" {
		to = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(160))}
	}
	page := draw.New(to)
	page.SetColor(color.White)
	page.Fill(page.Path())
	p.Draw(draw.Crop(page, vg.Points(8), -vg.Points(16), vg.Points(6), -vg.Points(10)))
	var b bytes.Buffer
	if _, err := to.WriteTo(&b); err != nil {
		return err
	}
	// 0o666 before the umask: a plot is no secret.
	return renameio.WriteFile(path, b.Bytes(), 0o666)
}

// Methods differ by dashes and with or without sampling by weight and shade,
// so that the plot reads the same in grey.
var (
	ink    = color.Gray{Y: 0x20}
	shade  = color.Gray{Y: 0x90}
	faint  = color.Gray{Y: 0xe2}
	accent = color.RGBA{R: 0xb0, G: 0x20, B: 0x20, A: 0xff}
	dashes = map[string][]vg.Length{
		"pld":     nil,
		"rdp":     {vg.Points(7), vg.Points(3)},
		"basic":   {vg.Points(1.5), vg.Points(2.5)},
		"shuffle": {vg.Points(8), vg.Points(2.5), vg.Points(1.5), vg.Points(2.5)},
		"iterate": {vg.Points(12), vg.Points(4)},
	}
)

func newPlot(a *answer, curves []curve, x extent) *plot.Plot {
	p := plot.New()
	p.Title.Text = wrap(expr.Describe(a.event)+", "+a.Relation.String(), 90)
	p.Title.TextStyle.Font.Size = vg.Points(10)
	p.Title.Padding = vg.Points(8)
	p.X.Label.Text, p.Y.Label.Text = "ε", "δ"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades
	p.Y.Min, p.Y.Max = x.floor, 1
	p.X.Min, p.X.Max = x.left, x.right
	p.X.Tick.Marker = round
	if x.logEps {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = shade, shade
		axis.Label.TextStyle.Font.Size = vg.Points(11)
		axis.Padding = 0
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	p.Add(grid)
	// Every curve falls from the upper left to the lower right.
	p.Legend.Left, p.Legend.Padding = true, vg.Points(2)
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(6), vg.Points(6)
	p.Legend.TextStyle.Font.Size = vg.Points(9)
	p.Legend.ThumbnailWidth = vg.Points(30)
	unsampled := false
	for _, c := range curves {
		unsampled = unsampled || !c.sampled
	}
	for _, c := range curves {
		line, err := plotter.NewLine(c.visible(x))
		if err != nil {
			continue // nothing of this curve is inside the frame
		}
		line.Width, line.Color, line.Dashes = vg.Points(1.6), ink, dashes[c.method]
		name := c.method
		switch {
		case !c.sampled:
			line.Width, line.Color = vg.Points(1.1), shade
			name += ", unamplified"
		case unsampled:
			name += ", amplified"
		}
		p.Add(line)
		p.Legend.Add(name, line)
	}
	mark(p, a, x)
	return p
}

// mark puts a ring around the charged point.
func mark(p *plot.Plot, a *answer, x extent) {
	eps, del := float64(a.Epsilon), float64(a.Delta)
	if !(eps >= x.left && eps <= x.right && del >= x.floor && del <= 1) {
		return
	}
	s, err := plotter.NewScatter(plotter.XYs{{X: eps, Y: del}})
	if err != nil {
		return
	}
	s.GlyphStyle = draw.GlyphStyle{Color: accent, Radius: vg.Points(4), Shape: draw.RingGlyph{}}
	p.Add(s)
	p.Legend.Add(fmt.Sprintf("charged (%s, %s)", up(eps), up(del)), s)
}

// visible is the part of the curve inside the frame; where it falls through
// the floor it falls straight down.
func (c curve) visible(x extent) plotter.XYs {
	var out plotter.XYs
	for i, d := range c.del {
		if d < x.floor {
			if i > 0 {
				// On log axes a chord through the last point; to the floor itself
				// if δ vanished at once.
				e := c.eps[i]
				if d > 0 && c.del[i-1] > d {
					t := math.Log(c.del[i-1]/x.floor) / math.Log(c.del[i-1]/d)
					e = c.eps[i-1] + t*(c.eps[i]-c.eps[i-1])
				}
				out = append(out, plotter.XY{X: e, Y: x.floor})
			}
			break
		}
		out = append(out, plotter.XY{X: c.eps[i], Y: math.Min(d, 1)})
	}
	return out
}

// wrap breaks a long title at spaces.
func wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(s) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
