package sdk

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

func TestDescriptionCheck(t *testing.T) {
	if err := someDescription.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Description){
		"name-empty": func(d *Description) { d.Name = "" }, "name-path": func(d *Description) { d.Name = "../x" },
		"name-long": func(d *Description) { d.Name = strings.Repeat("x", 65) }, "version": func(d *Description) { d.Version = "" },
		"summary": func(d *Description) { d.Summary = "\xff" }, "relations": func(d *Description) { d.Relations = nil },
		"relation": func(d *Description) { d.Relations = []privacy.Relation{0} }, "designs": func(d *Description) { d.Designs = nil },
	} {
		d := someDescription
		change(&d)
		if d.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestPlanCheck(t *testing.T) {
	base := somePlan
	base.Errors = slices.Clone(base.Errors)
	base.Errors[0].SamplingNote = "" // it is linear
	if err := base.Check(someRequest); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Plan){
		"column": func(p *Plan) { p.Columns = []string{"y"} }, "column-twice": func(p *Plan) { p.Columns = []string{"x", "x"} },
		"output": func(p *Plan) { p.Output = nil }, "rows": func(p *Plan) { p.Rows = -1 }, "event": func(p *Plan) { p.Event = nil },
		"name": func(p *Plan) { p.Output = []Field{{Type: Int64}} },
		"name-twice": func(p *Plan) {
			p.Output = []Field{{Name: "n", Type: Int64}, {Name: "n", Type: Float64}}
			p.Errors = nil
		},
		"type":        func(p *Plan) { p.Output = []Field{{Name: "n"}}; p.Errors = nil },
		"granularity": func(p *Plan) { p.Output = []Field{{Name: "n", Type: Int64, Granularity: 1}}; p.Errors = nil },
		"error-field": func(p *Plan) { p.Errors = []ExpectedError{{Field: "m"}} },
		"linear-note": func(p *Plan) {
			p.Errors = []ExpectedError{{Field: "n", SamplingNote: "why", Linear: &Linear{High: 1, Scale: 1}}}
		},
		"linear-order":  func(p *Plan) { p.Errors = []ExpectedError{{Field: "n", Linear: &Linear{Low: 1, Scale: 1}}} },
		"linear-scale":  func(p *Plan) { p.Errors = []ExpectedError{{Field: "n", Linear: &Linear{High: 1}}} },
		"linear-finite": func(p *Plan) { p.Errors = []ExpectedError{{Field: "n", Linear: &Linear{High: math.Inf(1), Scale: 1}}} },
		"linear-column": func(p *Plan) {
			p.Errors = []ExpectedError{{Field: "n", Linear: &Linear{Column: "nobody", High: 1, Scale: 1}}}
		},
		"note-long":  func(p *Plan) { p.Errors = []ExpectedError{{Field: "n", SamplingNote: strings.Repeat("x", 501)}} },
		"error-sign": func(p *Plan) { p.Errors = []ExpectedError{{Field: "n", NoiseSD: -1}} },
	} {
		p := base
		change(&p)
		if p.Check(someRequest) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	p := base
	p.Event = privacy.Gaussian{Sigma: 1}
	if p.CheckCalls() == nil || base.CheckCalls() != nil {
		t.Error("calls that the host cannot answer")
	}
}

func result() Result {
	return Result{Columns: []ResultColumn{
		{Name: "estimate", Float64: []float64{0.25, -7.75, 0x1p60}}, {Name: "n", Int64: []int64{1, 2, 3}}, {Name: "g", String: []string{"", "a", "ü"}},
	}}
}

func TestResultCheck(t *testing.T) {
	if err := result().Check(somePlan); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change func(*Result)
		want   error
	}{
		"columns": {func(r *Result) { r.Columns = r.Columns[:2] }, ErrShape},
		"name":    {func(r *Result) { r.Columns[1].Name = "m" }, ErrShape},
		"order":   {func(r *Result) { r.Columns[0], r.Columns[1] = r.Columns[1], r.Columns[0] }, ErrShape},
		"type":    {func(r *Result) { r.Columns[1] = ResultColumn{Name: "n", Float64: []float64{1, 2, 3}} }, ErrShape},
		"both":    {func(r *Result) { r.Columns[1].String = []string{"a"} }, ErrShape},
		"rows":    {func(r *Result) { r.Columns[1].Int64 = []int64{1} }, ErrShape},
		"none":    {func(r *Result) { r.Columns[1].Int64 = nil }, ErrShape},
		"utf8":    {func(r *Result) { r.Columns[2].String[0] = "\xff" }, ErrShape},
		"long":    {func(r *Result) { r.Columns[2].String[0] = strings.Repeat("x", MaxString+1) }, ErrShape},
		"nan":     {func(r *Result) { r.Columns[0].Float64[2] = math.NaN() }, ErrNonFinite},
		"inf":     {func(r *Result) { r.Columns[0].Float64[2] = math.Inf(1) }, ErrNonFinite},
		"lattice": {func(r *Result) { r.Columns[0].Float64[2] = 0.125 }, ErrLattice},
	} {
		r := result()
		c.change(&r)
		if err := r.Check(somePlan); err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	empty := Plan{Output: somePlan.Output}
	r := Result{Columns: []ResultColumn{{Name: "estimate"}, {Name: "n"}, {Name: "g"}}}
	if err := r.Check(empty); err != nil {
		t.Errorf("a result without rows: %v", err)
	}
}

// The lattice of a granularity that is no power of two is the rounded products.
func TestLattice(t *testing.T) {
	for _, g := range []float64{0.1, 0.3, 1.0 / 3, 1e-7, 1e6 / 7, 5e-324} {
		for _, k := range []float64{0, 1, -1, 3, 10, 1e6 + 1, 1<<53 - 1} {
			if x := k * g; !onLattice(x, g) {
				t.Errorf("%v·%v is off the lattice", k, g)
			} else if off := math.Nextafter(x, math.Inf(1)); math.Abs(k) < 1<<50 && g > 1e-300 && k != 0 && onLattice(off, g) {
				t.Errorf("the neighbour of %v·%v is on the lattice", k, g)
			}
		}
	}
}

func TestBatch(t *testing.T) {
	b, err := NewBatch(3, []Values{{Float64: []float64{1, 2, 3}, Valid: []byte{0b101}}, {Codes: []int32{0, 1, -1}}, {Codes: []int32{0, 1, 2}}}, []float64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]bool{{true, false, true}, {true, true, false}, {true, true, true}} {
		for row := range 3 {
			if b.IsValid(i, row) != want[row] {
				t.Errorf("column %d row %d", i, row)
			}
		}
	}
	if b.Len() != 3 || b.Valid(2) != nil || b.Weights()[2] != 3 || b.Float64(0)[1] != 2 || b.Codes(1)[2] != -1 {
		t.Error("the batch is not what it was made of")
	}
	for name, v := range map[string]Values{
		"short": {Float64: []float64{1}}, "both": {Float64: []float64{1, 2, 3}, Codes: []int32{1, 2, 3}}, "none": {},
		"bitmap": {Float64: []float64{1, 2, 3}, Valid: []byte{}},
	} {
		if _, err := NewBatch(3, []Values{v}, nil); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := NewBatch(3, nil, []float64{1}); err == nil {
		t.Error("too few weights are accepted")
	}
	if _, err := NewBatch(0, []Values{{}, {}}, nil); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "mean": true, "randomized-response": true, "x_1": true, strings.Repeat("a", 64): true,
		"": false, "1a": false, "-a": false, "_a": false, "Mean": false, "a b": false, "ä": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		if isName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
