package report_test

import (
	"testing"

	"github.com/dprelease/dprelease/report"
)

// No text of a cell begins as a formula does but a number, and no two texts become one.
func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"=cmd|'/c calc'!A0": "'=cmd|'/c calc'!A0", "+1+1": "'+1+1", "-x > 3": "'-x > 3", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1",
		"\n=1": "'\n=1", "＝1+1": "'＝1+1", "'=1": "''=1", "''=1": "'''=1",
		"": "", "a=b": "a=b", "-": "'-", "-5": "-5", "+1.5e3": "+1.5e3", "'tis": "'tis", "süd": "süd", "(-1, 2]": "(-1, 2]", "-5–0": "'-5–0",
	} {
		if got := report.Cell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
