package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// lines holds the three kinds of lines of some files.
type lines struct{ Code, Comments, Blank int }

func (l *lines) add(m lines) { l.Code += m.Code; l.Comments += m.Comments; l.Blank += m.Blank }

func (l lines) String() string { return fmt.Sprintf("%7d %7d %7d", l.Code, l.Comments, l.Blank) }

// A knowing counts the packages and files besides its own that know a capability.
type knowing struct{ packages, files map[string]bool }

type counts struct {
	program, root, trusted lines
	folders                map[string]lines
	functions, wide        int
	scans, refusals        int
	known                  map[string]knowing
}

const (
	longest = 80  // lines of a function
	widest  = 140 // characters of a line
)

// A capability is known where one of its words is part of an identifier. Files that have the word in
// their own path are its home and do not count.
type capability struct {
	name  string
	words []string
}

var capabilities = []capability{
	{"series", []string{"series"}},
	{"panels", []string{"panel", "panels", "wave", "waves"}},
	{"kept", []string{"kept"}},
	{"collected", []string{"collected", "collection", "collections"}},
	{"tables", []string{"tables", "several"}},
	{"weights", []string{"weight", "weights", "weighted"}},
	{"caps", []string{"capped", "caps", "capper"}},
	{"folds", []string{"fold", "folds", "folded", "folding"}},
	{"keys", []string{"keys", "keyed"}},
	{"slices", []string{"slice", "sliced"}},
	{"beam", []string{"beam", "engine", "engines"}},
}

// combination matches texts that refuse something and name a capability with which it does not go.
var combination = regexp.MustCompile(`(?i)\b(cannot|must not|may not|do not|does not|is not|are not|has no|` +
	`have no|needs?|refused|stand beside)\b.*` +
	`\b(dataset\.\w+|collect(ed|ion)|panels?|waves?|series|periods?|rho|folds?|caps?|weights?|keys|slices?|kept|strata|stages|` +
	`multistage|sample|engine|several (rows|tables)|relation|replace-one|add-remove|groups)\b`)

func count(files []goFile) counts {
	c := counts{folders: map[string]lines{}, known: map[string]knowing{}}
	for _, k := range capabilities {
		c.known[k.name] = knowing{map[string]bool{}, map[string]bool{}}
	}
	for _, f := range files {
		n := kinds(f)
		folder := c.folders[shelf(f.path)]
		folder.add(n)
		c.folders[shelf(f.path)] = folder
		if !f.root {
			continue
		}
		c.root.add(n)
		if f.linked {
			c.program.add(n)
		}
		if f.trusted {
			c.trusted.add(n)
		}
		c.wide += wideLines(f.text)
		c.syntax(f)
	}
	return c
}

// shelf returns the folder that a file is listed under: two names where the second says something.
func shelf(name string) string {
	parts := strings.Split(path.Dir(name), "/")
	if n := parts[0]; len(parts) > 1 && (n == "internal" || n == "plugins" || n == "lab" || n == "cmd" || n == "examples") {
		return n + "/" + parts[1]
	}
	return parts[0]
}

// kinds tells a file's lines apart: a line with a token is code, whatever else stands on it.
func kinds(f goFile) lines {
	total := bytes.Count(f.text, []byte("\n"))
	comment, code := map[int]bool{}, 0
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			for n := f.fset.Position(c.Pos()).Line; n <= f.fset.Position(c.End()).Line; n++ {
				comment[n] = true
			}
		}
	}
	var n lines
	for i, line := range bytes.Split(f.text, []byte("\n")) {
		switch text := bytes.TrimSpace(line); {
		case i == total:
		case len(text) == 0:
			n.Blank++
		case comment[i+1] && (bytes.HasPrefix(text, []byte("//")) || bytes.HasPrefix(text, []byte("/*")) || !onCode(f, i+1)):
			n.Comments++
		default:
			code++
		}
	}
	n.Code = code
	return n
}

// onCode reports whether a comment of that line begins behind code.
func onCode(f goFile, line int) bool {
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			if f.fset.Position(c.Pos()).Line == line {
				return true
			}
		}
	}
	return false
}

func wideLines(text []byte) int {
	n := 0
	for _, line := range bytes.Split(text, []byte("\n")) {
		if len([]rune(string(line))) > widest {
			n++
		}
	}
	return n
}

// syntax counts what only the parsed file shows.
func (c *counts) syntax(f goFile) {
	read := token.NoPos // a text of several pieces is counted once
	refusal := func(e ast.Expr) {
		if text := wording(e); text != "" && e.Pos() >= read {
			read = e.End()
			if f.linked && combination.MatchString(text) {
				c.refusals++
			}
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if f.fset.Position(n.End()).Line-f.fset.Position(n.Pos()).Line+1 > longest {
				c.functions++
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Scan" && strings.HasPrefix(f.path, "internal/run/") {
				c.scans++
			}
		case *ast.BinaryExpr:
			refusal(n)
		case *ast.BasicLit:
			refusal(n)
		case *ast.Ident:
			c.learn(f.path, n.Name)
		}
		return true
	})
}

// wording joins the pieces of a text, and leaves out what stands between them.
func wording(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil {
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return wording(e.X) + wording(e.Y)
		}
	}
	return ""
}

// learn notes the capabilities that an identifier of a file names.
func (c *counts) learn(file, identifier string) {
	words := split(identifier)
	for _, k := range capabilities {
		home := slices.ContainsFunc(k.words, func(w string) bool { return strings.Contains(file, strings.TrimSuffix(w, "s")) })
		if !home && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(k.words, w) }) {
			c.known[k.name].packages[path.Dir(file)], c.known[k.name].files[file] = true, true
		}
	}
}

// split returns the words of an identifier in lower case: keptDraw is kept and draw.
func split(identifier string) []string {
	var words []string
	start := 0
	runes := []rune(identifier)
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) {
			words = append(words, strings.ToLower(string(runes[start:i])))
			start = i
		}
	}
	return words
}

// Limits returns the numbers that may not grow. Comments and blank lines may.
func (c counts) Limits() map[string]int {
	all := map[string]int{
		"code of the program": c.program.Code, "code of the root module": c.root.Code,
		"code of the trusted base with all it reaches": c.trusted.Code,
		"functions above 80 lines":                     c.functions, "lines above 140 characters": c.wide,
		"scan loops of internal/run": c.scans, "texts that refuse a combination": c.refusals,
	}
	for name, k := range c.known {
		all["packages that know "+name], all["files that know "+name] = len(k.packages), len(k.files)
	}
	return all
}

func (c counts) print(w io.Writer) {
	fmt.Fprintf(w, "%7s %7s %7s\n", "code", "comment", "blank")
	folders := slices.SortedFunc(maps.Keys(c.folders), func(a, b string) int { return c.folders[b].Code - c.folders[a].Code })
	for _, name := range folders {
		fmt.Fprintf(w, "%v  %s\n", c.folders[name], name)
	}
	for _, s := range []struct {
		name string
		n    lines
	}{{"the root module", c.root}, {"the program", c.program}, {"the trusted base with all it reaches", c.trusted}} {
		fmt.Fprintf(w, "%v  %s: %d lines\n", s.n, s.name, s.n.Code+s.n.Comments+s.n.Blank)
	}
	limits := c.Limits()
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if !strings.HasPrefix(name, "code of") {
			fmt.Fprintf(w, "%7d  %s\n", limits[name], name)
		}
	}
}
