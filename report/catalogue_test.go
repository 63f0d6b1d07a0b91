package report

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/say/sentence"
	"github.com/dprelease/dprelease/privacy"
)

// A language that is not there is English, and German sentences are whole.
func TestWordsInGerman(t *testing.T) {
	for _, bad := range []string{"", "xx"} {
		if wordsIn(bad).Name != "en" {
			t.Errorf("%q is not English", bad)
		}
	}
	w := wordsIn("de")
	if !w.Foreign() || w.t("unit.row") != "Zeile" {
		t.Error("German is missing")
	}
	g := Guarantee{Epsilon: 1, Delta: 1e-6}
	if text := meaning(w, g, Dataset{Unit: "row"}); strings.Contains(text, "%!") || !strings.Contains(text, "Faktor 2,719 und um höchstens weitere 1e-6 (1 zu 1.000.000)") {
		t.Error(text)
	}
	g.Relation = privacy.ReplaceOne
	for _, d := range []Dataset{{Unit: "row"}, {Unit: "row", PublicColumns: []string{"county", "district"}}, {Unit: "row", UnitName: "person", UnitColumn: "id", UnitRows: "folded"}} {
		for _, l := range sentence.Languages {
			if text := meaning(wordsIn(l), g, d); strings.Contains(text, "%!") {
				t.Error(text)
			}
		}
	}
}

func TestRounded(t *testing.T) {
	for _, c := range []struct {
		x, noise float64
		want     string
	}{
		{631.5582, 1.93, "631.6"}, {1372.1, 76.2, "1372"}, {20558596.75, 169705, "20\u202f560\u202f000"}, {-12345.6, 0.5, "−12\u202f345.60"},
		{0.45490, 0.00107, "0.4549"}, {17.5, 1400, "0"}, {666.123, 0, "666.1"},
	} {
		if got := Rounded(c.x, c.noise); got != c.want {
			t.Errorf("%g ± %g: %q, not %q", c.x, c.noise, got, c.want)
		}
	}
}

// Noise alone never stands beside a value as ± where rows were sampled (P30). The twin
// without sampling has it, so the check can fail.
func TestNoInterval(t *testing.T) {
	b := bar{value: 100, low: 98, high: 102}
	if !strings.Contains(b.text(wordsIn("en")), "±") {
		t.Error(b.text(wordsIn("en")))
	}
	b.sampled = true
	if strings.Contains(b.text(wordsIn("en")), "±") {
		t.Error(b.text(wordsIn("en")))
	}
	b.half = 5
	if !strings.Contains(b.text(wordsIn("en")), "± 5.0") && !strings.Contains(b.text(wordsIn("en")), "±\u202f5.0") {
		t.Error(b.text(wordsIn("en")))
	}
}

// A value that is not shown is marked, in the picture and in the table, and never drawn as
// a number.
func TestSuppressed(t *testing.T) {
	table := Table{Columns: []Column{
		{Name: "region", Texts: []string{"north", "south"}},
		{Name: "estimate", Float64: []float64{120, 7777}, Blank: []bool{false, true}},
		{Name: "noise_sd", Float64: []float64{3, 3}},
	}}
	one := newResult(wordsIn("en"), Release{Name: "n", From: "all"}, table)
	one.draw("p")
	if len(one.pictures) != 1 {
		t.Fatalf("%d pictures", len(one.pictures))
	}
	picture := string(one.pictures[0])
	if !strings.Contains(picture, "× suppressed") || !strings.Contains(picture, "120.0") || strings.Contains(picture, "777") || strings.Contains(picture, "NaN") {
		t.Error(picture)
	}
	g := table.shown(5).grid(wordsIn("en"))
	if g.Rows[1][1].Text != "×" || g.Rows[0][1].Text != "120.0" {
		t.Errorf("%+v", g.Rows)
	}
	if v := one.values(); !strings.Contains(v, "south suppressed") || strings.Contains(v, "777") {
		t.Error(v)
	}
}
