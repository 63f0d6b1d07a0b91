package job

import (
	"fmt"
	"strconv"
)

// Engine names the runner of a job's scans. The zero value is this machine. It is no part of the digest: the
// same releases on another engine are the same releases.
type Engine struct {
	Runner  string // of Beam: prism, flink, dataflow, spark, …; "" for this machine alone
	Options []Named[string]
}

// Elsewhere reports whether a pipeline of Apache Beam carries the scans out.
func (e *Engine) Elsewhere() bool { return e.Runner != "" }

// Option is the value of an option, "" where the job does not say.
func (e *Engine) Option(name string) string {
	o, _ := First(e.Options, func(o Named[string]) bool { return o.Name == name })
	return o.Value
}

// mostParts bounds the parts into which an engine cuts a table.
const mostParts = 1 << 14

// Parts is into how many parts an engine cuts the table, and how many groups of units a shuffle makes. Both are public
// numbers of the job, whatever the table: what a runner shows of its work does not tell the number of rows (P19).
func (j *Job) Parts() (splits, shards int, problems Problems) {
	one := func(name string, otherwise int) int {
		text := j.Engine.Option(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostParts {
			problems = append(problems,
				j.Problem(Key("engine.options", name), fmt.Sprintf("must be a whole number between 1 and %d", mostParts), ""))
		}
		return n
	}
	each := 16 // four for each worker: more of them cost time, fewer leave workers idle
	if workers, err := strconv.Atoi(j.Engine.Option("workers")); err == nil && workers > 0 {
		each = min(4*workers, mostParts)
	}
	splits, shards = one("splits", each), one("shards", 64)
	return splits, shards, problems
}
