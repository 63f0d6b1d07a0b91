package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The committed tables are what the generator makes.
func TestTablesAreCurrent(t *testing.T) {
	files, err := generate("../../examples/data")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 14 {
		t.Fatalf("%d files generated", len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../../examples/data", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not current: run make lab && bin/lab/generate examples/data", name)
		}
	}
}

// The page of the example says what the totals of the population are.
func TestEnergyTotals(t *testing.T) {
	_, observed, predicted := energy()
	page, err := os.ReadFile("../studies/energy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, total := range []float64{observed, predicted} {
		if text := fmt.Sprintf("%.0f kWh", total); !bytes.Contains(page, []byte(text)) {
			t.Errorf("lab/studies/energy.md does not say %s", text)
		}
	}
}
