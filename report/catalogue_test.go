package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// Every language has every text, with the same blanks, and every text is used.
func TestCatalogues(t *testing.T) {
	var code strings.Builder
	files, _ := filepath.Glob("*.go")
	for _, f := range append(files, "page.html.tmpl") {
		if b, err := os.ReadFile(f); err == nil && !strings.HasSuffix(f, "_test.go") {
			code.Write(b)
		}
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z]+\.[a-z_]+)"`).FindAllStringSubmatch(code.String(), -1) {
		named[m[1]] = true
	}
	en := wordsIn("en").texts
	if len(en) < 150 {
		t.Fatalf("only %d texts", len(en))
	}
	for name := range en {
		family, _, _ := strings.Cut(name, ".")
		open := []string{"mechanism", "design", "method", "believed", "drawn", "without", "rests"} // looked up by a name of the report
		if !named[name] && !slices.Contains(open, family) {
			t.Errorf("no page says %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`\.(?:t|T)\(?\s*"([a-z]+\.[a-z_]+)"|\.T "([a-z]+\.[a-z_]+)"`).FindAllStringSubmatch(code.String(), -1) {
		if name := m[1] + m[2]; en[name] == "" {
			t.Errorf("the page says %s, which is no text", name)
		}
	}
	for _, l := range Languages {
		w := wordsIn(l)
		for name, text := range en {
			if w.texts[name] == "" {
				t.Errorf("%s has no %s", l, name)
			}
			if a, b := blanks(text), blanks(w.texts[name]); a != b {
				t.Errorf("%s: %s has %d blanks, not %d", l, name, b, a)
			}
		}
		if len(w.texts) != len(en) {
			t.Errorf("%s has %d texts, English %d", l, len(w.texts), len(en))
		}
	}
}

// blanks counts the different values that a text takes.
func blanks(text string) int {
	numbers := map[string]bool{}
	plain := 0
	for _, m := range regexp.MustCompile(`%(?:\[(\d)\])?(?:\.0)?[sd]`).FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			plain++
		} else {
			numbers[m[1]] = true
		}
	}
	return plain + len(numbers)
}

// A language that is not there is English, and German sentences are whole.
func TestWordsInGerman(t *testing.T) {
	for _, bad := range []string{"", "xx"} {
		if wordsIn(bad).language != "en" {
			t.Errorf("%q is not English", bad)
		}
	}
	w := wordsIn("de")
	if !w.foreign() || w.t("unit.row") != "Zeile" {
		t.Error("German is missing")
	}
	g := Guarantee{Epsilon: 1, Delta: 1e-6}
	if text := meaning(w, g, Dataset{Unit: "row"}); strings.Contains(text, "%!") || !strings.Contains(text, "Faktor 2.719") {
		t.Error(text)
	}
	g.Relation = privacy.ReplaceOne
	for _, d := range []Dataset{{Unit: "row"}, {Unit: "row", PublicColumns: []string{"county", "district"}}, {Unit: "row", UnitName: "person", UnitColumn: "id", UnitRows: "folded"}} {
		for _, l := range Languages {
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
	if !strings.Contains(b.text(), "±") {
		t.Error(b.text())
	}
	b.sampled = true
	if strings.Contains(b.text(), "±") {
		t.Error(b.text())
	}
	b.half = 5
	if !strings.Contains(b.text(), "± 5.0") && !strings.Contains(b.text(), "±\u202f5.0") {
		t.Error(b.text())
	}
}

// A value that is not shown is marked, in the picture and in the table, and never drawn as
// a number.
func TestSuppressed(t *testing.T) {
	table := Table{Columns: []Column{
		{Name: "region", Text: []string{"north", "south"}},
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
	g := table.grid(wordsIn("en"), 5)
	if g.Rows[1][1].Text != "×" || g.Rows[0][1].Text != "120.0" {
		t.Errorf("%+v", g.Rows)
	}
	if v := one.values(); !strings.Contains(v, "south suppressed") || strings.Contains(v, "777") {
		t.Error(v)
	}
}
