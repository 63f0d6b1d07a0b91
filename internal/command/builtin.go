package command

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/dprelease/dprelease/internal/data/companion"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/plugins/sdk"
)

//go:generate go test ../../plugins/builtin -run TestStored -update

// stored are the descriptions of the built-in mechanisms, with other words for them. The program that serves them must
// describe them so.
//
//go:embed builtin.json
var stored []byte

// Builtin is a built-in mechanism as programs know it that do not serve it.
type Builtin struct {
	sdk.Description
	// Words are other words for it, in lower case with underscores.
	Words []string
}

var builtins = sync.OnceValue(func() (all []Builtin) {
	if err := json.Unmarshal(stored, &all); err != nil {
		panic("builtin.json: " + err.Error()) // a test reads it
	}
	return all
})

// Mechanisms is the path of the program that serves the built-in mechanisms. It is handed rows, so it lies beside this one.
func (e *Environment) Mechanisms() string { return companion.Beside(e.Self, "dprelease-mechanisms") }

// BuiltinNames lists the names of the built-in mechanisms in order.
func BuiltinNames() (names []string) {
	for _, b := range builtins() {
		names = append(names, b.Name)
	}
	return names
}

// DescribeBuiltins returns the descriptions of the built-in mechanisms, in the order of their names.
func DescribeBuiltins() (all []sdk.Description) {
	for _, b := range builtins() {
		all = append(all, b.Description)
	}
	return all
}

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
	words := map[string][]string{}
	for _, b := range builtins() {
		words[b.Name] = b.Words
	}
	if problems = append(problems, language.CheckMechanisms(j, BuiltinNames(), words)...); len(problems) > 0 {
		// There will be no plan to find these.
		problems = append(problems, plan.ParamProblems(j, DescribeBuiltins())...)
	}
	return j, problems.Sort().Err()
}
