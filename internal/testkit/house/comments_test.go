package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// roundabout finds a comment that talks about what its function is or says, after the
// name of the function.
var roundabout = regexp.MustCompile(`^(is|are|says?|tells?) (what|how|where|whether|who|whom|which|when|why|that)\b`)

// talks returns the places of a file's functions and methods whose comments do not begin
// with what the function does.
func talks(fset *token.FileSet, f *ast.File) (places []string) {
	if ast.IsGenerated(f) {
		return nil
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		text := strings.Join(strings.Fields(fn.Doc.Text()), " ")
		if rest, named := strings.CutPrefix(text, fn.Name.Name+" "); named && roundabout.MatchString(rest) {
			places = append(places, fset.Position(fn.Pos()).String()+": "+fn.Name.Name+" "+roundabout.FindString(rest))
		}
	}
	return places
}

// A comment of a function says what the function does: "population returns the size, or −1".
func TestCommentsSayWhatFunctionsDo(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() {
			if name == "testdata" || strings.HasPrefix(name, ".") && strings.Trim(name, ".") != "" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		for _, place := range talks(fset, f) {
			t.Errorf("%s: say what the function does: a verb after its name, such as returns, reports whether, lists", place)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 700 {
		t.Errorf("only %d files were looked at", seen)
	}
}

func TestRoundaboutCommentsAreFound(t *testing.T) {
	for text, found := range map[string]bool{
		"// size is what the table holds.\nfunc size() int { return 0 }":                       true,
		"// size are\n// how many rows there are.\nfunc (t table) size() int { return 0 }":     true,
		"// size says whether a table is large.\nfunc size() bool { return true }":             true,
		"// size tells that a table is large.\nfunc size() bool { return true }":               true,
		"// size returns what the table holds, or −1.\nfunc (t table) size() int { return 0 }": false,
		"// size is the number of rows.\nfunc size() int { return 0 }":                         false,
		"// size is whatever fits.\nfunc size() int { return 0 }":                              false,
		"func size() int { return 0 }":                                                         false,
		"// size is what a type may be.\ntype size int":                                        false,
		"// size is how a constant may be.\nconst size = 1":                                    false,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "sample.go", "package sample\n\n"+text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if places := talks(fset, f); (len(places) > 0) != found {
			t.Errorf("%q: found %v", text, places)
		}
	}
}
