package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The committed tables are what the generator makes.
func TestTablesAreCurrent(t *testing.T) {
	files, err := generate("../data")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 5 {
		t.Fatalf("%d files generated", len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../data", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not current: run go generate ./examples/generate", name)
		}
	}
}
