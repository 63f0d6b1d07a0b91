package sdk

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

var (
	someDescription = Description{
		Name: "mean", Version: "1.2.3", Summary: "a mean", Params: []byte(`{"type":"object"}`),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}, Designs: []string{"full", "srswor"}, SelfNoising: true,
	}
	someRequest = PlanRequest{
		Params: []byte(`{"column":"x"}`),
		Public: Public{
			Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne, privacy.AddRemove}, Population: 6194,
			Design: Design{Kind: "srswor", Rate: 0.1, SampleSize: 619, MinWeight: 1.5, MaxWeight: 10, EqualWeights: true, LargestCount: 700},
			Columns: []Column{
				{Name: "x", Type: Number, Lower: -1, Upper: 0x1.fffffffffffffp+100, Missing: MissingImpute, Immutable: true},
				{Name: "g", Type: Category, Missing: MissingDrop, Domain: []string{"a", "", "ü"}},
				{Name: "h", Type: Category, Missing: MissingRefuse, Domain: []string{"a"}},
			},
		},
		Target: privacy.Point{Epsilon: 0.1, Delta: 1e-9},
	}
	somePlan = Plan{
		Columns: []string{"x", "g"}, Rows: 3,
		Event:  privacy.Compose{Events: []privacy.Event{privacy.DiscreteLaplace{Scale: 3}, privacy.DiscreteGaussian{Sigma: 4, Coordinates: 2}}},
		Output: []Field{{Name: "estimate", Type: Float64, Granularity: 0.25, Doc: "what it is"}, {Name: "n", Type: Int64}, {Name: "g", Type: String}},
		Errors: []ExpectedError{{Field: "estimate", NoiseSD: 1.5, Half95: 3, Note: "noise only",
			Linear: &Linear{Column: "x", Low: -1, High: 2, Scale: 0.5}, SamplingNote: "never both, but both are carried"}},
	}
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
		"grouped": func(d *Description) { d.Grouped = true }, // its schema has no parameter by
		"linear":  func(d *Description) { d.Linear = true },  // and draws noise of its own
	} {
		d := someDescription
		change(&d)
		if d.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A grouped mechanism has the parameter, and one that says all is accepted.
func TestDescriptionCheckGrouped(t *testing.T) {
	d := someDescription
	d.SelfNoising, d.Grouped, d.Capped, d.Linear = false, true, true, true
	d.Params = []byte(`{"type":"object","properties":{"by":{"type":"string"}}}`)
	if err := d.Check(); err != nil {
		t.Error(err)
	}
}

func TestGroupField(t *testing.T) {
	p := Plan{Output: []Field{{Name: "column", Type: String}, {Name: "group", Type: String}, {Name: "g", Type: Float64}, {Name: "h", Type: String}}}
	for by, want := range map[string]int{"h": 3, "g": 1, "other": 1} {
		if got := p.GroupField(by); got != want {
			t.Errorf("%s: %d, want %d", by, got, want)
		}
	}
	if got := (Plan{Output: p.Output[:1]}).GroupField("g"); got != -1 {
		t.Errorf("without a group: %d", got)
	}
}

func TestPlanCheck(t *testing.T) {
	base := somePlan
	base.Errors = slices.Clone(base.Errors)
	base.Errors[0].SamplingNote = "" // it is linear
	if err := base.Check(someRequest); err != nil {
		t.Error(err)
	}
	for _, c := range []Cap{{}, {Groups: 1}, {Rows: 1}, {Groups: -1, Rows: 1}, {Groups: 1, Rows: 1<<32 + 1}} {
		req := someRequest
		if req.Public.Cap = &c; base.Check(req) == nil {
			t.Errorf("the cap %+v is accepted", c)
		}
	}
	capped := someRequest
	if capped.Public.Cap = (&Cap{Groups: 1, Rows: 2}); base.Check(capped) != nil {
		t.Error("a cap is refused")
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
		"note-long":      func(p *Plan) { p.Errors = []ExpectedError{{Field: "n", SamplingNote: strings.Repeat("x", 501)}} },
		"error-infinite": func(p *Plan) { p.Errors = []ExpectedError{{Field: "n", NoiseSD: math.Inf(1)}} },
		"error-sign":     func(p *Plan) { p.Errors = []ExpectedError{{Field: "n", NoiseSD: -1}} },
	} {
		p := base
		change(&p)
		if p.Check(someRequest) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func result() Result {
	return Result{Columns: []ResultColumn{
		{Name: "estimate", Float64: []float64{0.25, -7.75, 0x1p60}}, {Name: "n", Int64: []int64{1, 2, 3}}, {Name: "g", Texts: []string{"", "a", "ü"}},
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
		"both":    {func(r *Result) { r.Columns[1].Texts = []string{"a"} }, ErrShape},
		"rows":    {func(r *Result) { r.Columns[1].Int64 = []int64{1} }, ErrShape},
		"none":    {func(r *Result) { r.Columns[1].Int64 = nil }, ErrShape},
		"utf8":    {func(r *Result) { r.Columns[2].Texts[0] = "\xff" }, ErrShape},
		"long":    {func(r *Result) { r.Columns[2].Texts[0] = strings.Repeat("x", MaxString+1) }, ErrShape},
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
	flagged := Plan{Output: []Field{{Name: "estimate", Type: Float64}, {Name: FlagField, Type: String, Texts: []string{"", "few"}}}, Rows: 3}
	blank := func(flags ...string) Result {
		return Result{Columns: []ResultColumn{{Name: "estimate", Float64: []float64{1, math.NaN(), 3}}, {Name: FlagField, Texts: flags}}}
	}
	if err := blank("", "few", "").Check(flagged); err != nil {
		t.Errorf("a blank value: %v", err)
	}
	if err := blank("few", "", "few").Check(flagged); err != ErrNonFinite {
		t.Errorf("NaN in a row without a flag: %v", err)
	}
	if err := blank("", "none", "").Check(flagged); err != ErrLattice {
		t.Errorf("another reason: %v", err)
	}
	shown := blank("", "few", "").Blanks().Columns[0]
	if !slices.Equal(shown.Float64, []float64{1, 0, 3}) || !slices.Equal(shown.Blank, []bool{false, true, false}) {
		t.Errorf("%+v", shown)
	}
	if v, all := blank("", "few", "").Verdict(), blank("few", "few", "few").Verdict(); v != "1 of 3 values are blank: few" || all != "of no use: few" {
		t.Errorf("%q, %q", v, all)
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
	x, g := []float64{1, 2, 3}, []int32{0, 1, -1}
	columns := []Column{{Name: "x", Type: Number}, {Name: "g", Type: Category, Domain: []string{"a", "b"}}}
	b := &Batch{Rows: 3, Columns: []Values{{Float64: x, Valid: []byte{0b101}}, {Codes: g}}, Weights: []float64{1, 2, 3}}
	if err := b.Check(columns); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]bool{{true, false, true}, {true, true, false}} {
		for row := range 3 {
			if b.IsValid(i, row) != want[row] {
				t.Errorf("column %d row %d", i, row)
			}
		}
	}
	if b.Float64(0)[1] != 2 || b.Codes(1)[2] != -1 {
		t.Error("the batch is not what it was made of")
	}
	for name, wrong := range map[string]Batch{
		"columns":    {Rows: 3, Columns: []Values{{Float64: x}}},
		"rows":       {Rows: 4, Columns: []Values{{Float64: x}, {Codes: g}}},
		"negative":   {Rows: -1, Columns: []Values{{Float64: x}, {Codes: g}}},
		"type":       {Rows: 3, Columns: []Values{{Codes: g}, {Codes: g}}},
		"both":       {Rows: 3, Columns: []Values{{Float64: x, Codes: g}, {Codes: g}}},
		"none":       {Rows: 3, Columns: []Values{{}, {Codes: g}}},
		"bitmap":     {Rows: 3, Columns: []Values{{Float64: x, Valid: []byte{}}, {Codes: g}}},
		"bits":       {Rows: 3, Columns: []Values{{Float64: x}, {Codes: g, Valid: []byte{7}}}},
		"code":       {Rows: 3, Columns: []Values{{Float64: x}, {Codes: []int32{0, 2, 0}}}},
		"code-below": {Rows: 3, Columns: []Values{{Float64: x}, {Codes: []int32{0, -2, 0}}}},
		"weights":    {Rows: 3, Columns: []Values{{Float64: x}, {Codes: g}}, Weights: []float64{1}},
	} {
		if wrong.Check(columns) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := (&Batch{Columns: []Values{{}, {}}}).Check(columns); err != nil {
		t.Error(err)
	}
}

func TestDeclared(t *testing.T) {
	public := Public{Columns: []Column{{Name: "x", Type: Number}, {Name: "g", Type: Category, Domain: []string{"a"}}, {Name: "none", Type: Category}}}
	got, err := Plan{Columns: []string{"g", "x"}}.Declared(public)
	if err != nil || len(got) != 2 || got[0].Name != "g" || got[1].Name != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, columns := range [][]string{{"y"}, {"x", "x"}, {"none"}} {
		if _, err := (Plan{Columns: columns}).Declared(public); err == nil {
			t.Errorf("%q is accepted", columns)
		}
	}
}

func TestNames(t *testing.T) {
	for word, want := range map[string]bool{
		"a": true, "mean": true, "randomized-response": true, "x_1": true, strings.Repeat("a", 64): true,
		"": false, "1a": false, "-a": false, "_a": false, "Mean": false, "a b": false, "ä": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		if named(word) != want {
			t.Errorf("%q: %v", word, !want)
		}
	}
}
