package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a text. Lines and columns count from 1; columns count
// characters. The zero Line stands for the text as a whole.
type Pos struct {
	File         string
	Line, Column int
}

// String prints file:line:column, without what is not known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("%d:%d", p.Line, p.Column)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Step is the stage in which a problem was found.
type Step string

const (
	// StepLoad problems are about the text: syntax, keys, types and ranges.
	StepLoad Step = "load"
	// StepCheck problems are about the meaning: keys that contradict each other.
	StepCheck Step = "check"
)

// Problem is one thing that is wrong with a text: where, what, and what to do.
type Problem struct {
	Pos
	Step    Step
	Path    string // of the key, "" for the text as a whole
	Message string
	Hint    string // what to do about it, may be empty
}

// Error prints file:line:column: path: message (hint).
func (p Problem) Error() string { return p.Pos.String() + ": " + p.Text() }

// Text prints path: message (hint).
func (p Problem) Text() string {
	s := p.Message
	if p.Path != "" {
		s = Shorten(p.Path, 3*MaxShown) + ": " + s
	}
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// Problems are all the problems of a text, in its order; nil where there are none. It
// is an error; a caller takes it from one with errors.As and a variable of this type.
type Problems []Problem

// maxPrinted bounds how many problems one text lists.
const maxPrinted = 1000

// Error prints one problem a line.
func (ps Problems) Error() string { return ps.Join("\n") }

// Join prints the problems with sep between them.
func (ps Problems) Join(sep string) string {
	var parts []string
	for _, p := range ps[:min(len(ps), maxPrinted)] {
		parts = append(parts, p.Error())
	}
	if more := len(ps) - maxPrinted; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more problems", more))
	}
	return strings.Join(parts, sep)
}

// Sort orders problems by position and removes repetitions.
func (ps Problems) Sort() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
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

// OffsetLines moves the problems down by n lines, for a text that began further down
// in its file.
func (ps Problems) OffsetLines(n int) {
	for i := range ps {
		ps[i].Line += n
	}
}
