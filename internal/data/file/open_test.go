//go:build unix

package file

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o700), os.Symlink("/dev/zero", at("device")),
		os.WriteFile(at("file"), []byte("0123456789"), 0o600), os.Symlink(at("file"), at("link"))); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]string{"pipe": "is a pipe", "folder": "is a folder", "device": "is a device", "none": "no such file", "file": "", "link": ""} {
		done := make(chan error, 1)
		go func() {
			_, err := Read(at(name), 10)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil != (kind == "") || err != nil && !strings.Contains(err.Error(), kind) {
				t.Errorf("%s: %v, want %q", name, err, kind)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is waited for", name)
		}
	}
	if _, err := Read(at("file"), 9); !errors.Is(err, ErrLarge) {
		t.Errorf("ten bytes are read as nine: %v", err)
	}
}

// A file that grows after it was opened is read up to its bound.
func TestGrowing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("0123"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Bounded(path, 6)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, f); !errors.Is(err, ErrLarge) {
		t.Errorf("read to the end: %v", err)
	}
}
