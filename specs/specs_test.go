package specs_test

import (
	"encoding/json"
	"io/fs"
	"path"
	"testing"

	"github.com/dprelease/dprelease/specs"
)

// What is published is embedded, and every schema is JSON.
func TestEmbedded(t *testing.T) {
	found := map[string]int{}
	err := fs.WalkDir(specs.FS, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found[path.Ext(p)]++
		data, err := specs.FS.ReadFile(p)
		if err != nil {
			return err
		}
		if len(data) == 0 {
			t.Errorf("%s is empty", p)
		}
		if path.Ext(p) == ".json" && !json.Valid(data) {
			t.Errorf("%s is not JSON", p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for ext, least := range map[string]int{".md": 1, ".json": 1, ".proto": 1, ".txtar": 60} {
		if found[ext] < least {
			t.Errorf("%d files %s, want at least %d", found[ext], ext, least)
		}
	}
	for _, p := range []string{"job-v1.md", "job-v1.schema.json"} {
		if _, err := fs.Stat(specs.FS, p); err != nil {
			t.Error(err)
		}
	}
}
