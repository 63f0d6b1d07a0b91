package noise

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// No code but tests may make a Source of a tape or a script, whose draws are
// known.
func TestTapesStayInTests(t *testing.T) {
	call := regexp.MustCompile(`\bnoise\.New(Tape|Script)\b`)
	files, uses := 0, 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if call.Match(text) {
			uses++
			if !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s draws from a tape or a script", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 || uses == 0 {
		t.Errorf("%d files seen, %d of them use a tape", files, uses)
	}
}
