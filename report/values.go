package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/plugins/columns"
)

// Table is a released table, for the page. Values stand in no report.json: two
// runs of one job give the same report.
type Table struct{ Columns []Column }

// Column is one column of a released table.
type Column = columns.Column

func isNumeric(c Column) bool { return c.Texts == nil }

// numbersOf are the values of a column of numbers; one that is not shown is none.
func numbersOf(c Column) []float64 {
	if c.Texts != nil {
		return nil
	}
	out := make([]float64, c.Len())
	for i := range out {
		switch {
		case c.Hidden(i):
			out[i] = math.NaN()
		case c.Int64 != nil:
			out[i] = float64(c.Int64[i])
		default:
			out[i] = c.Float64[i]
		}
	}
	return out
}

// part is the rows of a table from one up to another, which share its memory.
func (t Table) part(from, to int) (out Table) {
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, c.Part(from, to))
	}
	return out
}

// cellOf prints one value with seven significant digits; the files have them all.
func cellOf(c Column, i int) string {
	switch {
	case c.Hidden(i):
		return ""
	case i < len(c.Float64):
		return plain(c.Float64[i], 7)
	case i < len(c.Int64):
		return strconv.FormatInt(c.Int64[i], 10)
	case i < len(c.Texts):
		return c.Texts[i]
	}
	return ""
}

// rows is the length of the longest column.
func (t Table) rows() int {
	n := 0
	for _, c := range t.Columns {
		n = max(n, c.Len())
	}
	return n
}

// noisy are the columns that noise_sd is about; the others keep their digits.
var noisy = []string{"estimate", "noise_sd", "noise_low", "noise_high", "interval_low", "interval_high", "standard_error", "consistent"}

// noisyOverTime are those of a release over time, where sd is the noise.
var noisyOverTime = []string{"value", "sd", "low", "high"}

// beside are columns with a noise of their own, which no column tells.
var beside = []string{"count", "mean"}

// WithoutNoiseDigits returns a table for people and spreadsheets: numbers that carry noise become texts with the digits that
// the noise of their row leaves meaningful, with seven where that noise stands nowhere. The ends of intervals are rounded
// outward, so that they hold as often. Rows of a series, and of tables that agree with one another, keep all digits: rounded
// one by one they would no longer add up.
func (t Table) WithoutNoiseDigits() Table {
	if t.agrees() {
		return t
	}
	with, noise := t.noise()
	out := Table{Columns: slices.Clone(t.Columns)}
	for i := range out.Columns {
		c := &out.Columns[i]
		own := slices.Contains(with, c.Name)
		if c.Float64 == nil || !own && !slices.Contains(beside, c.Name) {
			continue
		}
		texts := make([]string, len(c.Float64))
		for row, x := range c.Float64 {
			switch {
			case !own || len(noise) == 0:
				texts[row] = plain(x, 7)
			default:
				texts[row] = outward(c.Name, x, noiseOf(noise, row))
			}
			if texts[row] == "" {
				texts[row] = strconv.FormatFloat(x, 'g', -1, 64)
			}
		}
		c.Float64, c.Texts = nil, texts
	}
	return out
}

// agrees reports whether rows of a table are sums of others.
func (t Table) agrees() bool {
	names := map[string]bool{}
	for _, c := range t.Columns {
		names[c.Name] = true
	}
	return t.isSeries() || names["table"] && names["value1"]
}

func noiseOf(noise []float64, row int) float64 {
	if row < len(noise) {
		return noise[row]
	}
	return 0
}

// outward writes a number with the digits that its noise leaves meaningful, the lower end of an interval not above it, and the
// upper end not below it.
func outward(column string, x, noise float64) string {
	text := meaningful(x, noise)
	switch {
	case text == "":
		return ""
	case x == math.Trunc(x) && strings.Contains(text, "."): // a count
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	step := math.Pow10(int(math.Floor(math.Log10(noise))) - 1)
	shown, err := strconv.ParseFloat(text, 64)
	low, high := strings.HasSuffix(column, "low"), strings.HasSuffix(column, "high")
	switch {
	case err != nil:
		return ""
	case low && shown > x:
		return meaningful(x-step/2, noise)
	case high && shown < x:
		return meaningful(x+step/2, noise)
	}
	return text
}

// noise returns the columns of a table that carry noise, and the noise of each row: that of quantiles, which is private, is as large
// as the standard error that their interval stands for.
func (t Table) noise() (with []string, noise []float64) {
	with, of := noisy, "noise_sd"
	if t.isSeries() {
		with, of = noisyOverTime, "sd"
	}
	at := map[string][]float64{}
	for _, c := range t.Columns {
		at[c.Name] = numbersOf(c)
	}
	low, high := at["interval_low"], at["interval_high"]
	if noise = at[of]; noise == nil && len(low) == len(high) {
		for i := range low {
			noise = append(noise, (high[i]-low[i])/4)
		}
	}
	return with, noise
}

// shown returns at most so many rows: the first ones, or of a release over time the last ones.
func (t Table) shown(limit int) Table {
	from := 0
	if t.isSeries() {
		from = max(t.rows()-limit, 0)
	}
	return t.part(from, from+limit)
}

// grid shows a table, rounded to what the noise leaves meaningful.
func (t Table) grid(w words) *document.Table {
	if len(t.Columns) == 0 {
		return nil
	}
	var g document.Table
	for _, c := range t.Columns {
		g.Head = append(g.Head, document.Head{Name: w.labels.Label(c.Name), Number: isNumeric(c)})
	}
	with, noise := t.noise()
	marked := slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == "kind" })
	for i := range t.rows() {
		row := make([]document.Cell, len(t.Columns))
		for k, c := range t.Columns {
			text := cellOf(c, i)
			if c.Name == "flag" || marked && (c.Name == "kind" || c.Name == "name") { // the words of the program
				text = w.note(text)
			}
			switch {
			case text == "" && isNumeric(c), i < len(c.Float64) && math.IsNaN(c.Float64[i]):
				text = "×" // suppressed
			case i < len(c.Float64) && i < len(noise) && slices.Contains(with, c.Name):
				text = Rounded(c.Float64[i], noise[i])
			}
			row[k] = document.Cell{Text: text, Number: isNumeric(c), Whole: t.isSeries() && (c.Name == "period" || c.Name == "kind")}
		}
		g.Rows = append(g.Rows, row)
	}
	return &g
}
