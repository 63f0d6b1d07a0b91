package report_test

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/report"
)

// A release of many tables is drawn as rows and heat maps, with the names of their columns.
func TestMarginals(t *testing.T) {
	r, values := load(t, "schools")
	var table report.Table
	names := report.Column{Name: "table"}
	first, second, third := report.Column{Name: "value1"}, report.Column{Name: "value2"}, report.Column{Name: "value3"}
	estimate, sd := report.Column{Name: "estimate"}, report.Column{Name: "noise_sd"}
	add := func(name, a, b, c string, x float64) {
		names.Texts = append(names.Texts, name)
		first.Texts, second.Texts, third.Texts = append(first.Texts, a), append(second.Texts, b), append(third.Texts, c)
		estimate.Float64, sd.Float64 = append(estimate.Float64, x), append(sd.Float64, 3)
	}
	add("total", "", "", "", 321)
	for _, s := range []string{"female", "male"} {
		add("sex", s, "", "", 150)
		for _, d := range []string{"Hill", "Mill", "Port"} {
			add("sex,district", s, d, "", 40+float64(len(estimate.Float64)))
			for _, b := range []string{"young", "old"} {
				add("sex,district,age", s, d, b, 20)
			}
		}
	}
	table.Columns = []report.Column{names, first, second, third, estimate, sd}
	values[r.Releases[0].Name] = table
	page := html(t, pageOf(t, "schools", r), r, values, false)
	for _, want := range []string{`<p class="what">sex</p>`, `<p class="what">sex × district</p>`, "2 of 4 tables. The file has all of them.", "Darker is larger", ">Port<", ">female<"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	if strings.Contains(page, "sex × district × age") || strings.Contains(page, `<p class="what">total`) {
		t.Error("a table of three columns, or none, has a picture")
	}
}
