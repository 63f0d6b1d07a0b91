package job

import (
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// Place notes where the keys of the file stand, by their paths.
func (j *Job) Place(keys map[string]Pos) { j.pos = keys }

// Pos returns where a key stands: "samples.srs.size", "releases[0].params.column".
// For a key that the file does not have it is the place of the nearest key
// around it. Keys of the table that the job is seen from go without its name.
func (j *Job) Pos(path string) Pos {
	if at, ok := problem.Nearest(j.pos, j.Path(path)); ok {
		return at
	}
	return Pos{File: j.File}
}

// Has reports whether the file has the key.
func (j *Job) Has(path string) bool {
	_, ok := j.pos[j.Path(path)]
	return ok
}

// Problem makes a problem of the check stage at a key, for checks that are made
// elsewhere.
func (j *Job) Problem(path, message, hint string) Problem {
	return Problem{Pos: j.Pos(path), Step: problem.StepCheck, Path: j.Path(path), Message: message, Hint: hint}
}

// Wrong is a single problem of the check stage, as an error.
func (j *Job) Wrong(path, message, hint string) error {
	return Problems{j.Problem(path, message, hint)}
}

// Sample returns the declared sample of that name.
func (j *Job) Sample(name string) (Sample, bool) {
	return First(j.Samples, func(s Sample) bool { return s.Name == name })
}

// Plugin returns the declared plugin of that name.
func (j *Job) Plugin(name string) (Plugin, bool) {
	return First(j.Plugins, func(p Plugin) bool { return p.Name == name })
}

// Column returns the declared column of that name.
func (d *Dataset) Column(name string) (Column, bool) {
	if most := d.CountsRows(); name == UnitRows && !d.Declares(name) && most > 0 {
		return Column{Name: UnitRows, Type: Number, Lower: big.NewRat(1, 1), Upper: big.NewRat(most, 1), Missing: Handling{Rule: Refuse}}, true
	}
	return First(d.Columns, func(c Column) bool { return c.Name == name })
}

// Declares reports whether the job declares a column of that name.
func (d *Dataset) Declares(name string) bool {
	return slices.ContainsFunc(d.Columns, func(c Column) bool { return c.Name == name })
}

func First[T any](list []T, is func(T) bool) (found T, ok bool) {
	i := slices.IndexFunc(list, is)
	if i < 0 {
		return found, false
	}
	return list[i], true
}

// Named is a value that the job gives under a name: the rate of a stratum, an option of an engine.
type Named[V any] struct {
	Name  string
	Value V
}
