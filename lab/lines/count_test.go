package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

const sample = `// Package p is a sample.
package p

import "fmt" // behind code

/* two
lines */
func keptDraw() string {
	x.Scan()
	return "a panel cannot be " + "kept with dataset.fold" + fmt.Sprint()
}
`

func parse(t *testing.T, path, text string) goFile {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return goFile{path: path, text: []byte(text), syntax: f, fset: fset, root: true, linked: true}
}

func TestCountTellsLinesApart(t *testing.T) {
	c := count([]goFile{parse(t, "internal/run/p.go", sample)})
	if want := (lines{Code: 6, Comments: 3, Blank: 2}); c.root != want {
		t.Errorf("lines %+v, want %+v", c.root, want)
	}
	if c.scans != 1 || c.refusals != 1 || len(c.known["kept"].files) != 1 || len(c.known["panels"].files) != 0 {
		t.Errorf("scans %d, refusals %d, known %v", c.scans, c.refusals, c.known)
	}
}

// A file whose path names the capability is its home.
func TestHomeDoesNotCount(t *testing.T) {
	if c := count([]goFile{parse(t, "ledger/kept.go", sample)}); len(c.known["kept"].files) != 0 {
		t.Errorf("known %v", c.known["kept"])
	}
}

func TestAboveFindsWhatGrew(t *testing.T) {
	limits := map[string]int{"a": 2, "b": 2, "gone": 1}
	err := above(map[string]int{"a": 2, "b": 3, "new": 0}, limits)
	if err == nil {
		t.Fatal("nothing grew")
	}
	for _, name := range []string{"b: 3", "new: 0", "gone: is in"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q is not named in %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "a: ") || above(map[string]int{"a": 1}, map[string]int{"a": 2}) != nil {
		t.Errorf("what did not grow is refused: %v", err)
	}
}
