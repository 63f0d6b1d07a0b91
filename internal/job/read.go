package job

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/lang"
)

// Options holds everything besides the file that changes how a job is read.
type Options struct {
	// Getenv looks up an environment variable; nil knows none.
	Getenv func(name string) (string, bool)
	// Mechanisms are the names of the built-in mechanisms; nil leaves the names
	// that releases use unchecked.
	Mechanisms []string
	// Set holds the values of the variables that the job declares, by name.
	Set map[string]string

	_ struct{}
}

// Read reads and checks a job file. Where the error is Problems, the Job holds
// what could be read; any other error means that the file itself cannot be read.
func Read(path string, o Options) (*Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("is a folder, not a job file")}
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if !info.Mode().IsRegular() {
		dir = "." // a pipe lies in no folder that the job could mean
	}
	return parse(path, dir, data, o)
}

// Parse reads and checks the text of a job file; file is its name, for messages
// and for relative paths. The error, if any, is Problems.
func Parse(file string, data []byte, o Options) (*Job, error) {
	return parse(file, filepath.Dir(file), data, o)
}

func parse(file, dir string, data []byte, o Options) (*Job, error) {
	j := &Job{File: file, Dir: dir}
	o.Getenv = j.packing(data, o)
	c := newCursor(file, dir, o.Getenv)
	c.set = o.Set
	if root := c.Document(data); root != nil {
		variablesFirst(root)
		p := lang.Place{At: root, Node: root}
		if c.Open(&p) {
			j.pos = c.Places
			language().read(c, p, j)
			c.undeclared(root)
			j.Dataset.Unit = UnitRow
			c.Problems = append(c.Problems, check(j, o, c.Problems)...)
		}
	}
	return j, c.traced(c.Problems).Sort().Err()
}
