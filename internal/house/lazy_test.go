package house

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every expression that is put off compiles: what used to fail when a program
// started must not fail when it is used.
func TestLazyExpressionsCompile(t *testing.T) {
	found := 0
	for _, p := range packages(t) {
		if p.name() == "internal/lazy" {
			continue
		}
		fset := token.NewFileSet()
		var files []*ast.File
		lazily := false
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		constants := map[string]ast.Expr{}
		calls := map[ast.Expr]token.Position{}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for i, name := range n.Names {
						if i < len(n.Values) {
							constants[name.Name] = n.Values[i]
						}
					}
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Regexp" && isIdent(s.X, "lazy") {
						lazily = true
						calls[n.Args[0]] = fset.Position(n.Pos())
					}
				case *ast.FuncDecl:
					if n.Name.Name == "pattern" && n.Recv == nil && p.name() == "internal/job" {
						return false // its argument is looked at where it is called
					}
				}
				return true
			})
			ast.Inspect(f, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok && p.name() == "internal/job" && isIdent(c.Fun, "pattern") {
					calls[c.Args[1]] = fset.Position(c.Pos())
				}
				return true
			})
		}
		for arg, at := range calls {
			found++
			text, ok := stringOf(arg, constants)
			if !ok {
				t.Errorf("%s: the expression is not a constant of its package", at)
				continue
			}
			if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
		if imports := strings.Contains(strings.Join(p.Imports, " "), "internal/lazy"); imports != lazily {
			t.Errorf("%s: imports lazy: %v, and puts off an expression: %v", p.name(), imports, lazily)
		}
	}
	if found < 5 {
		t.Errorf("only %d expressions were found", found)
	}
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// stringOf is the value of a literal, or of a constant that is one.
func stringOf(e ast.Expr, constants map[string]ast.Expr) (string, bool) {
	if id, ok := e.(*ast.Ident); ok && constants[id.Name] != nil {
		e = constants[id.Name]
	}
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	return constant.StringVal(constant.MakeFromLiteral(l.Value, l.Kind, 0)), true
}
