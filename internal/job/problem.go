package job

import (
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a job file. Lines and columns count from 1; columns count
// characters. The zero Line stands for the file as a whole.
type Pos struct {
	File         string
	Line, Column int
}

// String prints file:line:column.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Step says when a problem was found.
type Step string

const (
	// StepLoad problems are about the text: syntax, keys, types and ranges.
	StepLoad Step = "load"
	// StepCheck problems are about the meaning: keys that contradict each other.
	StepCheck Step = "check"
)

// Problem is one thing that is wrong with a job.
type Problem struct {
	Pos
	Step    Step
	Path    string // of the key, "" for the file as a whole
	Message string
	Hint    string // what to do about it, may be empty
}

// Error prints file:line:column: path: message (hint).
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Pos.String())
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Problems are all the problems of a job, in the order of the file. It is an
// error; a caller takes it from one with errors.As and a variable of this type.
type Problems []Problem

// maxPrinted bounds how many problems one text lists.
const maxPrinted = 1000

// Error prints one problem a line.
func (ps Problems) Error() string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == maxPrinted {
			fmt.Fprintf(&b, "and %d more problems", len(ps)-i)
			break
		}
		b.WriteString(p.Error())
	}
	return b.String()
}

// Sort orders problems by position and removes repetitions.
func (ps Problems) Sort() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return slices.Compact(ps)
}

// Err returns ps as an error, nil where there is no problem.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}
