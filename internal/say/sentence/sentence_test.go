package sentence

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// code is the text of the programs in some folders, without their tests, and of the templates of their pages.
func code(t *testing.T, folders ...string) string {
	t.Helper()
	var out strings.Builder
	for _, f := range folders {
		read(t, filepath.Join("..", "..", "..", f), &out)
	}
	return regexp.MustCompile("\" ?\\+\n\\t*\"").ReplaceAllString(out.String(), "") // a long text stands in several lines
}

func read(t *testing.T, root string, out *strings.Builder) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".tmpl":
			return nil
		}
		b, err := os.ReadFile(path)
		out.Write(b)
		return err
	})
	if err != nil || out.Len() == 0 {
		t.Fatal(root, err)
	}
}

// A parser of YAML finds the same texts.
func TestReadIsYAML(t *testing.T) {
	for _, folder := range []string{".", filepath.Join("..", "..", "design")} {
		for _, l := range Languages {
			var want struct {
				Texts map[string]string `yaml:",inline"`
				Notes map[string]string
			}
			b, err := os.ReadFile(filepath.Join(folder, "texts", l+".yaml"))
			if err == nil {
				err = yaml.Unmarshal(b, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := Read(os.DirFS(folder), l)
			if !maps.Equal(got.Texts, want.Texts) || !maps.Equal(got.Notes, want.Notes) || len(got.Texts) < 50 {
				t.Errorf("%s: the texts of %s are others", folder, l)
			}
		}
	}
}

// looked are the families of texts that are looked up by a name of the report.
var looked = []string{"mechanism", "design", "method", "believed", "drawn", "without", "rests", "table", "travelled", "mark"}

// Every language has every text, with the same blanks, and every text is used.
func TestTexts(t *testing.T) {
	text, en := code(t, "report", "publish", "cmd", "internal"), In("en").Texts
	if len(en) < 150 {
		t.Fatalf("only %d texts", len(en))
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z]+\.[a-z_]+)"`).FindAllStringSubmatch(text, -1) {
		named[m[1]] = true
	}
	for name := range en {
		family, _, _ := strings.Cut(name, ".")
		if !named[name] && !slices.Contains(looked, family) {
			t.Errorf("nothing says %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`\.(?:t|T)\(?\s*"([a-z]+\.[a-z_]+)"`).FindAllStringSubmatch(text, -1) {
		if name := m[1]; en[name] == "" && !strings.Contains(text, "`"+name+"`") && inDesign(name) {
			t.Errorf("%s is no text", name)
		}
	}
	for _, l := range Languages {
		w := In(l)
		for name, text := range en {
			if w.Texts[name] == "" {
				t.Errorf("%s has no %s", l, name)
			}
			if a, b := blanks(text), blanks(w.Texts[name]); a != b {
				t.Errorf("%s: %s has %d blanks, not %d", l, name, b, a)
			}
		}
		if len(w.Texts) != len(en) {
			t.Errorf("%s has %d texts, English %d", l, len(w.Texts), len(en))
		}
	}
}

// inDesign reports whether the page on which a job is designed has no such text of its own.
func inDesign(name string) bool {
	b, err := os.ReadFile(filepath.Join("..", "..", "design", "texts", "en.yaml"))
	return err == nil && !strings.Contains(string(b), "\n"+name+":")
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

// A remark that has a translation has as many blanks in it, and stands in a program. One that no program makes is not found.
func TestNotes(t *testing.T) {
	text := code(t, "plugins", "report", "privacy", "samplers", "internal/plan", "internal/run", "internal/output", "internal/pipeline", "internal/calculus")
	stands := func(english string) bool {
		for _, part := range strings.Split(english, "%s") {
			part = strings.Trim(part, " ,;:.()")
			if len(part) > 8 && !strings.Contains(text, part) {
				return false
			}
		}
		return true
	}
	for _, l := range Languages[1:] {
		w := In(l)
		if len(w.Notes) < 50 {
			t.Fatalf("%s has only %d remarks", l, len(w.Notes))
		}
		for english, other := range w.Notes {
			if a, b := blanks(english), blanks(other); a != b {
				t.Errorf("%s: %q has %d blanks, %q %d", l, english, a, other, b)
			}
			if !stands(english) {
				t.Errorf("no program says %q", english)
			}
		}
	}
	remarks := regexp.MustCompile(`(?:Doc|Note): +"([^"%]{8,})"[,})]`).FindAllStringSubmatch(text, -1)
	if len(remarks) < 30 {
		t.Errorf("only %d remarks", len(remarks))
	}
	for _, m := range remarks {
		if _, ok := In("de").Note(strings.TrimSuffix(m[1], ": ")); !ok {
			t.Errorf("no German for %q", m[1])
		}
	}
	if stands("a remark that no program makes, about %s") {
		t.Error("a remark that nobody makes is found")
	}
}

func TestNote(t *testing.T) {
	w := &Words{Name: "de", Notes: map[string]string{"%s held to %s": "%s begrenzt auf %s", "%s by %s": "%s um %s", "the total in %s": "Summe in %s", "the mean, with noise": "Mittel", "noise of %s": "Rauschen von %s", "a value of %s": "ein Wert von %s"},
		long: []string{"the mean, with noise", "the total in %s", "%s held to %s", "a value of %s", "noise of %s", "%s by %s"}}
	for _, c := range []struct {
		in, out string
		ok      bool
	}{
		{"the mean, with noise", "Mittel", true},
		{"the mean, with noise; noise of 1234.5", "Mittel; Rauschen von 1234,5", true},
		{"api: noise of 0.5", "api: Rauschen von 0,5", true},
		{"a value of x held to 0–1.5", "ein Wert von x begrenzt auf 0–1,5", true},
		{"x by 1.5, y by 2", "x um 1,5, y um 2", true},
		{"divided by what nobody knows", "divided by what nobody knows", false},
		{"the total in old money", "Summe in old money", true},
		{"the mean, with doubt", "the mean, with doubt", false},
		{"noise of ", "noise of ", false},
		{"", "", true},
	} {
		if out, ok := w.Note(c.in); out != c.out || ok != c.ok {
			t.Errorf("%q: %q, %v", c.in, out, ok)
		}
	}
	if text, ok := In("en").Note("whatever a mechanism says"); !ok || text != "whatever a mechanism says" {
		t.Errorf("%q, %v", text, ok)
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]string{
		"1234.5": "1234,5", "20\u202f560\u202f000.25": "20.560.000,25", "±\u202f1.3": "±\u202f1,3", "ε\u00a01.9, δ\u00a01e-6": "ε\u00a01,9; δ\u00a01e-6",
		"12.9 %": "12,9 %", "1.2M": "1,2M", "2026-11-26": "2026-11-26", "1.0 rows": "1.0 rows", "ε": "ε", "": "", "v1.2": "v1.2",
	} {
		if got := In("de").Number(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
		if got := In("en").Number(in); got != in {
			t.Errorf("%q: %q in English", in, got)
		}
	}
}
