package companion

import (
	"os"
	"path/filepath"
	"testing"
)

// What is handed rows is found beside the program, also where a link names the program, and never on the PATH.
func TestTrusted(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	put := func(dir, name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self := put(home, "program")
	far := put(elsewhere, "helper")
	t.Setenv("PATH", elsewhere)
	if got := Trusted(self, "helper"); got != "" {
		t.Errorf("%s was found on the PATH", got)
	}
	if got := Public(self, "helper"); got != far {
		t.Errorf("a public companion: %q, want %q", got, far)
	}
	near := put(home, "helper")
	link := filepath.Join(elsewhere, "program")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{self, link} {
		if got := Trusted(from, "helper"); got != near {
			t.Errorf("from %s: %q, want %q", from, got, near)
		}
	}
	if err := os.Mkdir(filepath.Join(home, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Trusted(self, "folder"); got != "" {
		t.Errorf("the folder %s was taken for a program", got)
	}
}
