package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

const module = "github.com/dprelease/dprelease"

// A goFile is a file of Go that people write, outside of tests.
type goFile struct {
	path    string
	text    []byte
	syntax  *ast.File
	fset    *token.FileSet
	root    bool // of the root module
	linked  bool // into the program
	trusted bool // in the closure of the trusted base
}

// support matches packages that serve tests only.
var support = regexp.MustCompile(`(^|/)(testkit|testdata|storetest|noisetest|insecurenoise|lineartest|insecureshelf|oracles)/`)

// inModule matches the modules beside the root one.
var beside = regexp.MustCompile(`^(stores|publish|lab|engines/beam|packaging)/`)

func readFiles() ([]goFile, error) {
	listed, err := output("git", "ls-files", "*.go")
	if err != nil {
		return nil, err
	}
	linked, err := closure("./cmd/dprelease")
	if err != nil {
		return nil, err
	}
	base, err := trustedBase()
	if err != nil {
		return nil, err
	}
	trusted, err := closure(base...)
	if err != nil {
		return nil, err
	}
	var files []goFile
	for _, name := range strings.Fields(string(listed)) {
		if strings.HasSuffix(name, "_test.go") || support.MatchString(name) {
			continue
		}
		f := goFile{path: name, fset: token.NewFileSet(), root: !beside.MatchString(name)}
		if f.text, err = os.ReadFile(name); errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not yet committed
		} else if err != nil {
			return nil, err
		}
		if f.syntax, err = parser.ParseFile(f.fset, name, f.text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		if ast.IsGenerated(f.syntax) {
			continue
		}
		f.linked, f.trusted = linked[path.Dir(name)], trusted[path.Dir(name)]
		files = append(files, f)
	}
	if len(files) < 100 {
		return nil, fmt.Errorf("found only %d files: run this in the root of the repository", len(files))
	}
	return files, nil
}

// trustedBase reads the packages that hold rows, draw noise, charge or remember from the list
// that the tests of the house keep.
func trustedBase() ([]string, error) {
	const list = "internal/testkit/archtest/trusted.txt"
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, line := range strings.Split(string(text), "\n") {
		if dir, ok := strings.CutPrefix(line, "base "); ok {
			all = append(all, "./"+dir)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: names no package", list)
	}
	return all, nil
}

// closure returns the folders of the module whose packages the named ones reach.
func closure(roots ...string) (map[string]bool, error) {
	text, err := output("go", append([]string{"list", "-deps", "-json=ImportPath"}, roots...)...)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p struct{ ImportPath string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if dir, ok := strings.CutPrefix(p.ImportPath, module+"/"); ok {
			all[filepath.ToSlash(dir)] = true
		}
	}
}

func output(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}
