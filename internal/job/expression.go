package job

import "github.com/dprelease/dprelease/internal/rows/formula"

// Expression is the text of an expression, and what it means once it is checked.
type Expression struct {
	Text    string
	Formula *formula.Formula // nil where there is none, or a problem

	At     Pos  // where the text begins
	Folded bool // lines of the text are not columns of the file
	Canon  string
}

// Said reports whether there is an expression.
func (e Expression) Said() bool { return e.Text != "" }
