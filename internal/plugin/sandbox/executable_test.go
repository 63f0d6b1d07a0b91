//go:build linux

package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// What was checked is what runs, even if the file is written to in between.
func TestOpenPinsTheBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script")
	body := []byte("#!/bin/sh\nexit 0\n")
	if err := os.WriteFile(path, body, 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	e, err := Open(path, hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := e.file.WriteAt([]byte("#!/bin/no"), 0); err == nil {
		t.Error("the checked bytes can be written to")
	}
	got := make([]byte, len(body)+1)
	if n, err := e.file.ReadAt(got, 0); err != io.EOF || string(got[:n]) != string(body) {
		t.Errorf("the checked bytes changed: %q, %v", got[:n], err)
	}
	if _, err := Open(path, hex.EncodeToString(sum[:])); !errors.Is(err, ErrDigest) {
		t.Errorf("a changed file: %v", err)
	}
}

// What lies beside an executable is what was checked: to change or swap it afterwards, or while the tree
// runs, changes nothing, and the tree itself cannot change it.
func TestBesideIsSealed(t *testing.T) {
	source := t.TempDir()
	file := filepath.Join(source, "lib", "model")
	write := func(text string) {
		t.Helper()
		_ = os.Remove(file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256([]byte("9"))
	digests := map[string]string{"lib/model": hex.EncodeToString(sum[:])}
	for _, mode := range []Mode{Required, Off} {
		write("9")
		dir, err := NewDir()
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		folder, err := dir.Keep(source, digests)
		if err != nil {
			t.Fatal(err)
		}
		write("40")
		exe, err := Open(selfExe, digestOfSelf())
		if err != nil {
			t.Fatal(err)
		}
		defer exe.Close()
		p, err := Start(t.Context(), exe, Command{Args: []string{"self", "beside", "lib/model"}, Env: []string{FilesKey + "=" + folder}, Dir: dir.Path, Confine: Confinement{Mode: mode}})
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(p.Stdout)
		if want := "9, cannot change it"; err != nil || mode == Required && string(said) != want || string(said)[0] != '9' {
			t.Errorf("%s: %q, %v", mode, said, err)
		}
		<-p.Done()
		p.Close()
	}
	for name, files := range map[string]map[string]string{"swapped": digests, "outside": {"../x": digests["lib/model"]}} {
		dir, err := NewDir()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dir.Keep(source, files); !errors.Is(err, ErrDigest) {
			t.Errorf("%s: %v", name, err)
		}
		dir.Close()
	}
}

// beside prints a file beside the executable, and whether it can be changed.
func beside(name string) {
	path := filepath.Join(os.Getenv(FilesKey), name)
	text, _ := os.ReadFile(path)
	os.Stdout.Write(text)
	if os.Remove(path) != nil && os.WriteFile(path, nil, 0o600) != nil && os.Chmod(path, 0o777) != nil {
		fmt.Print(", cannot change it")
	}
}
