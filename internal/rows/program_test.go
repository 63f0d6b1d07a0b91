package rows

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
)

// What does not fit together is refused, and what nobody needs is not read.
func TestProgram(t *testing.T) {
	columns := []formula.Column{{Name: "x", Type: formula.Number}, {Name: "t", Type: formula.Text}, {Name: "p", Type: formula.Bool}, {Name: "unused", Type: formula.Number}}
	y, z := formula.Column{Name: "y", Type: formula.Number}, formula.Column{Name: "z", Type: formula.Number}
	derived := func(name, text string) Derived {
		return Derived{Name: name, Formula: must(t, text, append(slices.Clone(columns), y, z))}
	}
	l, problems := ReadLookup(LookupSpec{Path: fileOf(t, "k,z\na,1\n"), Key: "k", On: formula.Column{Name: "t", Type: formula.Text}, Columns: []LookupColumn{{Column: z}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	spec := Spec{Columns: columns, Lookups: []*Lookup{l}, Derived: []Derived{derived("far", "y + z"), derived("y", "x * 2"), derived("idle", "unused + 1")},
		Conditions: []*formula.Formula{must(t, "p && far > 3", append(slices.Clone(columns), formula.Column{Name: "far", Type: formula.Number}))}}
	p, err := NewProgram(spec)
	if err != nil || !slices.Equal(p.Needs(), []string{"x", "t", "p"}) {
		t.Fatalf("%v, needs %v", err, p.Needs())
	}
	if c, ok := p.Column("far"); !ok || c.Type != formula.Number {
		t.Errorf("far is %+v", c)
	}
	if _, ok := p.Column("near"); ok {
		t.Error("near is a column")
	}
	bins := func(from string) Derived {
		return Derived{Name: "b", Bins: &formula.Bins{Column: from, Edges: []float64{0, 1}}}
	}
	for want, change := range map[string]func(s *Spec){
		`there are two columns "x"`:          func(s *Spec) { s.Derived = append(s.Derived, derived("x", "x + 1")) },
		`there are two columns "z"`:          func(s *Spec) { s.Derived = append(s.Derived, derived("z", "x + 1")) },
		`there is no column "none"`:          func(s *Spec) { s.Outputs = []string{"none"} },
		`the column "x" is one of the table`: func(s *Spec) { s.Outputs = []string{"x"} },
		`the column "y" comes out twice`:     func(s *Spec) { s.Outputs = []string{"y", "y"} },
		`columns read each other in a circle: ["far" "y" "far"]`: func(s *Spec) {
			s.Derived[1] = Derived{Name: "y", Formula: must(t, "far", []formula.Column{{Name: "far", Type: formula.Number}})}
		},
		`a condition is a number`:                                               func(s *Spec) { s.Conditions = append(s.Conditions, must(t, "x", columns)) },
		`the column "t" cannot be cut at these edges`:                           func(s *Spec) { s.Derived = append(s.Derived, bins("t")); s.Outputs = []string{"b"} },
		`the column "e" has neither a formula nor bins`:                         func(s *Spec) { s.Derived = append(s.Derived, Derived{Name: "e"}) },
		`the column "t" is a date, and the keys of its lookup are read as text`: func(s *Spec) { s.Columns = slices.Clone(columns); s.Columns[1].Type = formula.Date },
	} {
		s := spec
		s.Derived = slices.Clone(spec.Derived)
		change(&s)
		if _, err := NewProgram(s); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A column arrives in many forms, and is read as its declared type.
func TestForms(t *testing.T) {
	valid := []byte{0b11}
	for _, c := range []struct {
		as   formula.Type
		in   table.Values
		want string
	}{
		{formula.Number, table.Values{Kind: table.Int, Int64: []int64{1, -2, 0}, Valid: valid}, "1 -2 -"},
		{formula.Number, table.Values{Kind: table.Int, Unsigned: true, Int64: []int64{1, -1, 0}}, "1 1.8446744073709552e+19 0"},
		{formula.Number, table.Values{Kind: table.Decimal, Scale: 2, Int64: []int64{125, -7, 0}}, "1.25 -0.07 0"},
		{formula.Number, table.Values{Kind: table.Time, Unit: table.Millisecond, Int64: []int64{1500, 0, 0}}, "1.5 0 0"},
		{formula.Number, table.Values{Kind: table.Float, Float64: []float64{1.5, nan, 1 / zero}}, "1.5 - -"},
		{formula.Number, table.Values{Kind: table.String, Codes: []int32{0, 1, 2}, Dict: []string{"1.5", "1,5", " 1"}}, "1.5 - -"},
		{formula.Number, table.Values{}, "- - -"},
		{formula.Text, table.Values{Kind: table.String, Codes: []int32{0, 0, -1}, Dict: []string{"a"}}, "a a -"},
		{formula.Text, table.Values{Kind: table.Int, Int64: []int64{1, 2, 3}}, "- - -"},
		{formula.Bool, table.Values{Kind: table.Bool, Int64: []int64{1, 0, 1}, Valid: valid}, "1 0 -"},
		{formula.Bool, table.Values{Kind: table.String, Codes: []int32{0, 1, 2}, Dict: []string{"True", "false", "yes"}}, "1 0 -"},
		{formula.Bool, table.Values{Kind: table.Int, Int64: []int64{1, 0, 1}}, "- - -"},
		{formula.Date, table.Values{Kind: table.Date, Int64: []int64{0, -1, 1 << 40}}, "0 -1 -"},
		{formula.Date, table.Values{Kind: table.Timestamp, Unit: table.Second, Int64: []int64{86399, -1, 1 << 62}}, "0 -1 -"},
		{formula.Date, table.Values{Kind: table.String, Codes: []int32{0, 1, 2}, Dict: []string{"1970-01-02", "1970-02-30", "1970-1-2"}}, "1 - -"},
		{formula.Date, table.Values{Kind: table.Int, Int64: []int64{1, 2, 3}}, "- - -"},
		{formula.Timestamp, table.Values{Kind: table.Timestamp, Unit: table.Nanosecond, Int64: []int64{1999, -1, 0}, Valid: valid}, "1 -1 -"},
		{formula.Timestamp, table.Values{Kind: table.Timestamp, Unit: table.Millisecond, Int64: []int64{2, -1, 1 << 62}}, "2000 -1000 -"},
		{formula.Timestamp, table.Values{Kind: table.Date, Int64: []int64{1, -1, 1 << 31}}, "86400000000 -86400000000 -"},
		{formula.Timestamp, table.Values{Kind: table.String, Codes: []int32{0, 1, 2}, Dict: []string{"1970-01-01 00:00:01.5", "1970-01-01T00:00:00Z", "now"}}, "1500000 - -"},
	} {
		column := formula.Column{Name: "a", Type: c.as}
		p, err := NewProgram(Spec{Columns: []formula.Column{column}, Derived: []Derived{{Name: "out", Formula: must(t, "a", []formula.Column{column})}}, Outputs: []string{"out"}})
		if err != nil {
			t.Fatal(err)
		}
		got := p.Evaluator().Eval([]table.Values{c.in}, 3)
		var parts []string
		for i := range 3 {
			v := read(&got.Columns[0], c.as, i)
			switch {
			case !v.ok:
				parts = append(parts, "-")
			case c.as == formula.Number:
				parts = append(parts, fmt.Sprint(v.x))
			case c.as == formula.Text:
				parts = append(parts, v.text)
			default:
				parts = append(parts, fmt.Sprint(v.n))
			}
		}
		if s := strings.Join(parts, " "); s != c.want {
			t.Errorf("%v as %v: %s, want %s", c.in, c.as, s, c.want)
		}
	}
}

var zero = 0.0

func TestCells(t *testing.T) {
	codes := [][]int32{{0, 0, 1, 1, -1, 0, 1, 7}, {0, 2, 1, 2, 0, -1, 2, 0}}
	for other, want := range map[int32][]int32{-1: {0, 2, 4, 5, -1, -1, -1, -1}, 6: {0, 2, 4, 5, 6, 6, -1, 6}} {
		got := make([]int32, 8)
		(&Cells{Sizes: []int32{2, 3}, Other: other}).Code(got, codes, []byte{0b10111111})
		if !slices.Equal(got, want) {
			t.Errorf("%d: got %v, want %v", other, got, want)
		}
	}
	got := []int32{5, 5}
	if (&Cells{Other: -1}).Code(got, nil, []byte{0b10}); !slices.Equal(got, []int32{-1, 0}) {
		t.Errorf("without columns: %v", got)
	}
}

// A zero keeps its sign, whether or not another row of the block is missing.
func TestZeroKeepsItsSign(t *testing.T) {
	f := must(t, "x * y", declared)
	p, err := NewProgram(Spec{Columns: declared, Derived: []Derived{{Name: "out", Formula: f}}, Outputs: []string{"out"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []float64{1, nan, math.Inf(1)} {
		x, y := []float64{0, other}, []float64{-1, 2}
		got := p.Evaluator().Eval([]table.Values{{Kind: table.Float, Float64: x}, {Kind: table.Float, Float64: y}}, 2)
		if out := got.Columns[0].Float64[0]; out != 0 || !math.Signbit(out) {
			t.Errorf("0 * -1 is %v beside a row of %v", out, other)
		}
	}
}
