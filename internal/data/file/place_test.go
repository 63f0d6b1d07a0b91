package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/data/file"
)

func TestWithin(t *testing.T) {
	for path, in := range map[string]bool{"/a": true, "/a/b": true, "/a/../a/b": true, "/ab": false, "/": false, "/a/../b": false, "a": false} {
		if file.Within(path, "/a") != in {
			t.Errorf("%s in /a: %v", path, !in)
		}
	}
}

// A path to a file that is not there yet goes through the links that are.
func TestReal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "to"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("to", filepath.Join(dir, "link")); err != nil {
		t.Skip("no links here")
	}
	if got := file.Real(filepath.Join(dir, "link", "new", "file")); got != filepath.Join(dir, "to", "new", "file") {
		t.Errorf("got %s", got)
	}
	if got := file.Real("/nowhere/at/all"); got != "/nowhere/at/all" {
		t.Errorf("got %s", got)
	}
}
