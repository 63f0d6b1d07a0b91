package linear

import (
	"io"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

type batches []*sdk.Batch

func (b *batches) Next() (*sdk.Batch, error) {
	if len(*b) == 0 {
		return nil, io.EOF
	}
	first := (*b)[0]
	*b = (*b)[1:]
	return first, nil
}

func group(name string, domain ...string) sdk.Column {
	return sdk.Column{Name: name, Type: sdk.Category, Domain: domain, Missing: sdk.MissingDrop}
}

// A row is in the cell of its groups, and in none where a group or a value of the query is
// missing; columns of the batch are not written to.
func TestCellsOfRows(t *testing.T) {
	g, h := group("g", "a", "b"), group("h", "p", "q", "r")
	codes, others := []int32{0, 1, -1, 1, 1, 0}, []int32{2, 0, 1, -1, 2, 2}
	valid := sdk.Values{Float64: make([]float64, 6), Valid: []byte{0b011111}}
	for _, c := range []struct {
		groups []sdk.Column
		values []sdk.Values
		want   []int32
	}{
		{nil, nil, nil},
		{nil, []sdk.Values{valid}, []int32{0, 0, 0, 0, 0, -1}},
		{nil, []sdk.Values{{Codes: codes}}, []int32{0, 0, -1, 0, 0, 0}},
		{[]sdk.Column{g}, nil, codes},
		{[]sdk.Column{g}, []sdk.Values{valid, {Codes: others}}, []int32{0, 1, -1, -1, 1, -1}},
		{[]sdk.Column{g, h}, nil, []int32{2, 3, -1, -1, 5, 2}},
		{[]sdk.Column{g, h}, []sdk.Values{valid}, []int32{2, 3, -1, -1, 5, -1}},
	} {
		b := &sdk.Batch{Rows: 6, Columns: []sdk.Values{{Codes: slices.Clone(codes)}, {Codes: slices.Clone(others)}}[:min(2, len(c.groups))]}
		before := slices.Clone(b.Columns)
		got, _ := Cells{Groups: c.groups, N: 6}.Block(b, c.values, []int32{7, 7, 7, 7, 7, 7, 7, 7})
		if !slices.Equal(got.Cells, c.want) || len(c.groups) > 0 && !slices.Equal(before[0].Codes, codes) {
			t.Errorf("%d groups, %d values: %v, want %v", len(c.groups), len(c.values), got.Cells, c.want)
		}
	}
}

// More rows than the lattice has room for end a release: a sum could overflow.
func TestTooManyRows(t *testing.T) {
	f := &Form{Cells: Cells{N: 1}, Queries: []Query{{Reach: Scalar(0, 1), Add: func(b Block, sums []int64) { sums[0] += int64(b.Rows) }}}}
	three := func() *batches { return &batches{{Rows: 2}, {Rows: 0}, {Rows: 1}} }
	if sums, err := f.Sum(three(), 3); err != nil || sums[0][0] != 3 {
		t.Errorf("%v, %v", sums, err)
	}
	if _, err := f.Sum(three(), 2); err != errOverflow {
		t.Errorf("three rows of two: %v", err)
	}
	p := sdk.Public{Design: sdk.Design{LargestCount: 10}}
	if n := MostRows(p); n != 10 {
		t.Errorf("%v rows", n)
	}
	if p.Cap = (&sdk.Cap{Groups: 3, Rows: 4}); MostRows(p) != 120 {
		t.Errorf("%v rows of ten units", MostRows(p))
	}
	if MostRows(sdk.Public{}) != 1<<32 {
		t.Error("an unknown number of rows")
	}
}

// What is public about the number of values decides whether a mean has a public divisor
// (P12); under a cap, by group and behind a filter it has none (P24).
func TestDivisor(t *testing.T) {
	here, leaves := sdk.Column{Name: "x", Missing: sdk.MissingRefuse}, sdk.Column{Name: "x", Missing: sdk.MissingDrop}
	full := sdk.Public{Population: 8, Design: sdk.Design{Rate: 0.5, EqualWeights: true}}
	fixed, weighted, secret, capped := full, full, full, full
	fixed.Design.SampleSize = 3
	weighted.Design.EqualWeights = false
	secret.Population = 0
	capped.Cap = &sdk.Cap{Groups: 1, Rows: 1}
	one := Cells{N: 1}
	for name, c := range map[string]struct {
		public sdk.Public
		cells  Cells
		column sdk.Column
		want   float64
	}{
		"poisson": {full, one, here, 4}, "fixed": {fixed, one, here, 3}, "weights": {weighted, one, here, 8}, "secret": {secret, one, here, 0},
		"cap": {capped, one, here, 0}, "missing": {full, one, leaves, 0}, "groups": {full, Cells{Groups: []sdk.Column{group("g", "a")}, N: 1}, here, 0},
	} {
		if got := Divisor(c.public, c.cells, c.column); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if OnlyReplace(sdk.Public{SampleRelations: []privacy.Relation{privacy.ReplaceOne, privacy.AddRemove}}) || !OnlyReplace(sdk.Public{SampleRelations: []privacy.Relation{privacy.ReplaceOne}}) {
		t.Error("which relations the sample demands")
	}
}

// A request without a kind of noise, with another one, or for bounds that a lattice cannot
// tell apart.
func TestRefusals(t *testing.T) {
	if _, err := NoiseOf("cauchy", Auto); err == nil {
		t.Error("cauchy noise")
	}
	if word, err := NoiseOf("", Laplace); err != nil || word != Laplace {
		t.Error(word, err)
	}
	none := func(sdk.PlanRequest) (*Form, error) {
		return &Form{Cells: Cells{N: 1}, Queries: []Query{{Reach: Scalar(0, 0)}}}, nil
	}
	if _, err := Plan(sdk.PlanRequest{Target: privacy.Point{Epsilon: 1}}, none); err == nil {
		t.Error("a query to which no row adds anything")
	}
	wide := func(sdk.PlanRequest) (*Form, error) {
		return &Form{Cells: Cells{N: 1 << 19}, Queries: []Query{{Reach: Simplex(3, 1, 1)}}}, nil
	}
	if _, err := Plan(sdk.PlanRequest{Target: privacy.Point{Epsilon: 1}}, wide); err == nil {
		t.Error("a vector of 1.5 million numbers")
	}
	if _, err := Plan(sdk.PlanRequest{}, none); err == nil {
		t.Error("no epsilon")
	}
}
