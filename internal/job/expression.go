package job

import (
	"math/big"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// Expression is the text of an expression, and what it means once it is checked.
type Expression struct {
	Text    string
	Formula *formula.Formula // nil where there is none, or a problem

	at     Pos  // where the text begins
	folded bool // lines of the text are not columns of the file
	canon  string
}

// Said reports whether there is an expression.
func (e Expression) Said() bool { return e.Text != "" }

// canonical is a spelling that does not depend on white space, nil where there is none.
func (e Expression) canonical() any {
	if e.canon != "" {
		return e.canon
	}
	if e.Formula == nil {
		return nil
	}
	return e.Formula.Canonical()
}

// expression is a text that remembers where it stands.
func expression() kind[Expression] {
	t := text()
	return kind[Expression]{label: "expression", schema: t.schema, read: func(c *cursor, p lang.Place, into *Expression) bool {
		if !c.isScalar(p, "an expression") || !c.noVariable(p) {
			return false
		}
		if p.Node.Value == "" {
			return c.Wrong(p, "", "must not be empty")
		}
		into.Text, into.at = p.Node.Value, c.Position(p.Node)
		switch p.Node.Style {
		case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
			into.at.Column++
		case yaml.LiteralStyle, yaml.FoldedStyle:
			into.folded = true
		}
		return true
	}}
}

// check finds what is wrong with an expression at a key and keeps what it means.
func (k *checker) expression(path string, e *Expression, columns []formula.Column) {
	if !e.Said() {
		return
	}
	f, problems := formula.Check(e.Text, columns)
	for _, p := range problems {
		at := e.at
		if p.Line > 1 || e.folded {
			at.Line += p.Line - 1
			at.Column = p.Column
			if e.folded {
				at.Line++
			}
		} else {
			at.Column += p.Column - 1
		}
		k.found = append(k.found, Problem{Pos: at, Step: problem.StepCheck, Path: path, Message: p.Message, Hint: p.Hint})
	}
	if len(problems) == 0 {
		e.Formula = f
	}
}

// Doubts are expressions and limits that are probably not what was meant, though nothing is wrong with them.
func (j *Job) Doubts() Problems {
	out := j.doubtedLimits()
	add := func(path string, e Expression) {
		if e.Formula != nil && e.Formula.Doubt != "" {
			out = append(out,
				Problem{Pos: e.at, Step: problem.StepCheck, Path: path, Message: e.Formula.Doubt, Hint: "a run would release noise and nothing else"})
		}
	}
	for i := range j.Dataset.Columns {
		if c := &j.Dataset.Columns[i]; c.Derived != nil {
			add(Key(c.path(), "as"), c.Derived.As)
		}
	}
	for i := range j.Dataset.Tables {
		t := &j.Dataset.Tables[i]
		for n := range t.Columns {
			switch c := &t.Columns[n]; {
			case c.Derived != nil:
				add(t.full(Key(c.path(), "as")), c.Derived.As)
			case c.Joined != nil:
				add(t.full(Key(c.path(), "as")), c.Joined.Where)
			}
		}
	}
	for i, r := range j.Releases {
		add(Key(Item("releases", i), "where"), r.Where)
		add(Key(Item("releases", i), "having"), r.Having)
	}
	return out
}

// doubtedLimits names the amounts of the limit under which an account promises next to nothing.
func (j *Job) doubtedLimits() (out Problems) {
	for _, l := range []struct {
		key     string
		amount  *big.Rat
		most    *big.Rat
		message string
	}{
		{"epsilon", j.Budget.Limit.Epsilon, big.NewRat(9, 2),
			"protects hardly anybody: whoever is right one time in two before the releases may be right 99 times in 100 after them"},
		{"delta", j.Budget.Limit.Delta, big.NewRat(1, 1000),
			"lets all about a unit be published with this chance (choose it far below 1 divided by the number of units)"},
		{"rho", j.Budget.Limit.Rho, big.NewRat(4, 1), "protects hardly anybody: it stands for an ε above 10"},
	} {
		if path := "budget.limit." + l.key; l.amount != nil && l.amount.Cmp(l.most) > 0 {
			out = append(out, Problem{Pos: j.Pos(path), Step: problem.StepCheck, Path: path, Message: l.message})
		}
	}
	return out
}
