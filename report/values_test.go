package report_test

import (
	"testing"

	"github.com/dprelease/dprelease/report"
)

// The values of a mechanism whose columns have names of its own stand on the terminal under these names.
func TestValuesOfOtherNames(t *testing.T) {
	r := &report.Report{Releases: []report.Release{{Name: "m", Mechanism: report.Mechanism{Name: "my-total"}, From: report.All,
		Fields: []report.Field{{Name: "kind", Type: "string"}, {Name: "total", Type: "float64"}, {Name: "rows", Type: "int64"}}}}}
	table := report.Table{Columns: []report.Column{{Name: "kind", Texts: []string{"all"}}, {Name: "total", Float64: []float64{12.5}},
		{Name: "rows", Int64: []int64{3}}}}
	if b := report.Briefs(r, map[string]report.Table{"m": table}); len(b) != 1 || b[0].Values != "total 12.5, rows 3" {
		t.Errorf("%+v", b)
	}
}
