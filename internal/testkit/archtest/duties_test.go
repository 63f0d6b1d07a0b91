package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	check  = regexp.MustCompile("`([a-z0-9-]+)`")
	goTest = regexp.MustCompile(`([a-z/]+) (Test\w+)`)
)

// TestDutiesAreTested: every duty of a plugin in specs/plugin-duties.md names a check of the
// suite, or a test, that there is.
func TestDutiesAreTested(t *testing.T) {
	text := read(t, "../../../specs/plugin-duties.md")
	suite := read(t, "../../../specs/conformance-v1.md")
	sources := all(t, "../../plugin/conformance/*.go") + all(t, "../../../plugins/sdk/sdktest/*.go")
	duties := 0
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || strings.TrimSpace(cells[1]) == "section" {
			continue
		}
		duties++
		found := 0
		for _, m := range check.FindAllStringSubmatch(cells[2], -1) {
			found++
			if !strings.Contains(suite, "`"+m[1]+"`") || !strings.Contains(sources, `"`+m[1]+`"`) {
				t.Errorf("the suite has no check %s: %s", m[1], cells[0])
			}
		}
		for _, m := range goTest.FindAllStringSubmatch(cells[2], -1) {
			found++
			if !strings.Contains(all(t, "../../../"+m[1]+"/*_test.go"), "func "+m[2]+"(") {
				t.Errorf("%s has no %s: %s", m[1], m[2], cells[0])
			}
		}
		if found == 0 {
			t.Errorf("no test: %s", cells[0])
		}
	}
	if duties < 35 {
		t.Errorf("only %d duties were found", duties)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// all is the text of all files of a pattern.
func all(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, name := range names {
		out.WriteString(read(t, name))
	}
	return out.String()
}
