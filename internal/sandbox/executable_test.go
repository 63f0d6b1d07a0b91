//go:build linux

package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
