package finish

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Program is the finish of a plan, checked.
type Program struct {
	plan    sdk.Plan
	program *rows.Program
}

// New reads the finish of a plan that passed sdk.Plan.Check. Its errors quote the plan alone.
func New(plan sdk.Plan) (*Program, error) {
	spec := rows.Spec{Columns: columnsOf(plan.Finish)}
	for _, o := range plan.Output {
		f, err := expression(o, spec.Columns)
		if err != nil {
			return nil, fmt.Errorf("plan: finish of %q: %w", o.Name, err)
		}
		spec.Derived = append(spec.Derived, rows.Derived{Name: valueOf(o), Formula: f})
		spec.Outputs = append(spec.Outputs, valueOf(o))
	}
	program, err := rows.NewProgram(spec)
	if err != nil {
		return nil, fmt.Errorf("plan: finish: %w", err)
	}
	return &Program{plan: plan, program: program}, nil
}

// columnsOf are the columns of the table that a finish describes.
func columnsOf(f *sdk.Finish) (out []formula.Column) {
	for _, c := range f.Constants {
		column := formula.Column{Name: c.Name, Type: formula.Number}
		if c.Texts != nil {
			column.Type, column.Domain = formula.Text, distinct(c.Texts)
		}
		out = append(out, column)
	}
	for _, n := range f.Noise {
		for _, name := range n.Columns {
			out = append(out, formula.Column{Name: name, Type: formula.Number})
		}
	}
	return out
}

// valueOf names the column that is computed for an output. A column of the table may have the
// name of an output.
func valueOf(o sdk.Field) string { return "value of " + o.Name }

// distinct returns the texts, each once.
func distinct(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// expression reads the expression of an output.
func expression(o sdk.Field, columns []formula.Column) (*formula.Formula, error) {
	f, problems := formula.Check(o.Value, columns)
	if len(problems) > 0 {
		return nil, unhinted(problems[0])
	}
	want := formula.Number
	if o.Type == sdk.String {
		want = formula.Text
	}
	if f.Type != want {
		return nil, fmt.Errorf("the expression is a %s, and the column holds a %s", f.Type, want)
	}
	for _, text := range f.Domain {
		if o.Texts != nil && !slices.Contains(o.Texts, text) {
			return nil, fmt.Errorf("the expression may be %q, which is not among the texts of the column", text)
		}
		if len(text) > sdk.MaxString {
			return nil, fmt.Errorf("a text has more than %d bytes", sdk.MaxString)
		}
	}
	return f, nil
}

// unhinted returns a problem of an expression without a hint that speaks of a job.
func unhinted(p problem.Problem) problem.Problem {
	if !strings.HasPrefix(p.Hint, "did you mean") {
		p.Hint = ""
	}
	return p
}

// Result computes the result from the answers to the noise calls, which have the lengths that the
// plan declares. A value that cannot be computed is blank.
//
// # Contract
//
// The result is a function of the plan and of the answers, and Result has no failure (P20, P24).
// Proof: finish.proof.md.
func (p *Program) Result(answers [][]int64) sdk.Result {
	n := int(p.plan.Rows)
	values := map[string]table.Values{}
	for _, c := range p.plan.Finish.Constants {
		values[c.Name] = constant(c, n)
	}
	for k, noise := range p.plan.Finish.Noise {
		for i, name := range noise.Columns {
			var x []float64
			if noise.Quantiles != nil {
				x = quantiles(answers[k], *noise.Quantiles)
			} else {
				x = numbers(answers[k][i*n : (i+1)*n])
			}
			if noise.Units != nil {
				for r := range x {
					x[r] *= noise.Units[i]
				}
			}
			values[name] = table.Values{Kind: table.Float, Float64: x}
		}
	}
	var columns []table.Values
	for _, name := range p.program.Needs() {
		columns = append(columns, values[name])
	}
	computed := p.program.Evaluator().Eval(columns, n)
	var out sdk.Result
	for i, o := range p.plan.Output {
		out.Columns = append(out.Columns, held(o, &computed.Columns[i], n))
	}
	return out
}

// constant is a constant in every row.
func constant(c sdk.Constant, n int) table.Values {
	at := func(i int) int {
		if len(c.Numbers)+len(c.Texts) == 1 {
			return 0
		}
		return i
	}
	if c.Texts == nil {
		v := table.Values{Kind: table.Float, Float64: make([]float64, n)}
		for i := range v.Float64 {
			v.Float64[i] = c.Numbers[at(i)]
		}
		return v
	}
	v := table.Values{Kind: table.String, Codes: make([]int32, n), Dict: distinct(c.Texts), DictID: table.NewDictID()}
	for i := range v.Codes {
		code, _ := slices.BinarySearch(v.Dict, c.Texts[at(i)])
		v.Codes[i] = int32(code)
	}
	return v
}

func numbers(whole []int64) []float64 {
	x := make([]float64, len(whole))
	for i, v := range whole {
		x[i] = float64(v)
	}
	return x
}

// held is a column of the result: values on the lattice and in the range that the plan declares,
// and blanks where values are missing.
func held(o sdk.Field, v *table.Values, n int) sdk.ResultColumn {
	out := sdk.ResultColumn{Name: o.Name}
	blank := make([]bool, n)
	for i := range n {
		blank[i] = v.Null(i)
		switch o.Type {
		case sdk.Float64:
			x := 0.0
			if !blank[i] {
				x = o.Nearest(v.Float64[i])
			}
			if math.IsInf(x, 0) { // it overflows on its lattice
				x, blank[i] = 0, true
			}
			out.Float64 = append(out.Float64, x)
		case sdk.Int64:
			x := 0.0
			if !blank[i] {
				x = math.RoundToEven(v.Float64[i])
			}
			if o.Low < o.High {
				x = math.Max(math.Ceil(o.Low), math.Min(math.Floor(o.High), x))
			}
			if !(x >= -0x1p63 && x < 0x1p63) {
				x, blank[i] = 0, true
			}
			out.Int64 = append(out.Int64, int64(x))
		default:
			text := ""
			if !blank[i] {
				text = v.Dict[v.Codes[i]]
			}
			out.Texts = append(out.Texts, text)
		}
	}
	if slices.Contains(blank, true) {
		out.Blank = blank
	}
	return out
}
