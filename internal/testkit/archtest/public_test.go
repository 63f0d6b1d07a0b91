package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// public are the packages that other programs import.
var public = []string{"ledger", "pipeline", "plugins/sdk", "plugins/sdk/sdktest", "plugins/sdk/serve", "privacy", "privacy/rational"}

// What a public package exports is of its own types, of public packages and of other modules: nobody else may import what
// is internal.
func TestPublicPackagesExportNothingInternal(t *testing.T) {
	for _, name := range public {
		found, exported := internals(t, filepath.Join("..", "..", "..", name))
		for _, what := range found {
			t.Errorf("%s: %s is of an internal package", name, what)
		}
		if exported == 0 {
			t.Errorf("%s exports nothing", name)
		}
	}
	if found, _ := internals(t, filepath.Join("..", "..", "pipeline")); len(found) == 0 {
		t.Error("internal/pipeline exports types of internal packages, and none was found")
	}
}

// internals lists the exported declarations of a folder that name an internal package, and counts all.
func internals(t *testing.T, dir string) (found []string, exported int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		inner := map[string]bool{}
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(path, "/internal/") {
				continue
			}
			inner[filepath.Base(path)] = true
			if i.Name != nil {
				inner[i.Name.Name] = true
			}
		}
		look := func(name string, n ast.Node) {
			exported++
			ast.Inspect(n, func(n ast.Node) bool {
				if x, ok := n.(*ast.SelectorExpr); ok {
					if id, ok := x.X.(*ast.Ident); ok && inner[id.Name] {
						found = append(found, name+" ("+id.Name+"."+x.Sel.Name+")")
					}
				}
				return true
			})
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
					look(d.Name.Name, d.Type.Params)
					if d.Type.Results != nil {
						look(d.Name.Name, d.Type.Results)
					}
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							for _, n := range shown(s.Type) {
								look(s.Name.Name, n)
							}
						}
					case *ast.ValueSpec:
						if s.Names[0].IsExported() && s.Type != nil {
							look(s.Names[0].Name, s.Type)
						}
					}
				}
			}
		}
	}
	return found, exported
}

// shown returns what other programs see of a type: of a struct the exported and the embedded fields.
func shown(e ast.Expr) (out []ast.Node) {
	s, ok := e.(*ast.StructType)
	if !ok {
		return []ast.Node{e}
	}
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 || f.Names[0].IsExported() {
			out = append(out, f.Type)
		}
	}
	return out
}

// exportedReceiver reports whether a method is of an exported type.
func exportedReceiver(r *ast.FieldList) bool {
	e := r.List[0].Type
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	id, ok := e.(*ast.Ident)
	return ok && id.IsExported()
}
