// Left prints what go test takes to run the tests that the fast tier left out, in part or as a
// whole: a pattern of the other tests, which ran whole there, and the packages that have any left.
// A continuous build that has run the fast tier need not run those again.
//
// A test is left where its code, or code of the tests that it may reach, asks for the tier. What
// may be reached is found by name alone, so that too many tests are left, and never too few.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// asking matches the paths with names by which one asks for the tier; in scripts there is a condition for it.
var asking = regexp.MustCompile(`^testing\.Short$|/testkit/tier\.\w+$|/go-internal/testscript\.Run(T)?$`)

// test is the name of a function that go test runs.
var test = regexp.MustCompile(`^(Test|Fuzz|Example)([^a-z]|$)`)

// A folder is the code of the tests of one package, by the names that it declares.
type folder struct {
	names   map[string]map[string]bool // what each mentions
	asks    map[string]bool
	methods map[string]bool
	tests   []string
}

// read reads the files of a folder. Names that another package of helpers declares are mentioned as "helper.Name".
func read(paths []string, helpers map[string]bool) (*folder, error) {
	f := &folder{names: map[string]map[string]bool{}, asks: map[string]bool{}, methods: map[string]bool{}}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		imports := map[string]string{}
		for _, spec := range file.Imports {
			whole, _ := strconv.Unquote(spec.Path.Value)
			name := whole[strings.LastIndexByte(whole, '/')+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imports[name] = whole
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && test.MatchString(d.Name.Name) {
					f.tests = append(f.tests, d.Name.Name)
				}
				if d.Recv != nil {
					f.methods[d.Name.Name] = true
				}
				f.mention(d.Name.Name, d, imports, helpers)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						f.mention(s.Name.Name, s, imports, helpers)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							f.mention(n.Name, s, imports, helpers)
						}
					}
				}
			}
		}
	}
	return f, nil
}

// mention notes what a declaration mentions, and whether it asks for the tier itself.
func (f *folder) mention(name string, of ast.Node, imports map[string]string, helpers map[string]bool) {
	if f.names[name] == nil {
		f.names[name] = map[string]bool{}
	}
	ast.Inspect(of, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			f.names[name][n.Name] = true
		case *ast.SelectorExpr:
			from := ""
			if x, ok := n.X.(*ast.Ident); ok {
				from = imports[x.Name]
			}
			if asking.MatchString(from + "." + n.Sel.Name) {
				f.asks[name] = true
			}
			if helpers[from] {
				f.names[name][from+"."+n.Sel.Name] = true
			}
		}
		return true
	})
}

// spread lets what mentions something that asks ask, too; told are the names of helpers that ask.
func (f *folder) spread(told map[string]bool) {
	for changed := true; changed; {
		changed = false
		for name, mentioned := range f.names {
			for m := range mentioned {
				if !f.asks[name] && (f.asks[m] || told[m]) {
					f.asks[name], changed = true, true
				}
			}
		}
	}
}

// left returns the tests of a folder that the fast tier left out; all of them where something
// asks that runs before every test.
func (f *folder) left(told map[string]bool) (left, whole []string) {
	f.spread(told)
	for _, name := range f.tests {
		if f.asks[name] || f.asks["TestMain"] || f.asks["init"] || f.asks["_"] {
			left = append(left, name)
		} else {
			whole = append(whole, name)
		}
	}
	return left, whole
}

// listed is a package as go list names it.
type listed struct {
	path         string
	files, tests []string
	imports      []string
}

func list() ([]listed, error) {
	const as = "{{.Dir}}\t{{.ImportPath}}\t{{join .GoFiles \" \"}}\t{{join .TestGoFiles \" \"}} {{join .XTestGoFiles \" \"}}\t{{join " +
		".Imports \" \"}}"
	cmd := exec.Command("go", "list", "-f", as, "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []listed
	for line := range strings.Lines(string(out)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		in := func(names string) (paths []string) {
			for _, name := range strings.Fields(names) {
				paths = append(paths, filepath.Join(part[0], name))
			}
			return paths
		}
		all = append(all, listed{part[1], in(part[2]), in(part[3]), strings.Fields(part[4])})
	}
	return all, nil
}

// helping finds the names of helpers that ask for the tier: those of packages that import testing,
// which the tests of several packages share.
func helping(all []listed) (helpers, told map[string]bool, err error) {
	helpers, told = map[string]bool{}, map[string]bool{}
	for _, p := range all {
		helpers[p.path] = slices.Contains(p.imports, "testing")
	}
	for before := -1; before < len(told); { // helpers call one another
		before = len(told)
		for _, p := range all {
			if !helpers[p.path] || strings.HasSuffix(p.path, "/testkit/tier") {
				continue
			}
			f, err := read(p.files, helpers)
			if err != nil {
				return nil, nil, err
			}
			f.spread(told)
			for name := range f.asks {
				told[p.path+"."+name] = true
				if f.methods[name] { // called on a value, whose package is not seen
					told[name] = true
				}
			}
		}
	}
	return helpers, told, nil
}

func main() {
	log.SetFlags(0)
	all, err := list()
	if err != nil {
		log.Fatal(err)
	}
	helpers, told, err := helping(all)
	if err != nil {
		log.Fatal(err)
	}
	var packages []string
	leftOut, ranWhole := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		f, err := read(p.tests, helpers)
		if err != nil {
			log.Fatal(err)
		}
		left, whole := f.left(told)
		for _, name := range left {
			leftOut[name] = true
		}
		for _, name := range whole {
			ranWhole[name] = true
		}
		if len(left) > 0 {
			packages = append(packages, p.path)
		}
	}
	maps.DeleteFunc(ranWhole, func(name string, _ bool) bool { return leftOut[name] })
	skip := strings.Join(slices.Sorted(maps.Keys(ranWhole)), "|")
	fmt.Printf("-skip=^(%s)$ %s\n", skip, strings.Join(packages, " "))
}
