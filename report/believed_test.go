package report

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// Each promise of the table in docs/privacy-rules.md is one that plan and report name, and the other way round.
func TestBeliefsAreThoseOfTheTable(t *testing.T) {
	text, err := os.ReadFile("../docs/privacy-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Belief]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\|.*[^a] promise(?: `([a-z]+)`)? \\|$").FindAllStringSubmatch(string(text), -1) {
		b := Belief(m[1])
		if !slices.Contains(Beliefs, b) {
			t.Errorf("the table promises %q, and no report says so: %s", b, m[0])
		}
		seen[b] = true
	}
	for _, b := range Beliefs {
		if !seen[b] {
			t.Errorf("the table does not promise %s", b)
		}
		if wordsIn("en").Texts["believed."+string(b)] == "" {
			t.Errorf("%s has no words", b)
		}
	}
}
