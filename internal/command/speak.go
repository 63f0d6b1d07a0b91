package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/pipeline"
)

// Answer prints itself for a person. Programs get it as JSON.
type Answer interface{ WriteText(w io.Writer) error }

// JobFiles completes the names of YAML files.
func JobFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// Open reads the job file that a command is about.
func (e *Environment) Open(path string) (*job.Job, error) {
	e.JobName = ""
	j, err := e.Load(path, e.Getenv, e.Set)
	if err != nil {
		return nil, err
	}
	e.JobName = j.Name
	if e.Unconfined = language.Unconfined(j); len(e.Unconfined) > 0 && !e.JSON {
		e.Tell(e.Errw, "note: not confined: %s: the job says sandbox: off, so it can read and write files and use the network\n",
			strings.Join(e.Unconfined, ", "))
	}
	return j, nil
}

func (e *Environment) Options() pipeline.Options {
	o := pipeline.Options{By: OneLine(e.By), Mechanisms: e.Mechanisms(), Builtins: DescribeBuiltins(),
		Version: e.About().Version, SoleParent: true}
	if dir, err := os.UserCacheDir(); err == nil {
		o.Plans = filepath.Join(dir, "dprelease", "plans")
	}
	return o
}

// Fail prints an error, one line for each problem, and gives its exit code.
func (e *Environment) Fail(ctx context.Context, err error) error {
	f, problems := Explain(ctx, err)
	return e.FailWith(f, problems)
}

// FailWith prints a failure. Its last line says the code, what was spent, and whether to
// run the command again.
func (e *Environment) FailWith(f Ending, problems job.Problems) error {
	if len(problems) > 0 {
		e.Problems(problems)
	} else if !e.JSON {
		e.Tell(e.Errw, "dprelease: %s: %s\n", f.Code, f.Message)
	}
	return e.Ended(f)
}

// Problems prints the problems of a job, a line for each.
func (e *Environment) Problems(problems job.Problems) {
	if !e.JSON {
		e.Tell(e.Errw, "%s\n", problems.Error())
		return
	}
	for _, p := range problems {
		e.Line(struct {
			Mark
			File    string `json:"file"`
			Line    int    `json:"line"`
			Column  int    `json:"column"`
			Path    string `json:"path"`
			Message string `json:"message"`
			Hint    string `json:"hint"`
		}{e.Mark("problem"), p.File, p.Line, p.Column, p.Path, p.Message, p.Hint})
	}
}

// Ended prints the last line of a command that has said what was wrong.
func (e *Environment) Ended(f Ending) error {
	f.Mark, f.Unconfined = e.Mark(f.Event), e.Unconfined
	if e.JSON {
		e.Line(f)
	} else {
		fmt.Fprintln(e.Errw, f.Last()) // whole on any terminal: scripts read it
	}
	return Failed{f.Exit}
}

// Say prints a short answer.
func (e *Environment) Say(object any, format string, args ...any) error {
	var err error
	switch {
	case e.JSON:
		err = e.Line(object)
	case !e.Quiet:
		err = e.Tell(e.Out, format, args...)
	}
	return e.Printed(err)
}

// Print prints an answer.
func (e *Environment) Print(a Answer) error {
	var err error
	switch {
	case e.JSON:
		err = e.Line(a)
	case !e.Quiet:
		err = e.People(e.Out, e.Text(a))
	}
	return e.Printed(err)
}

// Text returns the function that prints an answer for a person, with details where they are
// asked for.
func (e *Environment) Text(a Answer) func(io.Writer) error {
	if d, ok := a.(interface{ WriteDetail(io.Writer) error }); ok && e.Verbose {
		return d.WriteDetail
	}
	return a.WriteText
}

// Printed turns a failed write of an answer into an exit code.
func (e *Environment) Printed(err error) error {
	if err == nil {
		return nil
	}
	f := Unspent(ExitBug, "OUTPUT", "the answer cannot be written")
	e.Tell(e.Errw, "dprelease: %s: %s\n", f.Code, f.Message)
	fmt.Fprintln(e.Errw, f.Last())
	return Failed{f.Exit}
}

// Line prints one JSON object on a line of its own.
func (e *Environment) Line(object any) error {
	b, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = e.Out.Write(append(b, '\n'))
	return err
}

// EachLine puts each text on a line of its own, behind the same word.
func EachLine(word string, texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(word + text + "\n")
	}
	return b.String()
}

// OneLine is a text without line ends.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
