package report_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/report"
)

// A release over time has lines with bands, and a table of its latest period with changes.
func TestSeries(t *testing.T) {
	r, values := load(t, "series")
	page := html(t, pageOf(t, "series", r), r, values, false)
	inOrder(t, page, `id="released"`,
		"visits", `class="what">month<`, ">Weststadt<", `class="noise"`, ">600 ±\u202f78<", "2024-01", "2025-09", "the band the noise", "its own scale",
		"Latest figures of visits", ">district<", ">2025-09<", ">since 2025-08<", ">since 2024-09<", "<td>Weststadt</td>", ">−110 ±\u202f120<",
		"total", ">month<", `class="noise"`, ">running<", ">quarter<", "Latest figures of total", ">2130 ±\u202f160<", ">−230 ±\u202f230<", ">&#43;180 ±\u202f220<")
	if strings.Contains(page, "confidence interval") {
		t.Error("noise is called a confidence interval")
	}
	// A line's table ends with the latest rows; the rest is in the file.
	if !strings.Contains(page, "more rows in the file") || !strings.Contains(page, `<td class="p">change-12</td>`) {
		t.Error("the table of the rows is cut off at the wrong end")
	}
	for _, b := range report.Briefs(r, values) {
		if b.Release == "total" && b.Values != "2130 ±\u202f160" {
			t.Errorf("a terminal says %q of the latest period", b.Values)
		}
	}
}

// overTime makes a release over time; figure gives the value of a key in a period, or NaN.
func overTime(periods int, keys []string, figure func(period, key int) float64) report.Table {
	c := map[string]*report.Column{}
	var out report.Table
	names := []string{"period", "kind", "town", "value", "sd", "low", "high"}
	for _, name := range names {
		c[name] = &report.Column{Name: name}
	}
	for p := range periods {
		for k, key := range keys {
			x := figure(p, k)
			c["period"].Texts = append(c["period"].Texts, fmt.Sprintf("%d-%02d", 2024+p/12, p%12+1))
			c["kind"].Texts = append(c["kind"].Texts, "month")
			c["town"].Texts = append(c["town"].Texts, key)
			for name, v := range map[string]float64{"value": x, "sd": 2, "low": x - 4, "high": x + 4} {
				c[name].Float64, c[name].Blank = append(c[name].Float64, v), append(c[name].Blank, math.IsNaN(x))
			}
		}
	}
	for _, name := range names {
		out.Columns = append(out.Columns, *c[name])
	}
	return out
}

func TestSeriesOfOddShapes(t *testing.T) {
	r, values := load(t, "series")
	var many []string
	for k := range 40 {
		many = append(many, fmt.Sprintf("town %02d", k))
	}
	for name, c := range map[string]struct {
		table   report.Table
		has     []string
		hasNone []string
	}{
		"one period":     {overTime(1, many[:3], func(_, k int) float64 { return 100 + 10*float64(k) }), []string{">town 02<", "120.0 ±", "Latest figures"}, []string{"its own scale"}},
		"many keys":      {overTime(5, many, func(p, k int) float64 { return float64(100 + p + k) }), []string{"12 largest of 40", "town 39", "And 15 more rows"}, []string{`start" class="">town 10<`}},
		"a gap":          {overTime(6, many[:2], func(p, _ int) float64 { return []float64{9, 10, math.NaN(), 12, 13, 14}[p] }), []string{"14.0 ±"}, []string{"NaN"}},
		"nothing latest": {overTime(3, many[:2], func(p, _ int) float64 { return []float64{9, 10, math.NaN()}[p] }), []string{"suppressed"}, []string{"NaN"}},
		"nothing at all": {overTime(3, many[:2], func(_, _ int) float64 { return math.NaN() }), []string{"suppressed"}, []string{"NaN"}},
		"all alike":      {overTime(3, many[:1], func(_, _ int) float64 { return 0 }), []string{"0 ±"}, []string{"NaN"}},
	} {
		odd := map[string]report.Table{"visits": c.table, "total": values["total"]}
		page := html(t, pageOf(t, "series", r), r, odd, false)
		page, _, _ = strings.Cut(page, `<h3 id="r1">`)
		_, page, _ = strings.Cut(page, `<h3 id="r0">`)
		for _, want := range c.has {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page does not say %s", name, want)
			}
		}
		for _, not := range c.hasNone {
			if strings.Contains(page, not) {
				t.Errorf("%s: the page says %s", name, not)
			}
		}
	}
}
