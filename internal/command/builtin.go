package command

import (
	"maps"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

// Builtins are the mechanisms that come with the programs. They run as a child process of
// the program that uses them, over the same protocol as anybody's.
var Builtins = builtin.Mechanisms()

// BuiltinNames lists the names of the built-in mechanisms in order.
func BuiltinNames() []string { return slices.Sorted(maps.Keys(Builtins)) }

// DescribeBuiltins returns the descriptions of the built-in mechanisms.
func DescribeBuiltins() []sdk.Description {
	var all []sdk.Description
	for _, name := range BuiltinNames() {
		all = append(all, Builtins[name].Describe())
	}
	return all
}

// Serving reports whether a command line asks this process to serve the built-in
// mechanisms. A host waits for it: there is no command line to read, nothing to set up.
func Serving(args []string) bool { return len(args) == 1 && args[0] == pipeline.ServeArgument }

// ServeBuiltins serves the built-in mechanisms. A host uses a process for one of them.
func ServeBuiltins() { serve.Mechanisms(builtin.Served()...) }

// Load reads a job and checks the names of its mechanisms, in one pass: the pipeline does
// not know which are built in.
func Load(path string, getenv func(string) (string, bool), set []string) (*job.Job, error) {
	return Named(pipeline.Load(path, getenv, set...))
}

// Named adds to the problems of a job that was read those of the names of its mechanisms.
func Named(j *job.Job, err error) (*job.Job, error) {
	problems := ProblemsOf(err)
	if j == nil || err != nil && problems == nil {
		return nil, err
	}
	if problems = append(problems, j.CheckMechanisms(BuiltinNames(), builtin.Words())...); len(problems) > 0 {
		// There will be no plan to find these.
		problems = append(problems, plan.ParamProblems(j, DescribeBuiltins())...)
	}
	return j, problems.Sort().Err()
}
