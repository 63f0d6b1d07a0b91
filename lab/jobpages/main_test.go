package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	root := t.TempDir()
	files := []string{"docs/job.md"}
	committed := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join("..", "..", f))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(root, f)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, f), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		committed[f] = string(text)
	}
	if err := run(root); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(filepath.Join(root, f)); err != nil || string(text) != committed[f] {
			t.Errorf("%s is old: go generate ./internal/job/language (%v)", f, err)
		}
	}
}
