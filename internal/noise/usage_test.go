package noise

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Only tests may import the package that makes sources whose draws are known.
func TestTapesStayInTests(t *testing.T) {
	imports := regexp.MustCompile(`"[^"]*/noise/(insecurenoise|internal/known)"`)
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
		if imports.Match(text) {
			uses++
			own := strings.Contains(filepath.ToSlash(path), "/noise/source.go") || strings.Contains(filepath.ToSlash(path), "/noise/insecurenoise/")
			if !own && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s can draw what is known", path)
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
