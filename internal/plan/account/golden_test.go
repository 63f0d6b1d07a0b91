package account

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden holds the form of the answers: each testdata/golden/*.yaml with
// its table (.txt) and its object (.json). The numbers are the calculus' own
// tests' business; here they count to two digits, and the reasons of methods
// that do not apply are theirs to word.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("the golden files are missing: %v %v", files, err)
	}
	for _, file := range files {
		for ext, o := range map[string]Options{".txt": {File: file}, ".json": {File: file, JSON: true}} {
			var out, errw bytes.Buffer
			if code := Run(nil, &out, &errw, o); code != ExitDone || errw.Len() > 0 {
				t.Errorf("%s: exit %d: %s", file, code, &errw)
				continue
			}
			if ext == ".json" {
				var indented bytes.Buffer
				if err := json.Indent(&indented, out.Bytes(), "", "  "); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				out = indented
			}
			golden := strings.TrimSuffix(file, ".yaml") + ext
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if g, w := form(out.String()), form(string(want)); g != w {
				t.Errorf("%s: got\n%s\nwant\n%s", golden, g, w)
			}
		}
	}
}

var (
	figures = regexp.MustCompile(`\d+\.?\d*(e[-+]?\d+)?`)
	padding = regexp.MustCompile(` +`)
	reasons = regexp.MustCompile(`(no: |"reason": "|"why": "|warning: |\n {6}|^ {4}")[^\n]*`)
)

// form returns the part of a text that a golden file holds fast.
func form(s string) string {
	s = reasons.ReplaceAllString(s, "$1…")
	s = figures.ReplaceAllStringFunc(s, func(f string) string {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return f
		}
		return strconv.FormatFloat(x, 'e', 1, 64)
	})
	return padding.ReplaceAllString(s, " ")
}
