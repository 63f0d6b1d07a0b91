package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/dprelease/dprelease/plugins/builtin"
)

// words are names of mechanisms that also mean something else: a key of a job, a way to fold rows, a
// column of a result.
var words = []string{"bounds", "count", "mean", "median", "ratio", "sd", "sum", "variance"}

// named finds the places of a file where code tells mechanisms apart by their names: a comparison with
// a selector or variable called mechanism, or a text that is nothing but the name of one.
func named(f *ast.File, names []string) []token.Pos {
	var found []token.Pos
	text := func(e ast.Expr) string {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			s, _ := strconv.Unquote(l.Value)
			return s
		}
		return ""
	}
	mechanism := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			return e.Sel.Name == "Mechanism"
		case *ast.Ident:
			return e.Name == "mechanism"
		}
		return false
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op != token.EQL && n.Op != token.NEQ {
				return true
			}
			if mechanism(n.X) && text(n.Y) != "" || mechanism(n.Y) && text(n.X) != "" {
				found = append(found, n.Pos())
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && mechanism(n.Tag) {
				found = append(found, n.Pos())
			}
		case *ast.BasicLit:
			if s := text(n); slices.Contains(names, s) && !slices.Contains(words, s) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// What a mechanism is, it says itself: no code outside plugins knows one by its name.
func TestMechanismsAreNamedInTheirPluginsOnly(t *testing.T) {
	var names []string
	for n := range builtin.Mechanisms() {
		names = append(names, n)
	}
	for _, w := range words {
		if !slices.Contains(names, w) {
			t.Errorf("%s is no mechanism", w)
		}
	}
	files := token.NewFileSet()
	read := func(path string, text any) []token.Pos {
		f, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return named(f, names)
	}
	checked := 0
	for _, p := range packages(t) {
		if in(p.name(), "plugins", "internal/testkit", "privacy") {
			continue // privacy reaches no plugin: its words are those of the papers
		}
		for _, f := range p.GoFiles {
			checked++
			for _, at := range read(filepath.Join(p.Dir, f), nil) {
				t.Errorf("%s knows a mechanism by its name: let its plugin declare what is asked of it", files.Position(at))
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d files were read", checked)
	}
	for _, broken := range []string{
		`if r.Mechanism == "mean" { return }`, `if "of-mine" != r.Mechanism { return }`, `switch r.Mechanism { case "a": }`, `list := []string{"quantiles"}; _ = list`,
	} {
		if len(read("broken.go", "package broken\nfunc f() {"+broken+"}")) != 1 {
			t.Errorf("not found: %s", broken)
		}
	}
}
