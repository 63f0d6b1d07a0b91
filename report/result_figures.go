package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// rows draws a row for each value: one picture for each column whose values are of another
// size.
func (r *result) rows(id, title string, bars []bar, l legend, groups []Column) {
	columns, several := r.columns["column"], r.severalColumns()
	split := several && (len(groups) > 0 || spread(bars) > 8)
	parts := map[string][]bar{}
	var order []string
	for i, b := range bars {
		var label []string
		for _, g := range groups {
			label = append(label, cellOf(g, i))
		}
		if several && !split {
			label = append(label, cellOf(columns, i))
		}
		if q := r.columns["quantile"]; i < q.Len() {
			label = append(label, r.rank(q.Float64[i]))
		}
		if len(label) == 0 && !split {
			label = append(label, r.about())
		}
		b.label = strings.Join(label, " · ")
		part := ""
		if split {
			part = cellOf(columns, i)
		}
		if _, ok := parts[part]; !ok {
			order = append(order, part)
		}
		parts[part] = append(parts[part], b)
	}
	for k, name := range order {
		all := parts[name]
		if len(groups) > 0 && !r.has("quantile") && (!r.release.countsUnits() || len(all) > mostRows) {
			slices.SortStableFunc(all, bySize)
		}
		if n := len(all); n > mostRows {
			all = all[:mostRows]
			r.under = append(r.under, r.w.t("result.largest", mostRows, n))
		}
		what := title
		if split {
			what += ", " + name
			r.under = appendNew(r.under, r.w.t("result.parts", strings.Join(order, ", ")))
		}
		r.pictures = append(r.pictures, dots(r.w, fmt.Sprintf("%s-%d", id, k), what, all, l))
	}
}

// bySize puts the largest value first and suppressed ones last.
func bySize(a, b bar) int {
	if a.suppressed != b.suppressed {
		if a.suppressed {
			return 1
		}
		return -1
	}
	return cmp.Compare(b.value, a.value)
}

// spread returns how many times the largest value is larger than the smallest.
func spread(bars []bar) float64 {
	lo, hi := math.Inf(1), 0.0
	for _, b := range bars {
		if v := math.Abs(b.value); v > 0 && !b.suppressed {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	return hi / lo
}

// rank names a quantile as people do.
func (r *result) rank(q float64) string {
	if q == 0.5 {
		return r.w.t("result.median")
	}
	return percent(q)
}

func (r *result) heat(id, title string, rows, columns []string, bars []bar) {
	ys, xs := distinct(rows), distinct(columns)
	turned := len(xs) > len(ys) && len(xs) > 6
	if turned {
		ys, xs = xs, ys
	}
	cells := map[[2]string]bar{}
	for i, b := range bars {
		key := [2]string{rows[i], columns[i]}
		if turned {
			key = [2]string{columns[i], rows[i]}
		}
		cells[key] = b
	}
	r.pictures = append(r.pictures, heat(r.w, id, title, ys, xs, cells))
}

// typicalNoise is the middle one of the errors by noise.
func (r *result) typicalNoise(bars []bar) float64 {
	var all []float64
	for _, b := range bars {
		all = append(all, (b.high-b.low)/2)
	}
	return middle(all)
}

func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(all))
	return s[len(s)/2]
}

// coefficients draws those of a regression in standard errors, because each has a unit of
// its own. Without standard errors there is nothing to compare them by.
func (r *result) coefficients(id string) {
	kinds, names := r.columns["kind"].Texts, r.columns["name"].Texts
	var bars []bar
	for i, b := range r.effects() {
		if i >= len(kinds) || kinds[i] != "coefficient" || b.half == 0 || names[i] == "(intercept)" {
			continue
		}
		unit := b.half / 2 // the standard error
		bars = append(bars, bar{label: names[i], value: b.value / unit, low: b.low / unit, high: b.high / unit, half: 2, sampled: true})
	}
	if len(bars) == 0 || len(bars) > 2*mostRows {
		return
	}
	l := legend{noise: r.w.t("result.coefficient_noise"), both: r.w.t("result.coefficient_both"), zero: true, names: r.w}
	r.pictures = append(r.pictures, dots(r.w, id, r.w.t("result.coefficient_title", r.release.Name), bars, l))
	r.under = append(r.under, r.w.t("result.coefficients"))
}
