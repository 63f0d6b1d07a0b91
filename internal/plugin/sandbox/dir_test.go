//go:build linux

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// However deep and wide a tree of folders is, it is removed, with what nobody may enter and with
// links, which are not followed; and to remove it takes no longer than it may.
func TestClearDir(t *testing.T) {
	base := t.TempDir()
	outside := filepath.Join(base, "outside")
	bomb := func(name string, depth int) string {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		at, err := openDir(unix.AT_FDCWD, dir)
		for range depth { // a path would soon be too long
			if err != nil {
				t.Fatal(err)
			}
			in := int(at.Fd())
			f, ferr := unix.Openat(in, "f", unix.O_CREAT|unix.O_CLOEXEC, 0)
			unix.Close(f)
			if err := errors.Join(ferr, unix.Mkdirat(in, ".moved-1", 0o700), unix.Symlinkat(outside, in, "l"), unix.Mkdirat(in, "d", 0o700)); err != nil {
				t.Fatal(err)
			}
			below, berr := openDir(in, "d")
			at.Close()
			at, err = below, berr
		}
		at.Close()
		return dir
	}
	if err := errors.Join(os.Mkdir(outside, 0o700), os.WriteFile(filepath.Join(outside, "f"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	deep := bomb("deep", 1500)
	if err := os.Chmod(filepath.Join(deep, "d"), 0); err != nil {
		t.Fatal(err)
	}
	if !clearDir(deep, time.Now().Add(10*time.Minute)) {
		t.Error("it is not removed")
	}
	late := bomb("late", 1500)
	began := time.Now()
	if clearDir(late, began.Add(time.Millisecond)) || time.Since(began) > time.Minute {
		t.Errorf("it was removed, or took %v", time.Since(began))
	}
	if !clearDir(late, time.Now().Add(10*time.Minute)) {
		t.Error("the rest is not removed")
	}
	for dir, want := range map[string]bool{deep: false, late: false, filepath.Join(outside, "f"): true} {
		if _, err := os.Lstat(dir); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
}
