package design

import (
	"html/template"
	"math"

	"github.com/dprelease/dprelease/internal/say/figure"
)

// Figure draws the cells of one table: what was invented, and what would be released.
func (p *invented) Figure(nth int) template.HTML {
	t := p.Tables[nth]
	const left, right, line, top = 170.0, 540.0, 22.0, 8.0
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range t.Cells {
		if c.Blank {
			continue
		}
		low, high = min(low, c.Low, c.Value), max(high, c.High, c.Value)
		if c.Known {
			low, high = min(low, c.Truth), max(high, c.Truth)
		}
	}
	if low > high {
		return ""
	}
	if low > 0 && low < high/2 {
		low = 0
	}
	if high == low {
		high, low = high+1, low-1
	}
	x := func(v float64) float64 { return left + (v-low)/(high-low)*(right-left) }
	d := &figure.Drawing{Width: 560, Height: top + line*float64(len(t.Cells)) + 26}
	bottom := top + line*float64(len(t.Cells))
	free := math.Inf(-1) // where the next label may begin
	for _, tick := range figure.Even(func(x float64) string { return figures(x, 4) }).Ticks(low, high) {
		label := tick.Label
		if tick.Value == 0 {
			label = "0"
		}
		d.Line(x(tick.Value), top, x(tick.Value), bottom, "grid")
		if half := figure.TextWidth(label) / 2; x(tick.Value)-half >= free && x(tick.Value)+half <= d.Width {
			d.Text(x(tick.Value), bottom+14, "middle", "small", label)
			free = x(tick.Value) + half + 8
		}
	}
	for i, c := range t.Cells {
		y := top + line*(float64(i)+0.5)
		label := []rune(c.Label)
		for len(label) > 1 && figure.TextWidth(string(label)) > left-20 {
			label = append(label[:len(label)-2], '…')
		}
		d.Text(left-10, y+4, "end", "small ink", string(label))
		if c.Blank {
			d.Text(left+2, y+4, "start", "small", "–")
			continue
		}
		if c.High > c.Low {
			d.Rect(x(c.Low), y-4, max(x(c.High)-x(c.Low), 1), 8, "noise", 1)
		}
		if c.Known {
			d.Line(x(c.Truth), y-8, x(c.Truth), y+8, "thin")
		}
		d.Circle(x(c.Value), y, 3.6, "dot")
	}
	return d.HTML("invented-"+figures(float64(nth+1), 3), p.T("picture.title", t.Name), p.T("picture.desc"))
}
