package samplers

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
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	named := map[string]bool{}
	contracts, promised := 0, 0
	mention := regexp.MustCompile(`(?:// |Proof: )([a-z_]+\.proof\.md)\.`)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		contracts += strings.Count(string(text), "// # Contract")
		promised += strings.Count(string(text), "Proof:")
		for _, m := range mention.FindAllStringSubmatch(string(text), -1) {
			named[m[1]] = true
		}
	}
	if contracts < 7 || promised != contracts {
		t.Errorf("%d contracts, %d name a proof", contracts, promised)
	}
	proofs, err := filepath.Glob("*.proof.md")
	if err != nil || len(proofs) != len(named) {
		t.Errorf("%d proofs, %d are named: %v", len(proofs), len(named), err)
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
}
