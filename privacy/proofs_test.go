package privacy

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Every proof that a comment names exists and says something.
func TestProofsExist(t *testing.T) {
	named := regexp.MustCompile(`[a-z_/]+\.proof\.md`)
	found := 0
	for _, dir := range []string{".", "amplify"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", dir, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range named.FindAllString(string(b), -1) {
				found++
				if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 200 {
					t.Errorf("%s names %s, which is missing or empty", f, name)
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d proofs are named", found)
	}
}
