package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const code = `package some

import (
	"testing"

	"example.org/go-internal/testscript"
	"example.org/internal/testkit/tier"
	"example.org/helper"
)

func TestWhole(t *testing.T)     { same() }
func TestShort(t *testing.T)     { if testing.Short() { return } }
func TestOf(t *testing.T)        { _ = tier.Of(1, 2) }
func TestDeep(t *testing.T)      { many() }
func TestMethod(t *testing.T)    { var w world; w.size() }
func TestVariable(t *testing.T)  { t.Log(size) }
func TestTable(t *testing.T)     { for _, f := range table { f() } }
func TestHelper(t *testing.T)    { helper.Start(t) }
func TestHelperStop(t *testing.T) { helper.Stop() }
func TestScripts(t *testing.T)   { testscript.Run(t) }
func TestMain(m *testing.M)      { testscript.Main(m) }
func TestValue(t *testing.T)     { helper.Any().Begin() }
func ExampleWhole()              {}
func Testing()                   {}

type world struct{}

func (world) size() int { return tier.Of(1, 2) }
func same()             {}
func many()             { more() }
func more()             { tier.Full(nil, "") }

var size, table = more, []func(){same, more}
`

const helper = `package helper

import "testing"

func Start(t testing.TB) { begin() }
func Stop()              {}
func begin()             { testing.Short() }

type Thing struct{}

func Any() Thing      { return Thing{} }
func (Thing) Begin() { begin() }
`

// What may reach the tier is left, whatever way it takes; where it is asked before all tests, all are.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	helpers, told, err := helping([]listed{{path: "example.org/helper", files: []string{write("helper.go", helper)}, imports: []string{"testing"}}})
	if err != nil {
		t.Fatal(err)
	}
	some := write("some_test.go", code)
	for _, c := range []struct {
		paths []string
		whole []string
	}{
		{[]string{some}, []string{"TestWhole", "TestHelperStop", "TestMain", "ExampleWhole"}},
		{[]string{some, write("init_test.go", "package some\n\nimport \"testing\"\n\nfunc init() { if testing.Short() { return } }\n")}, nil},
	} {
		f, err := read(c.paths, helpers)
		if err != nil {
			t.Fatal(err)
		}
		if left, whole := f.left(told); !slices.Equal(whole, c.whole) || len(left)+len(whole) != 13 {
			t.Errorf("ran whole: %v, left: %v", whole, left)
		}
	}
}

// Of the house's own packages, this one has nothing left, and that of the tier has.
func TestListed(t *testing.T) {
	t.Chdir("..")
	all, err := list()
	if err != nil {
		t.Fatal(err)
	}
	helpers, told, err := helping(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		f, err := read(p.tests, helpers)
		if err != nil {
			t.Fatal(err)
		}
		left, whole := f.left(told)
		if at := filepath.Base(p.path); at == "left" && (len(left) > 0 || len(whole) < 2) || at == "tier" && !slices.Equal(left, []string{"TestTiers"}) {
			t.Errorf("%s: ran whole: %v, left: %v", p.path, whole, left)
		}
	}
}
