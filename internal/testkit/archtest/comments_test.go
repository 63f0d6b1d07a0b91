package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
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

// goFiles calls visit for every Go file of the repository outside of testdata and hidden folders.
func goFiles(t *testing.T, visit func(path string) error) {
	t.Helper()
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
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		return visit(path)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A comment of a function says what the function does: "population returns the size, or −1".
func TestCommentsSayWhatFunctionsDo(t *testing.T) {
	seen := 0
	goFiles(t, func(path string) error {
		if strings.HasSuffix(path, "_test.go") {
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

// evasive finds a line of a comment that begins with what, how or where a thing is and does not name it.
var evasive = regexp.MustCompile(`(?m)^[ \t]*// \w+ (is|are|says|tells|holds|gives) (what|how|where|which|when)\b`)

// A comment names the thing itself, in tests too: "limit is the time that a run may take".
func TestCommentsNameTheThing(t *testing.T) {
	seen := 0
	goFiles(t, func(path string) error {
		if strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		for _, at := range evasive.FindAllIndex(text, -1) {
			line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
			t.Errorf("%s:%d: %q: name the thing with a noun (is the number of, holds the answers, lists the rules), or say what it does",
				path, line, text[at[0]:at[1]])
		}
		return nil
	})
	if seen < 1200 {
		t.Errorf("only %d files were looked at", seen)
	}
}

func TestEvasiveCommentsAreFound(t *testing.T) {
	for text, found := range map[string]bool{
		"package p\n\n// limit is how long a run may take.\n":                        true,
		"// rows are what a scan delivers.\ntype rows int\n":                         true,
		"// This one ends so: a\n// panel says which wave it is.\n":                  true,
		"// place holds where a table lies.\n":                                       true,
		"type limits struct {\n\t// Rows is how many rows count.\n\tRows int64\n}\n": true,
		"// limit is the time that a run may take.\n":                                false,
		"// ready reports whether a run may start.\n":                                false,
		"// size is whatever fits.\n":                                                false,
		"var text = `x // limit is how long a run may take`\n":                       false,
	} {
		if evasive.MatchString(text) != found {
			t.Errorf("%q: found %v", text, !found)
		}
	}
}
