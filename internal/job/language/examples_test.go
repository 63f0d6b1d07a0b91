package language_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/plugins/builtin"
)

// The examples and the job in the documentation are jobs without a problem, for
// the reader and for the JSON Schema.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "*", "job*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]string{}
	for _, f := range files {
		jobs[f] = readFile(t, f)
	}
	if len(jobs) == 0 {
		t.Fatal("no example was found")
	}
	for _, page := range []string{"docs/start.md"} {
		text := readFile(t, filepath.Join("..", "..", "..", filepath.FromSlash(page)))
		_, rest, ok := strings.Cut(text, "```yaml\n")
		if !ok {
			t.Fatalf("%s has no example", page)
		}
		jobs[page], _, _ = strings.Cut(rest, "```")
	}
	s := compileSchema(t)
	for name, text := range jobs {
		if _, err := language.Parse(name, []byte(text), language.Options{Mechanisms: slices.Collect(maps.Keys(builtin.Mechanisms())), Getenv: os.LookupEnv}); err != nil {
			t.Error(err)
		}
		doc, err := asJSON([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
