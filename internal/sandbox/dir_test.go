//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The directory of a host that was killed goes; that of one that lives, or may just
// be starting, and what is not ours, stays.
func TestSweepStale(t *testing.T) {
	base := t.TempDir()
	make := func(name string, age time.Duration) string {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "rows"), []byte("4815162342"), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-age)
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	stale, living, young, other := make(dirPrefix+"1", 0), make(dirPrefix+"2", time.Hour), make(newPrefix+"3", 0), make("else", time.Hour)
	unnamed := make(newPrefix+"4", time.Hour)
	lock, err := lockDir(living)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	link := filepath.Join(base, dirPrefix+"link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	sweepStale(base)
	for dir, want := range map[string]bool{stale: false, unnamed: false, living: true, young: true, other: true, link: true} {
		if _, err := os.Lstat(dir); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
}
