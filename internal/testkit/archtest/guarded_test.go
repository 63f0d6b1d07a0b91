package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runs are the packages that carry a run out, with all that they reach: what starts a goroutine there may do so after the debit.
var runs = []string{"internal/pipeline", "plugins/builtin"}

// unguarded lists goroutines that need no guard, by file and function, with the reason.
var unguarded = map[string]string{}

// harmless are calls that may stand in a goroutine beside the guarded one: they call no code of this module.
var harmless = map[string]bool{
	"close": true, "cancel": true, "len": true, "min": true, "new": true, "failed": true, "closeLane": true,
	"Add": true, "Done": true, "Lock": true, "Unlock": true, "LockOSThread": true, "UnlockOSThread": true, "As": true,
}

// A panic in a goroutine ends the process and prints its words, which may quote a value. So each goroutine that may start after the
// debit does its work under a guard.
func TestGoroutinesOfARunAreGuarded(t *testing.T) { // P20
	all := packages(t)
	reached := map[string]bool{}
	for _, p := range all {
		if slices.Contains(runs, p.name()) {
			reached[p.ImportPath] = true
			for _, d := range p.Deps {
				reached[d] = true
			}
		}
	}
	started, used := 0, map[string]bool{}
	for _, p := range all {
		if !reached[p.ImportPath] {
			continue
		}
		var files []*ast.File
		fset := token.NewFileSet()
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		for _, s := range starts(files) {
			started++
			at := p.name() + "/" + filepath.Base(fset.Position(s.at).Filename) + " " + s.in
			switch ok := isGuarded(s.function, files); {
			case unguarded[at] != "":
				if used[at] = true; ok {
					t.Errorf("%s is guarded: take it off the list", at)
				}
			case !ok:
				t.Errorf("%s starts a goroutine without a guard: have its work done under guard.Do, or by a guard.Group", fset.Position(s.at))
			}
		}
	}
	if started < 25 {
		t.Errorf("only %d goroutines were found", started)
	}
	for at := range unguarded {
		if !used[at] {
			t.Errorf("%s starts no goroutine: take it off the list", at)
		}
	}
}

// start is a place where a goroutine starts.
type start struct {
	at       token.Pos
	in       string // the function around it
	function ast.Expr
}

// starts finds go statements, the Go methods of groups, and what a timer or the end of a context calls.
func starts(files []*ast.File) (out []start) {
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					out = append(out, start{n.Pos(), fn.Name.Name, n.Call.Fun})
				case *ast.CallExpr:
					s, ok := n.Fun.(*ast.SelectorExpr)
					if ok && s.Sel.Name == "Go" && len(n.Args) == 1 || ok && s.Sel.Name == "AfterFunc" && len(n.Args) == 2 {
						out = append(out, start{n.Pos(), fn.Name.Name, n.Args[len(n.Args)-1]})
					}
				}
				return true
			})
		}
	}
	return out
}

// isGuarded reports whether a function recovers first of all, or calls nothing but harmless functions outside of a guard.
func isGuarded(f ast.Expr, files []*ast.File) bool {
	body := bodyOf(f, files)
	if body == nil {
		return false
	}
	if d, ok := body.List[0].(*ast.DeferStmt); ok && recovers(d) {
		return true
	}
	ok := true
	ast.Inspect(body, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is {
			return true
		}
		switch fun := call.Fun.(type) {
		case *ast.Ident:
			if fun.Name == "guarded" {
				return false
			}
			ok = ok && harmless[fun.Name]
		case *ast.SelectorExpr:
			if x, is := fun.X.(*ast.Ident); is && x.Name == "guard" || fun.Sel.Name == "Guarded" {
				return false
			}
			ok = ok && (harmless[fun.Sel.Name] || isIO(fun))
		case *ast.FuncLit: // a deferred one
		default:
			ok = false
		}
		return true
	})
	return ok
}

// isIO reports whether a call closes something or ends a process: os and net do that.
func isIO(s *ast.SelectorExpr) bool { return s.Sel.Name == "Close" || s.Sel.Name == "Kill" }

// bodyOf is the body of a function, of the package where it is named.
func bodyOf(f ast.Expr, files []*ast.File) *ast.BlockStmt {
	name := ""
	switch f := f.(type) {
	case *ast.FuncLit:
		return f.Body
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	var found *ast.BlockStmt
	for _, file := range files {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name && fn.Body != nil {
				if found != nil {
					return nil // which of them is not known
				}
				found = fn.Body
			}
		}
	}
	return found
}

func recovers(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "recover" {
				found = true
			}
		}
		return true
	})
	return found
}

// The test finds what it is for, and takes a guard for one.
func TestGoroutinesWithoutAGuardAreFound(t *testing.T) {
	for text, guarded := range map[string]bool{
		"go func() { done <- work(ctx) }()":       false,
		"go work(ctx)":                            false,
		"g.Go(func() error { return work(ctx) })": false,
		"g.Go(safe)":                              true,
		"go x.risky()":                            false,
		"time.AfterFunc(d, func() { work(ctx) })": false,
		"go func() { done <- guard.Do(func() error { return work(ctx) }) }()":                      true,
		"go func() { work(ctx); guard.Quietly(work) }()":                                           false,
		"go func() { defer close(done); guard.Quietly(work) }()":                                   true,
		"go func() { defer func() { if recover() != nil { failed = true } }(); work() }()":         true,
		"go func() { defer func() { work() }(); guard.Quietly(work) }()":                           false,
		"time.AfterFunc(d, func() { cancel(err) })":                                                true,
		"g.Go(func() error { return guarded(func() error { return work(ctx) }) })":                 true,
		"wg.Go(func() { for p := range tasks { guard.Quietly(func() { p.run() }) }; p.settle() })": false,
	} {
		src := "package p\nfunc safe() { guard.Quietly(work) }\nfunc (x T) risky() { work() }\nfunc f() { " + text + " }\n"
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
		if err != nil {
			t.Fatal(text, err)
		}
		files := []*ast.File{f}
		all := starts(files)
		if len(all) != 1 || isGuarded(all[0].function, files) != guarded {
			t.Errorf("%s: found %d, guarded not %v", strings.TrimSpace(text), len(all), guarded)
		}
	}
}
