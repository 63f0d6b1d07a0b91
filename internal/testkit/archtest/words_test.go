package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kinds of pages, each with the most words that one of its pages may have, as wc -w counts them.
// A pattern that ends in / stands for all pages of that folder. A page has one kind, the first
// that names it.
var kinds = []struct {
	name  string
	most  int
	pages []string
}{
	{"index", 350, []string{"README.md"}},
	{"start", 1050, []string{"start.md", "decide.md", "faq.md", "glossary.md", "how-to/several-tables.md"}},
	{"how-to", 650, []string{"how-to/", "lineage.md"}},
	{"understand", 800, []string{"understand/", "intervals.md", "keys.md", "limits.md", "panels.md", "people.md", "report.md", "weights.md"}},
	{"mechanism", 900, []string{"mechanisms/"}},
	{"list of decisions", 450, []string{"decisions/README.md"}},
	{"decision", 250, []string{"decisions/"}},
	{"reference", 2150, []string{"account.md", "expressions.md", "ledger.md", "sampling.md", "tables.md", "what-leaves.md"}},
	{"generated reference", 5000, []string{"commands.md", "exit-codes.md", "job.md"}},
	{"what goes together", 2250, []string{"what-goes-together.md"}},
	{"developer", 1150, []string{"design.md", "mechanisms-in-python.md", "plugins.md", "sabotage.md", "style.md", "writing-a-mechanism.md"}},
	{"study", 4400, []string{"../lab/studies/"}},
	{"rules", 9200, []string{"privacy-rules.md"}},
}

// folders hold the pages, each with the most words that all its pages together may have.
var folders = map[string]int{"docs": 50_000, "lab/studies": 20_600}

// tutorial are the pages about writing a mechanism, in any language, and tutorialMost is what they may have together.
var tutorial = []string{"writing-a-mechanism.md", "mechanisms-in-python.md"}

const tutorialMost = 2000

// TestWordsOfTutorial holds the pages about writing a mechanism to a budget for all languages together.
func TestWordsOfTutorial(t *testing.T) {
	total := 0
	for _, page := range tutorial {
		text, err := os.ReadFile(filepath.Join("../../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		total += len(strings.Fields(string(text)))
	}
	if total > tutorialMost {
		t.Errorf("%v have %d words; at most %d are allowed", tutorial, total, tutorialMost)
	}
}

// TestWordsOfPages holds every page to the budget of its kind, and the pages of a folder to theirs.
// A page that has grown out of its budget gets shorter: one page for one question, no sentence twice.
func TestWordsOfPages(t *testing.T) {
	used := map[string]bool{}
	for folder, most := range folders {
		total := 0
		err := filepath.WalkDir(filepath.Join("../../..", folder), func(file string, d fs.DirEntry, err error) error {
			if err != nil || path.Ext(file) != ".md" {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			page, err := filepath.Rel("../../../docs", file)
			if err != nil {
				return err
			}
			words := len(strings.Fields(string(text)))
			total += words
			name, most := kindOf(filepath.ToSlash(page), used)
			switch {
			case name == "":
				t.Errorf("%s has no kind: name it in the table of this test", file)
			case words > most:
				t.Errorf("%s has %d words; a page of the kind %q has at most %d", file, words, name, most)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if total > most {
			t.Errorf("%s has %d words; at most %d are allowed", folder, total, most)
		}
	}
	for _, k := range kinds {
		for _, p := range k.pages {
			if !used[p] {
				t.Errorf("%s, of the kind %q, is no page", p, k.name)
			}
		}
	}
}

// kindOf returns the kind of a page and its budget, and marks the pattern that named it.
func kindOf(page string, used map[string]bool) (name string, most int) {
	for _, k := range kinds {
		i := slices.IndexFunc(k.pages, func(p string) bool {
			return p == page || strings.HasSuffix(p, "/") && strings.HasPrefix(page, p)
		})
		if i >= 0 {
			used[k.pages[i]] = true
			return k.name, k.most
		}
	}
	return "", 0
}
