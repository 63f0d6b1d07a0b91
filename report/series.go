package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/internal/say/figure"
)

// The most kinds of rows of a series that have a picture, and the most lines in one picture.
const (
	mostKinds   = 4
	mostStripes = 12
)

// overTime is a release of figures of many periods: its rows by kind, period and key.
type overTime struct {
	kinds   []string            // in the order of the release, without changes
	changes []string            // the kinds that are differences between periods
	periods map[string][]string // of each kind
	keyed   string              // the names of the columns that tell the figures of a period apart
	keys    []string            // such as districts; one, "", where nothing tells them apart
	bars    map[figureOf]bar
}

// figureOf names one figure of a series.
type figureOf struct{ kind, period, key string }

// seriesColumns are the columns of a release over time that are no keys.
var seriesColumns = []string{"period", "kind", "value", "sd", "low", "high"}

// isSeries reports whether the rows of a table are figures over time.
func (t Table) isSeries() bool {
	return t.rows() > 0 && !slices.ContainsFunc(seriesColumns, func(name string) bool {
		return !slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == name })
	})
}

// newResult returns a release whose pictures can be made. A release over time is judged by
// the figures of its latest period, as if they were all of it.
func newResult(w words, e Release, t Table) result {
	r := result{w: w, release: e, table: w.labelled(e, t)}
	t = r.table
	r.index()
	if t.isSeries() {
		r.over = r.readSeries()
		r.table = r.latest()
		r.index()
	}
	return r
}

// readSeries reads the rows by kind, period and key.
func (r *result) readSeries() *overTime {
	o := &overTime{periods: map[string][]string{}, bars: map[figureOf]bar{}}
	keys := r.table.seriesKeys()
	var names []string
	for _, c := range keys {
		names = append(names, c.Name)
	}
	o.keyed = strings.Join(names, " · ")
	periods, kinds, flags := r.columns["period"].Texts, r.columns["kind"].Texts, r.columns["flag"].Texts
	sds, low, high := numbersOf(r.columns["sd"]), numbersOf(r.columns["low"]), numbersOf(r.columns["high"])
	seen, known := map[figureOf]bool{}, map[string]bool{}
	for i, v := range numbersOf(r.columns["value"]) {
		var key []string
		for _, c := range keys {
			key = append(key, cellOf(c, i))
		}
		at := figureOf{kinds[i], periods[i], strings.Join(key, " · ")}
		if first := (figureOf{kind: at.kind, period: at.period}); !seen[first] {
			seen[first] = true
			o.periods[at.kind] = append(o.periods[at.kind], at.period)
		}
		if !known[at.key] {
			known[at.key] = true
			o.keys = append(o.keys, at.key)
		}
		b := bar{label: at.key, value: v, low: low[i], high: high[i], sd: sds[i], suppressed: math.IsNaN(v)}
		if r.release.Partial() { // the interval has one end or none: the band is that of the noise
			if b.part = r.w.t("result.part"); !math.IsNaN(b.low) {
				b.part = r.w.t("result.at_least", Rounded(b.low, math.Abs(b.low)/50))
			}
			half := 0.0
			if b.sd > 0 { // else it is blank
				half = 1.96 * b.sd
			}
			b.low, b.high = v-half, v+half
		}
		if i < len(flags) {
			b.flag = r.w.note(flags[i])
		}
		o.bars[at] = b
	}
	for _, kind := range distinct(kinds) {
		if strings.HasPrefix(kind, "change-") {
			o.changes = append(o.changes, kind)
		} else {
			o.kinds = append(o.kinds, kind)
		}
	}
	if len(o.kinds) == 0 { // nothing but changes is published
		o.kinds, o.changes = o.changes, nil
	}
	return o
}

// seriesKeys returns the columns that tell the figures of one kind and period apart: those of
// texts, and those of numbers only where texts do not, since a number can be an estimate as well
// as the edge of a bin.
func (t Table) seriesKeys() (keys []Column) {
	var numbers []Column
	for _, c := range t.Columns {
		switch {
		case slices.Contains(seriesColumns, c.Name) || c.Name == "flag" || !varies(c):
		case c.Texts != nil:
			keys = append(keys, c)
		default:
			numbers = append(numbers, c)
		}
	}
	seen := map[string]bool{}
	for i := range t.rows() {
		var at []string
		for _, c := range t.Columns {
			if c.Name == "period" || c.Name == "kind" || slices.ContainsFunc(keys, func(k Column) bool { return k.Name == c.Name }) {
				at = append(at, cellOf(c, i))
			}
		}
		if one := strings.Join(at, "\x00"); seen[one] {
			return append(keys, numbers...)
		} else {
			seen[one] = true
		}
	}
	return keys
}

// varies reports whether a column has two different values.
func varies(c Column) bool {
	for i := range c.Len() {
		if cellOf(c, i) != cellOf(c, 0) {
			return true
		}
	}
	return false
}

// main is the kind of the single periods, or else the first kind.
func (o *overTime) main() string {
	for _, kind := range []string{"month", "quarter", "year"} {
		if slices.Contains(o.kinds, kind) {
			return kind
		}
	}
	return o.kinds[0]
}

// last is the latest period of a kind.
func (o *overTime) last(kind string) string {
	all := o.periods[kind]
	return all[len(all)-1]
}

// latest returns the rows of the latest period in the form of a release that has no other.
func (r *result) latest() Table {
	kind := r.over.main()
	period := r.over.last(kind)
	var m marginal
	for i, k := range r.columns["kind"].Texts {
		if k == kind && r.columns["period"].Texts[i] == period {
			m.rows = append(m.rows, i)
		}
	}
	named := map[string]string{"value": "estimate", "sd": "noise_sd", "low": "noise_low", "high": "noise_high"}
	var out Table
	for _, c := range r.table.Columns {
		if c.Name == "period" || c.Name == "kind" {
			continue
		}
		c = c.Pick(m.rows)
		if name, ok := named[c.Name]; ok {
			c.Name = name
		}
		out.Columns = append(out.Columns, c)
	}
	return out
}

// series draws a release over time: lines with bands where it has one figure for each
// period, or else a narrow line for each of the largest keys. It reports whether there was
// something to draw.
func (r *result) series(id string) bool {
	o := r.over
	drawn := 0
	one := len(o.keys) == 1
	for k, kind := range o.kinds {
		if len(o.periods[kind]) < 2 || drawn == mostKinds || !one && kind != o.main() {
			continue
		}
		drawn++
		title := r.w.t("result.title", r.release.Name) + ", " + kind
		place := fmt.Sprintf("%s-s%d", id, k)
		if one {
			r.pictures = append(r.pictures, r.curve(place, title, kind))
			continue
		}
		name := template.HTML(`<p class="what">` + template.HTMLEscapeString(kind) + `</p>`) //nolint:gosec // escaped
		r.pictures = append(r.pictures, name, r.stripes(place, title, kind))
	}
	if drawn == 0 {
		return false
	}
	r.under = append(r.under, r.w.t("series.band"))
	if r.release.Partial() {
		r.under = append(r.under, r.w.t("series.part", r.release.marked(r.w)))
	}
	if n := len(o.keys); n > 1 {
		r.under = append(r.under, r.w.t("series.scales"))
		if n > mostStripes {
			r.under = append(r.under, r.w.t("result.largest", mostStripes, n))
		}
	}
	return true
}

// track returns the figures of a kind for one key, by period, and the ends of their axis.
func (o *overTime) track(kind, key string) (bars []bar, lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, period := range o.periods[kind] {
		b, ok := o.bars[figureOf{kind, period, key}]
		b.label, b.suppressed = period, b.suppressed || !ok
		if !b.suppressed {
			lo, hi = math.Min(lo, b.low), math.Max(hi, b.high)
		}
		bars = append(bars, b)
	}
	if !(hi >= lo) {
		lo, hi = 0, 1
	}
	if pad := 0.06 * (hi - lo); pad > 0 {
		return bars, lo - pad, hi + pad
	}
	return bars, lo - 1, hi + 1
}

// stretches are the figures in a row that are not suppressed, each with its place in time.
func stretches(bars []bar, f func(x []float64, part []bar)) {
	for i := 0; i < len(bars); {
		n := i
		var x []float64
		for n < len(bars) && !bars[n].suppressed {
			x = append(x, float64(n))
			n++
		}
		if n > i {
			f(x, bars[i:n])
		}
		i = n + 1
	}
}

// curve draws one figure over time, with its band.
func (r *result) curve(id, title, kind string) template.HTML {
	bars, lo, hi := r.over.track(kind, r.over.keys[0])
	f := figure.NewFrame(figure.Axis{Min: -0.4, Max: float64(len(bars)) - 0.6, Ticks: figure.Some(r.over.periods[kind])},
		figure.Axis{Name: r.about(), Min: lo, Max: hi, Ticks: briefly{}},
		figure.Key{Class: "main", Name: kind})
	stretches(bars, func(x []float64, part []bar) {
		var low, high []float64
		var line []figure.Point
		for i, b := range part {
			low, high = append(low, b.low), append(high, b.high)
			line = append(line, figure.Point{X: x[i], Y: b.value})
		}
		f.Band(x, low, high, "noise")
		if r.release.Partial() { // a line would read as a trend (P41)
			for _, p := range line {
				f.Dot(p.X, p.Y)
			}
			return
		}
		f.Curve(line, "main")
	})
	if end := len(bars) - 1; !bars[end].suppressed {
		f.Dot(float64(end), bars[end].value)
	}
	return f.HTML(id, title, described(r.w, latestFirst(bars)))
}

// stripes draws a narrow line with its band for each of the largest keys, each on a scale of
// its own, with the latest figure beside it.
func (r *result) stripes(id, title, kind string) template.HTML {
	o := r.over
	var ends []bar // the latest figures
	for _, key := range o.keys {
		b, ok := o.bars[figureOf{kind, o.last(kind), key}]
		b.label, b.suppressed = key, b.suppressed || !ok
		ends = append(ends, b)
	}
	slices.SortStableFunc(ends, bySize)
	ends = ends[:min(len(ends), mostStripes)]
	label, number := 0.0, 0.0
	for _, b := range ends {
		label = math.Max(label, math.Min(figure.TextWidth(b.label), longestLabel))
		if !b.suppressed {
			number = math.Max(number, figure.TextWidth(b.text(r.w)))
		}
	}
	const height, gap = 30.0, 8.0
	left, right := label+10, pictureWidth-number-14
	d := &figure.Drawing{Width: pictureWidth, Height: float64(len(ends))*(height+gap) + 22}
	for k, end := range ends {
		top := float64(k)*(height+gap) + 2
		bars, lo, hi := o.track(kind, end.label)
		x := func(at float64) float64 { return left + at/float64(len(bars)-1)*(right-left) }
		y := func(v float64) float64 { return top + height*(hi-v)/(hi-lo) }
		d.Text(2, top+height/2+4, "start", "", clipped(end.label, longestLabel))
		if lo < 0 && hi > 0 {
			d.Line(left, y(0), right, y(0), "axis")
		}
		stretches(bars, func(at []float64, part []bar) {
			var outline, line []figure.Point
			for i, b := range part {
				outline = append(outline, figure.Point{X: x(at[i]), Y: y(b.low)})
				line = append(line, figure.Point{X: x(at[i]), Y: y(b.value)})
			}
			for i := len(part) - 1; i >= 0; i-- {
				outline = append(outline, figure.Point{X: x(at[i]), Y: y(part[i].high)})
			}
			d.Path(append(outline, outline[0]), "noise")
			if r.release.Partial() {
				for _, p := range line {
					d.Circle(p.X, p.Y, 2, "dot")
				}
				return
			}
			d.Path(line, "main")
		})
		if end.suppressed {
			d.Text(pictureWidth-2, top+height/2+4, "end", "small", end.blank(r.w))
			continue
		}
		d.Circle(x(float64(len(bars)-1)), y(end.value), 3, "dot")
		d.Text(pictureWidth-2, top+height/2+4, "end", "", end.text(r.w))
	}
	periods := o.periods[kind]
	d.Text(left, d.Height-5, "start", "small", periods[0])
	d.Text(right, d.Height-5, "end", "small", periods[len(periods)-1])
	return d.HTML(id, title, described(r.w, ends))
}

// latestFirst turns figures over time around.
func latestFirst(bars []bar) []bar {
	out := slices.Clone(bars)
	slices.Reverse(out)
	return out
}

// recent is the table of the latest period: each figure and, where they are published, its
// changes, with the noise of each.
func (r *result) recent() *document.Table {
	o := r.over
	kind := o.main()
	period := o.last(kind)
	var g document.Table
	if o.keyed != "" {
		g.Head = append(g.Head, document.Head{Name: o.keyed})
	}
	g.Head = append(g.Head, document.Head{Name: period, Number: true})
	var changes []string
	for _, c := range o.changes {
		if slices.Contains(o.periods[c], period) {
			changes = append(changes, c)
			g.Head = append(g.Head, document.Head{Name: r.w.t("series.since", o.before(kind, c)), Number: true})
		}
	}
	var rows []bar
	for _, key := range o.keys {
		if b, ok := o.bars[figureOf{kind, period, key}]; ok {
			rows = append(rows, b)
		}
	}
	slices.SortStableFunc(rows, bySize)
	for _, b := range rows[:min(len(rows), mostRows)] {
		var cells []document.Cell
		if o.keyed != "" {
			cells = append(cells, document.Cell{Text: b.label})
		}
		cells = append(cells, document.Cell{Text: r.cell(b), Number: true})
		for _, c := range changes {
			text := "×"
			if d, ok := o.bars[figureOf{c, period, b.label}]; ok {
				text = signed(r.cell(d), d)
			}
			cells = append(cells, document.Cell{Text: text, Number: true})
		}
		g.Rows = append(g.Rows, cells)
	}
	if n := len(rows) - len(g.Rows); n > 0 {
		g.More = r.w.t("result.more_rows", n)
	}
	return &g
}

// signed gives the text of a change its sign, unless the noise leaves nothing of it.
func signed(text string, change bar) string {
	size := strings.TrimPrefix(text, "−")
	switch {
	case change.suppressed:
		return text
	case !strings.ContainsAny(strings.SplitN(size, "\u202f", 2)[0], "123456789"):
		return size
	case change.value > 0:
		return "+" + text
	}
	return text
}

// cell is one figure of a table, with its noise.
func (r *result) cell(b bar) string {
	if b.suppressed {
		return b.blank(r.w)
	}
	return b.text(r.w)
}

// before is the period with which a change compares the latest one of a kind.
func (o *overTime) before(kind, change string) string {
	all := o.periods[kind]
	n, err := strconv.Atoi(strings.TrimPrefix(change, "change-"))
	if err != nil || n < 1 || n >= len(all) {
		return "−" + strings.TrimPrefix(change, "change-")
	}
	return all[len(all)-1-n]
}
