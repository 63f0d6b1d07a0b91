package measure

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRewrite(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("a\n<begin>old<end>b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Rewrite(page, "<begin>", "<end>", "new"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != "a\n<begin>new<end>b" {
		t.Errorf("%q, %v", got, err)
	}
	if Rewrite(page, "<other>", "<end>", "new") == nil {
		t.Error("a page without the mark was written")
	}
}
