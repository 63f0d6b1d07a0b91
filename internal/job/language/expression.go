package language

import (
	"math/big"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// canonicalExpression is a spelling that does not depend on white space, nil where there is none.
func canonicalExpression(e job.Expression) any {
	if e.Canon != "" {
		return e.Canon
	}
	if e.Formula == nil {
		return nil
	}
	return e.Formula.Canonical()
}

// expression is a text that remembers where it stands.
func expression() kind[job.Expression] {
	t := text()
	return kind[job.Expression]{label: "expression", schema: t.schema, read: func(c *cursor, p lang.Place, into *job.Expression) bool {
		if !c.isScalar(p, "an expression") || !c.noVariable(p) {
			return false
		}
		if p.Node.Value == "" {
			return c.Wrong(p, "", "must not be empty")
		}
		into.Text, into.At = p.Node.Value, c.Position(p.Node)
		switch p.Node.Style {
		case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
			into.At.Column++
		case yaml.LiteralStyle, yaml.FoldedStyle:
			into.Folded = true
		}
		return true
	}}
}

// check finds what is wrong with an expression at a key and keeps what it means.
func (k *checker) expression(path string, e *job.Expression, columns []formula.Column) {
	if !e.Said() {
		return
	}
	f, problems := formula.Check(e.Text, columns)
	for _, p := range problems {
		at := e.At
		if p.Line > 1 || e.Folded {
			at.Line += p.Line - 1
			at.Column = p.Column
			if e.Folded {
				at.Line++
			}
		} else {
			at.Column += p.Column - 1
		}
		wrong := k.j.Problem(path, p.Message, p.Hint)
		wrong.Pos = at
		*k.found = append(*k.found, wrong)
	}
	if len(problems) == 0 {
		e.Formula = f
	}
}

// Doubts are expressions and limits that are probably not what was meant, though nothing is wrong with them.
func Doubts(j *job.Job) job.Problems {
	out := doubtedLimits(j)
	add := func(path string, e job.Expression) {
		if e.Formula != nil && e.Formula.Doubt != "" {
			out = append(out,
				job.Problem{Pos: e.At, Step: problem.StepCheck, Path: path, Message: e.Formula.Doubt,
					Hint: "a run would release noise and nothing else"})
		}
	}
	for _, table := range j.TableNames() {
		for _, c := range j.Of(table).Dataset.Columns {
			path := j.InTable(table, job.Key(c.Path(), "as"))
			switch {
			case c.Derived != nil:
				add(path, c.Derived.As)
			case c.Joined != nil:
				add(path, c.Joined.Where)
			}
		}
	}
	for i, r := range j.Releases {
		add(job.Key(job.Item("releases", i), "where"), r.Where)
		add(job.Key(job.Item("releases", i), "having"), r.Having)
	}
	return out
}

// doubtedLimits names the amounts of the limit under which an account promises next to nothing.
func doubtedLimits(j *job.Job) (out job.Problems) {
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
			out = append(out, job.Problem{Pos: j.Pos(path), Step: problem.StepCheck, Path: path, Message: l.message})
		}
	}
	return out
}
