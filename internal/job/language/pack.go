package language

import (
	"maps"

	"github.com/dprelease/dprelease/internal/job"
)

// packing remembers what a job is read from. What it returns answers as o.Getenv does.
func packing(j *job.Job, text []byte, o Options) func(string) (string, bool) {
	env := map[string]string{}
	j.Packed(job.Packed{File: j.File, Dir: j.Dir, Text: text, Env: env, Set: maps.Clone(o.Set)})
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

// Job reads a packed job.
func Unpack(p job.Packed) (*job.Job, error) {
	return parse(p.File, p.Dir, p.Text, Options{Set: p.Set, Getenv: func(name string) (string, bool) {
		value, ok := p.Env[name]
		return value, ok
	}})
}
