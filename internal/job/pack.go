package job

import (
	"maps"
	"path/filepath"
)

// Packed is a job as another machine reads it again: its text, and every value that its text asked for.
type Packed struct {
	File, Dir string
	Text      []byte
	Env, Set  map[string]string
}

// packing remembers what a job is read from. What it returns answers as o.Getenv does.
func (j *Job) packing(text []byte, o Options) func(string) (string, bool) {
	j.pack = Packed{File: j.File, Dir: j.Dir, Text: text, Env: map[string]string{}, Set: maps.Clone(o.Set)}
	env := j.pack.Env
	return func(name string) (string, bool) {
		if o.Getenv == nil {
			return "", false
		}
		value, ok := o.Getenv(name)
		if ok {
			env[name] = value
		}
		return value, ok
	}
}

// Pack is the job for another machine. Relative paths stay those of this machine's folder of the job.
func (j *Job) Pack() (Packed, error) {
	p := j.pack
	var err error
	p.Dir, err = filepath.Abs(p.Dir)
	return p, err
}

// Job reads a packed job.
func (p Packed) Job() (*Job, error) {
	return parse(p.File, p.Dir, p.Text, Options{Set: p.Set, Getenv: func(name string) (string, bool) {
		value, ok := p.Env[name]
		return value, ok
	}})
}
