package report

import (
	"html/template"
	"math"
	"strings"

	"github.com/dprelease/dprelease/internal/say/figure"
)

// bar is a released value with what is known of its error.
type bar struct {
	label      string
	value      float64
	suppressed bool
	flag       string  // says why there is no value, "" where it was suppressed
	low, high  float64 // of the noise; equal where nothing is known
	half       float64 // of noise and sampling together, 0 where that is not known
	from, to   float64 // the released interval for the population's value; equal where there is none
	sd         float64 // of the noise, 0 where it is not known
	sampled    bool    // sampling adds an error to that of the noise
	part       string  // says that not all rows count, and what is known all the same; "" where all do
}

// text is the value, rounded to what its noise leaves meaningful. The noise stands beside
// it only where there is no other error: else it would read as an interval for the
// population's value (P30, P41).
func (b bar) text(w words) string {
	noise := b.noise()
	if b.part != "" {
		return w.Number(Rounded(b.value, noise)) + " (" + b.part + ")"
	}
	switch half := (b.to - b.from) / 2; {
	case half > 0:
		return Rounded(b.value, half) + " (" + Rounded(b.from, half) + "–" + Rounded(b.to, half) + ")"
	case b.half > 0:
		return Rounded(b.value, b.half) + " ±\u202f" + Rounded(b.half, b.half)
	case !(noise > 0):
		return Rounded(b.value, b.sd)
	case b.sampled:
		return Rounded(b.value, noise)
	case noise > 1.1*(b.high-b.low)/2: // one end is nearer, or was cut off at a bound
		return Rounded(b.value, noise) + " (" + Rounded(b.low, noise) + "–" + Rounded(b.high, noise) + ")"
	}
	return Rounded(b.value, noise) + " ±\u202f" + Rounded(noise, noise)
}

// noise returns how far the noise reaches from the value, to the side on which it reaches
// farther. An end may lie at a bound and say nothing of the noise.
func (b bar) noise() float64 { return math.Max(b.high-b.value, b.value-b.low) }

// blank returns the reason why there is no value.
func (b bar) blank(w words) string {
	if b.flag != "" {
		return b.flag
	}
	return w.t("result.suppressed")
}

// whole is the interval for noise and sampling together, which may be empty.
func (b bar) whole() (from, to float64) {
	if b.to > b.from {
		return b.from, b.to
	}
	return b.value - b.half, b.value + b.half
}

// The layout of pictures of results: as wide as a phone, with a row for each value.
const (
	pictureWidth  = 400.0
	rowHeight     = 21.0
	longestLabel  = 128.0
	mostRows      = 25
	mostHeatCells = 400
)

// extent returns the ends of an axis for all bars, with a margin; with zero it holds 0.
func extent(bars []bar, zero bool) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, b := range bars {
		if b.suppressed {
			continue
		}
		from, to := b.whole()
		lo, hi = math.Min(lo, math.Min(b.low, from)), math.Max(hi, math.Max(b.high, to))
	}
	if !(hi >= lo) {
		lo, hi = 0, 1
	}
	if lo > 0 && lo < 0.4*hi || zero {
		lo = math.Min(lo, 0)
	}
	if zero {
		hi = math.Max(hi, 0)
	}
	if hi == lo {
		lo, hi = lo-math.Max(math.Abs(lo)*0.1, 1), hi+math.Max(math.Abs(hi)*0.1, 1)
	}
	pad := 0.04 * (hi - lo)
	if lo != 0 {
		lo -= pad
	}
	hi += pad
	return lo, hi
}

// dots draws one row for each value: a dot, a broad bar for the noise, and a thin line with
// ends for noise and sampling together, or a dotted one where the error of sampling is not
// public.
func dots(w words, id, title string, bars []bar, l legend) template.HTML {
	lo, hi := extent(bars, l.zero)
	label, number := 0.0, 0.0
	for _, b := range bars {
		label = math.Max(label, figure.TextWidth(b.label))
		if !b.suppressed {
			number = math.Max(number, figure.TextWidth(b.text(w)))
		}
	}
	above := label > longestLabel
	row := rowHeight
	left := label + 12
	if above {
		left, row = 10, 2*rowHeight-6
	}
	right := pictureWidth - number - 14
	d := &figure.Drawing{Width: pictureWidth}
	top := l.draw(d)
	d.Height = top + float64(len(bars))*row + 24
	x := func(v float64) float64 { return left + (math.Min(math.Max(v, lo), hi)-lo)/(hi-lo)*(right-left) }
	ticks, short := even.Ticks(lo, hi), briefly{}.between(lo, hi)
	var lines []float64
	every := (len(ticks) + 4) / 5
	for k, t := range ticks {
		if t.Value == 0 {
			d.Line(x(0), top, x(0), d.Height-18, "axis")
		}
		if k%every != 0 {
			continue
		}
		lines = append(lines, x(t.Value))
		if figure.TextWidth(t.Label) > (right-left)/6 {
			t.Label = short.label(t.Value)
		}
		if l.labelled(t.Value, lo, hi) {
			d.Text(x(t.Value), d.Height-5, "middle", "small", t.Label)
		}
	}
	d.Uprights(lines, top, d.Height-18, "grid")
	for i, b := range bars {
		y := top + float64(i)*row + row/2
		if above {
			d.Text(2, y-4, "start", "", clipped(b.label, pictureWidth-number-20))
			y += 9
		} else {
			d.Text(2, y+4, "start", "", b.label)
		}
		if b.suppressed {
			d.Text(left+4, y+4, "start", "small", b.blank(w))
			d.Line(left, y-6, left, y+6, "other")
			continue
		}
		if b.high > b.low {
			d.Rect(x(b.low), y-5, math.Max(x(b.high)-x(b.low), 1), 10, "noise", 1)
		}
		switch from, to := b.whole(); {
		case to > from:
			from, to = x(from), x(to)
			d.Line(from, y, to, y, "thin")
			d.Line(from, y-4, from, y+4, "thin")
			d.Line(to, y-4, to, y+4, "thin")
		case l.unknown:
			d.Line(math.Max(x(b.low)-16, left), y, math.Min(x(b.high)+16, right), y, "dotted")
		}
		d.Circle(x(b.value), y, 3.5, "dot")
		d.Text(pictureWidth-2, y+4, "end", "", b.text(w))
	}
	return d.HTML(id, title, described(w, bars))
}

// legend explains the shapes of a picture.
type legend struct {
	noise, both string // "" where a picture has no such shape
	unknown     bool   // how far sampling moves the values is not public
	sd          bool   // the noise is shown as one standard deviation
	zero        bool
	names       words
}

// labelled leaves out a label so near an edge that it would be cut off or would run into
// the column of numbers.
func (l legend) labelled(v, lo, hi float64) bool {
	return (v-lo)/(hi-lo) > 0.02 && (v-lo)/(hi-lo) < 0.96 || v == 0
}

func (l legend) draw(d *figure.Drawing) float64 {
	y := 13.0
	line := func(text string, mark func(y float64)) {
		mark(y - 4)
		d.Text(32, y, "start", "small", text)
		y += 16
	}
	if l.noise != "" {
		line(l.noise, func(y float64) {
			d.Rect(4, y-5, 22, 10, "noise", 1)
			d.Circle(15, y, 3.5, "dot")
		})
	}
	if l.both != "" {
		line(l.both, func(y float64) {
			d.Line(4, y, 26, y, "thin")
			d.Line(4, y-4, 4, y+4, "thin")
			d.Line(26, y-4, 26, y+4, "thin")
		})
	}
	if l.unknown {
		line(l.names.t("result.unknown_sampling"), func(y float64) { d.Line(2, y, 28, y, "dotted") })
	}
	return y - 6
}

// described says a picture in words: its first values.
func described(w words, bars []bar) string {
	var parts []string
	for i, b := range bars {
		if i == 6 {
			parts = append(parts, w.t("first.more", len(bars)-i))
			break
		}
		text := b.text(w)
		if b.suppressed {
			text = b.blank(w)
		}
		parts = append(parts, strings.TrimSpace(b.label+" "+text))
	}
	return strings.Join(parts, "; ") + "."
}

// histogram draws bars between edges, with the noise on top of each.
func histogram(w words, id, title, name string, edges [][2]float64, bars []bar, l legend) template.HTML {
	top, low, right := 0.0, 0.0, edges[len(edges)-1][1]
	key := l.noise
	for i, b := range bars {
		if b.to > b.from { // the interval says more than the noise
			bars[i].low, bars[i].high, key = b.from, b.to, l.both
		}
		if b = bars[i]; !b.suppressed {
			top, low = math.Max(top, b.high), math.Min(low, b.low)
		}
	}
	if top <= 0 {
		top = 1
	}
	thousands := briefly{}
	f := figure.NewFrame(figure.Axis{Name: name, Min: edges[0][0], Max: right, Ticks: even},
		figure.Axis{Min: low, Max: top * 1.04, Ticks: thousands}, figure.Key{Class: "thin", Name: key})
	for i, b := range bars {
		if b.suppressed {
			continue
		}
		f.Bar(edges[i][0], edges[i][1], b.value, "bin")
		f.Whisker((edges[i][0]+edges[i][1])/2, b.low, b.high, "thin")
	}
	return f.HTML(id, title, described(w, bars))
}

// quantiles draws released quantiles over their rank.
func quantiles(w words, id, title, name string, ranks []float64, bars []bar) template.HTML {
	lo, hi := math.Inf(1), math.Inf(-1)
	var points []figure.Point
	for i, b := range bars {
		lo, hi = math.Min(lo, b.value), math.Max(hi, b.value)
		points = append(points, figure.Point{X: ranks[i], Y: b.value})
	}
	if !(hi > lo) {
		lo, hi = lo-1, hi+1
	}
	pad := (hi - lo) * 0.06
	share := figure.Even(func(x float64) string { return percent(x) })
	f := figure.NewFrame(figure.Axis{Name: w.t("result.rank"), Min: 0, Max: 1, Ticks: share},
		figure.Axis{Name: name, Min: lo - pad, Max: hi + pad, Ticks: briefly{}})
	f.Curve(points, "main")
	for _, p := range points {
		f.Dot(p.X, p.Y)
	}
	return f.HTML(id, title, described(w, bars))
}

// heat draws a table by two columns, darker for larger values.
func heat(w words, id, title string, rows, columns []string, cells map[[2]string]bar) template.HTML {
	lo, hi, label, head := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, b := range cells {
		if !b.suppressed {
			lo, hi = math.Min(lo, b.value), math.Max(hi, b.value)
		}
	}
	for _, r := range rows {
		label = math.Max(label, math.Min(figure.TextWidth(r), longestLabel))
	}
	left := label + 10
	size := math.Min((pictureWidth-left-2)/float64(len(columns)), 110)
	for _, c := range columns {
		head = math.Max(head, figure.TextWidth(c))
	}
	turned := head > size-4
	top := 20.0
	if turned {
		top = math.Min(head, longestLabel)*0.72 + 16
	}
	d := &figure.Drawing{Width: pictureWidth, Height: top + float64(len(rows))*24 + 4}
	if turned { // the last of them lean out of the picture
		size = math.Min(size, (pictureWidth-left-math.Min(head, longestLabel)*0.7)/float64(len(columns)))
	}
	for k, c := range columns {
		at := left + (float64(k)+0.5)*size
		if turned {
			d.Turned(at-2, top-5, "small", clipped(c, longestLabel))
		} else {
			d.Text(at, top-6, "middle", "small", c)
		}
	}
	var all []bar
	for i, r := range rows {
		y := top + float64(i)*24
		d.Text(2, y+16, "start", "", clipped(r, longestLabel))
		for k, c := range columns {
			b, ok := cells[[2]string{r, c}]
			x := left + float64(k)*size
			if !ok || b.suppressed {
				d.Rect(x+0.5, y+0.5, size-1, 23, "blank", 1)
				d.Text(x+size/2, y+16, "middle", "small", "×")
				continue
			}
			b.label = r + ", " + c
			all = append(all, b)
			strength := 0.5
			if hi > lo {
				strength = (b.value - lo) / (hi - lo)
			}
			class := "small ink"
			if strength > 0.5 {
				class = "small paper"
			}
			d.Rect(x+0.5, y+0.5, size-1, 23, "heat", 0.06+0.9*strength)
			text := Rounded(b.value, math.Max(b.sd, (b.high-b.low)/2))
			if figure.TextWidth(text) > size-3 {
				text = brief(b.value)
			}
			if figure.TextWidth(text) <= size-2 {
				d.Text(x+size/2, y+16, "middle", class, text)
			}
		}
	}
	return d.HTML(id, title, described(w, all))
}

// clipped shortens a text that is wider than that.
func clipped(text string, width float64) string {
	if figure.TextWidth(text) <= width {
		return text
	}
	r := []rune(text)
	for len(r) > 1 && figure.TextWidth(string(r))+8 > width {
		r = r[:len(r)-1]
	}
	return strings.TrimSpace(string(r)) + "…"
}
