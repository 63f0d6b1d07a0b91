package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Row is one row of a release as a publication shows it. All of it follows from released values.
type Row struct {
	// Cells are its values in the order of the columns, as numbers that programs read. Noisy ones are rounded to the digits
	// that their noise leaves meaningful: the noise keeps two. "" stands for a value that is not shown.
	Cells []string
	// Error is the standard deviation of the error of its value, 0 where the release does not say it.
	Error float64
	// Relative is Error over the size of the value: infinite for the value 0, and NaN where the error is not known or the row has no value.
	Relative float64
	Shown    bool // the release shows its value
}

// Rows returns a release as a publication shows it. Where the release is from a sample and has no interval for the
// population, the errors are those of the noise alone, as alone says.
func (e Release) Rows(t Table) (rows []Row, alone bool) {
	one := result{w: wordsIn("en"), release: e, table: t}
	one.index()
	var bars []bar
	if one.has("estimate") {
		bars, _ = one.bars()
	}
	noise := numbersOf(one.columns["noise_sd"])
	if one.has("kind", "name", "value") {
		noise = numbersOf(one.columns["noise_se"])
	}
	whole := make([]bool, len(t.Columns))
	for k, c := range t.Columns {
		whole[k] = Noisy(c) && isWhole(c)
	}
	rows = make([]Row, t.rows())
	for i := range rows {
		rows[i].Relative = math.NaN()
		if i < len(bars) {
			rows[i].judge(bars[i], e.level())
			alone = alone || bars[i].sampled && !(bars[i].to > bars[i].from)
		}
		of := 0.0
		if i < len(noise) {
			of = noise[i]
		}
		for k, c := range t.Columns {
			size := of
			if size > 0 && whole[k] {
				size = max(size, 10)
			}
			rows[i].Cells = append(rows[i].Cells, publishedCell(c, i, size))
		}
	}
	return rows, alone
}

// judge finds the error of a value: of noise and sampling together where an interval was released for it, else of the noise.
func (r *Row) judge(b bar, level float64) {
	r.Shown = !b.suppressed
	switch z := math.Sqrt2 * math.Erfinv(level); {
	case b.suppressed:
		return
	case b.to > b.from:
		r.Error = math.Max(b.to-b.value, b.value-b.from) / z
	case b.sd > 0:
		r.Error = b.sd
	default:
		r.Error = b.noise() / z
	}
	if r.Error > 0 {
		r.Relative = r.Error / math.Abs(b.value)
	}
}

// isWhole reports whether a column holds whole numbers alone: counts, which have no digits behind the point however small their noise.
func isWhole(c Column) bool {
	return !slices.ContainsFunc(numbersOf(c), func(x float64) bool { return x != math.Trunc(x) && !math.IsNaN(x) })
}

// level is the level of the intervals of a release, as a share.
func (e Release) level() float64 {
	if l, err := strconv.ParseFloat(e.Interval, 64); err == nil && l > 0 && l < 100 {
		return l / 100
	}
	return 0.95
}

// publishedCell writes value i of a column for a program. Edges, ranks and whole numbers without noise keep their digits.
func publishedCell(c Column, i int, noise float64) string {
	switch {
	case c.Hidden(i), i < len(c.Float64) && math.IsNaN(c.Float64[i]):
		return ""
	case i < len(c.Texts):
		return c.Texts[i]
	case Noisy(c) && i < len(c.Float64):
		if text := meaningful(c.Float64[i], noise); text != "" {
			return unsigned(text)
		}
	case Noisy(c) && i < len(c.Int64):
		if text := meaningful(float64(c.Int64[i]), noise); text != "" {
			return unsigned(text)
		}
	}
	switch {
	case i < len(c.Int64):
		return strconv.FormatInt(c.Int64[i], 10)
	case slices.Contains([]string{"lower", "upper", "quantile"}, c.Name) && i < len(c.Float64):
		return strconv.FormatFloat(c.Float64[i], 'f', -1, 64)
	}
	return cellOf(c, i)
}

// unsigned takes the sign from a number that was rounded to zero.
func unsigned(text string) string {
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// Noisy reports whether a column holds values or their errors, which a publication rounds and may leave blank.
func Noisy(c Column) bool {
	return slices.Contains(noisy, c.Name) || slices.Contains([]string{"value", "noise_se", "standard_error"}, c.Name)
}

// LimitNotes are the sentences on what is not in the values of a release, in the language of the publication.
func (r *Report) LimitNotes(e Release) []string { return limitText(r.words(), e, r.Dataset, true) }

// Promise is the guarantee of everything that the run released, as a sentence in the language of the publication.
func (r *Report) Promise() string {
	return Sentence(meaning(r.words(), r.Guarantee, r.Dataset)) + " (" + Charge(r.Guarantee) + ")"
}

func (r *Report) words() words {
	if r.Publication == nil {
		return wordsIn("en")
	}
	w := wordsIn(r.Publication.Language)
	w.labels = r.Publication
	return w
}
