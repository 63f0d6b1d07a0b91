package noise

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every Contract names a proof, and every proof named is there and is named.
func TestContractsHaveProofs(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	named := map[string]bool{}
	contracts := 0
	mention := regexp.MustCompile(`[a-z_]+\.proof\.md`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		contracts += strings.Count(string(text), "// # Contract")
		for _, m := range mention.FindAllString(string(text), -1) {
			named[m] = true
		}
	}
	if contracts < 8 {
		t.Errorf("only %d contracts", contracts)
	}
	for m := range named {
		text, err := os.ReadFile(m)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, part := range []string{"**Statement.**", "**Conditions.**", "**Argument"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %s", m, part)
			}
		}
	}
	proofs, err := filepath.Glob("*.proof.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range proofs {
		if !named[p] {
			t.Errorf("%s proves nothing that is claimed", p)
		}
	}
}
