package language

import (
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// cursor reads one job file. All kinds of values share it.
type cursor struct {
	*lang.Reader
	dir    string // paths are relative to it
	getenv func(string) (string, bool)
	variables
}

// Limits on a job file. 10,000 releases need about 1.5 MB.
const (
	// MaxBytes is the size of the largest job file.
	MaxBytes = 4 << 20
	// maxMarks bounds the commas, colons and line ends, and so the YAML nodes.
	maxMarks = 600_000
	// maxExpanded is the number of values that the aliases of a file may add to those that are
	// written.
	maxExpanded = 200_000
	// maxDepth bounds the nesting of the params of a mechanism.
	maxDepth = 64
)

func newCursor(file, dir string, getenv func(string) (string, bool)) *cursor {
	if getenv == nil {
		getenv = func(string) (string, bool) { return "", false }
	}
	return &cursor{Reader: lang.NewReader(file, lang.Words{
		Language: "the job language", What: "a job file", Holds: "job",
		Start: "see dprelease schema, or the examples", Advice: "split the job", Keys: rootKeys(),
		Telling: []string{"job", "dataset", "releases"},
	}, lang.Limits{Bytes: MaxBytes, Marks: maxMarks, Expanded: maxExpanded}), dir: dir, getenv: getenv}
}

// The two steps at which a problem can be found.
const (
	StepLoad  = problem.StepLoad
	StepCheck = problem.StepCheck
)
