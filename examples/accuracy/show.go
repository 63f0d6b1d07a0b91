package main

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

func (s study) lossName() string {
	if s.model.logistic {
		return "mean log loss"
	}
	return "root mean squared error"
}

// tables is one table for each study. The last column says how much of what the
// features explain is left: 100 % is the fit without privacy, 0 % the model that
// knows no feature.
func tables(all []study) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "`%s`: %s, %d records, δ = %g, %s. Without privacy %.5f; without features %.5f.\n\n", s.title, s.lossName(),
			s.table.Rows, s.request.Target.Delta, s.request.Public.Relation, s.free, s.null)
		b.WriteString("| ε | noise multiplier | loss, median | 10 % to 90 % | excess over the fit | explained |\n|---:|---:|---:|---:|---:|---:|\n")
		for _, p := range s.points {
			fmt.Fprintf(&b, "| %g | %.3g | %.5f | %.5f – %.5f | %+.2f %% | %.1f %% |\n", p.epsilon, p.multiplier, p.median, p.low, p.high,
				100*(p.median/s.free-1), 100*(s.null-p.median)/(s.null-s.free))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// together is one table of what each release explains, for releases of one model.
func together(all []study) string {
	var b strings.Builder
	b.WriteString("| release | records read |")
	for _, e := range epsilons {
		fmt.Fprintf(&b, " ε = %g |", e)
	}
	b.WriteString("\n|:---|---:|" + strings.Repeat("---:|", len(epsilons)) + "\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| `%s` | %d |", s.title, s.reads)
		for _, p := range s.points {
			fmt.Fprintf(&b, " %.1f %% |", 100*(s.null-p.median)/(s.null-s.free))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var (
	ink   = color.Gray{Y: 0x20}
	shade = color.Gray{Y: 0x90}
	band  = color.Gray{Y: 0xe0}
)

// figure draws the loss over epsilon, one panel a study.
func figure(all []study) ([]byte, error) {
	const width, height = 26 * vg.Centimeter, 10 * vg.Centimeter
	canvas := vgsvg.New(width, height)
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Path())
	row := make([]*plot.Plot, len(all))
	for i, s := range all {
		p, err := s.panel()
		if err != nil {
			return nil, err
		}
		row[i] = p
	}
	tiles := draw.Tiles{Rows: 1, Cols: len(all), PadX: vg.Points(20), PadTop: vg.Points(8), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(12)}
	for i, c := range plot.Align([][]*plot.Plot{row}, tiles, page)[0] {
		row[i].Draw(c)
	}
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}

func (s study) panel() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = s.title, "ε", s.lossName()
	p.X.Scale = plot.LogScale{}
	p.Legend.Top, p.Legend.YOffs = true, -vg.Points(50)
	var ticks plot.ConstantTicks
	var middle, around plotter.XYs
	for _, x := range s.points {
		ticks = append(ticks, plot.Tick{Value: x.epsilon, Label: fmt.Sprint(x.epsilon)})
		middle = append(middle, plotter.XY{X: x.epsilon, Y: x.median})
		around = append(around, plotter.XY{X: x.epsilon, Y: x.low})
	}
	for i := len(s.points) - 1; i >= 0; i-- {
		around = append(around, plotter.XY{X: s.points[i].epsilon, Y: s.points[i].high})
	}
	p.X.Tick.Marker = ticks
	area, err := plotter.NewPolygon(around)
	if err != nil {
		return nil, err
	}
	area.Color, area.LineStyle.Width = band, 0
	p.Add(area)
	p.Legend.Add("four in five releases", area)
	for _, l := range []struct {
		name   string
		xy     plotter.XYs
		tone   color.Color
		dashes []vg.Length
	}{
		{"median release", middle, ink, nil},
		{"without features", s.level(s.null), shade, []vg.Length{vg.Points(2), vg.Points(3)}},
		{"without privacy", s.level(s.free), shade, []vg.Length{vg.Points(7), vg.Points(3)}},
	} {
		line, err := plotter.NewLine(l.xy)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, line.Dashes = l.tone, vg.Points(1.5), l.dashes
		p.Add(line)
		p.Legend.Add(l.name, line)
	}
	return p, nil
}

func (s study) level(y float64) plotter.XYs {
	return plotter.XYs{{X: epsilons[0], Y: y}, {X: epsilons[len(epsilons)-1], Y: y}}
}
