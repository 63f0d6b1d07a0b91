package language

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
)

// Version is the version of the job language.
const Version = 1

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
func Read(path string, o Options) (*job.Job, error) {
	data, err := file.Read(path, MaxBytes)
	switch {
	case errors.Is(err, file.ErrLarge):
		return nil, job.Problems{{Pos: job.Pos{File: path}, Step: StepLoad, Hint: "split the job",
			Message: fmt.Sprintf("is larger than %d MB, the most that a job file may be", MaxBytes>>20)}}
	case err != nil:
		return nil, err
	}
	return parse(path, filepath.Dir(path), data, o)
}

// Parse reads and checks the text of a job file; file is its name, for messages
// and for relative paths. The error, if any, is Problems.
func Parse(file string, data []byte, o Options) (*job.Job, error) {
	return parse(file, filepath.Dir(file), data, o)
}

func parse(file, dir string, data []byte, o Options) (*job.Job, error) {
	j := &job.Job{File: file, Dir: dir}
	j.Speaks(spoken{})
	o.Getenv = packing(j, data, o)
	c := newCursor(file, dir, o.Getenv)
	c.set = o.Set
	if root := c.Document(data); root != nil {
		variablesFirst(root)
		p := lang.Place{At: root, Node: root}
		if c.Open(&p) {
			j.Place(c.Places)
			language().read(c, p, j)
			c.undeclared(root)
			j.Dataset.Unit = job.UnitRow
			c.Problems = append(c.Problems, check(j, o, c.Problems)...)
		}
	}
	return j, c.traced(c.Problems).Sort().Err()
}
