//go:build linux

package conformance

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// What operators must not do, and behind which of them it is found. Each gets the tables that reached the mechanism, with
// the last unit's rows last.
var brokenOperators = map[string]struct {
	behind string
	broken broken
}{
	"a filter that looks at the next row": {"where", broken{rows: each(func(t sdktest.Table, _ *planned.Plan) {
		v := t.Columns["x"]
		for i := range t.Rows - 1 {
			v.Valid[i>>3] = v.Valid[i>>3]&^(1<<(i&7)) | v.Valid[(i+1)>>3]>>((i+1)&7)&1<<(i&7)
		}
	})}},
	"a derived column less its mean": {"derive", broken{rows: each(func(t sdktest.Table, _ *planned.Plan) {
		x, mean := t.Columns["x"].Float64, 0.0
		for _, v := range x {
			mean += v / float64(len(x))
		}
		for i := range x {
			x[i] = min(max(x[i]-mean, -1), 3)
		}
	})}},
	"a key that is looked up for the first row only": {"lookup", broken{rows: each(func(t sdktest.Table, p *planned.Plan) {
		codes := codesOf(t, p)
		for i := range codes {
			codes[i] = codes[len(codes)-1]
		}
	})}},
	"a row in two cells": {"by", broken{rows: each(func(t sdktest.Table, p *planned.Plan) {
		last, codes := t.Rows-1, codesOf(t, p)
		if t.Rows == operatorUnits { // the last unit takes the place of another one, too
			codes[0] = (codes[last] + 1) % 3
			t.Columns["x"].Float64[0] = t.Columns["x"].Float64[last]
			t.Columns["x"].Valid[0] |= 1
		}
	})}},
	"rows outside in the group of the row after them": {"other", broken{rows: each(func(t sdktest.Table, p *planned.Plan) {
		codes := codesOf(t, p)
		for i := t.Rows - 2; i >= 0; i-- {
			if codes[i] == 3 {
				codes[i] = codes[i+1]
			}
		}
	})}},
	"a fold that adds a row of the next unit": {"fold", broken{rows: each(func(t sdktest.Table, _ *planned.Plan) {
		x := t.Columns["x"].Float64
		for i := range len(x) - 1 {
			x[i] = min(x[i]+x[i+1], 3)
		}
	})}},
	"a cap on the table": {"cap", broken{rows: each(func(t sdktest.Table, p *planned.Plan) {
		codes, kept := codesOf(t, p), map[int32]int{}
		for i, c := range slices.Backward(codes) {
			if kept[c]++; kept[c] > 2 {
				codes[i] = -1
			}
		}
	})}},
	"all groups of a unit in one block": {"cap", broken{rows: each(func(t sdktest.Table, p *planned.Plan) {
		for i, c := range codesOf(t, p) {
			codesOf(t, p)[i] = min(c, 0)
		}
	})}},
	"a filter before the draw": {"draw", broken{table: func(rows []row) []row {
		return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
			return !slices.Contains([]string{"1", "2", "99"}, r[8]) && r[9] != "p"
		})
	}}},
}

// each breaks the tables of a run one by one. The bitmap of x is there, and shared with nothing.
func each(f func(t sdktest.Table, p *planned.Plan)) func(*planned.Plan, []sdktest.Table) {
	return func(p *planned.Plan, all []sdktest.Table) {
		for _, t := range all {
			v := t.Columns["x"]
			if v.Valid == nil {
				v.Valid = slices.Repeat([]byte{0xff}, (t.Rows+7)/8)
				t.Columns["x"] = v
			}
			if t.Rows > 0 {
				f(t, p)
			}
		}
	}
}

// codesOf are the cells of the rows.
func codesOf(t sdktest.Table, p *planned.Plan) []int32 {
	return t.Columns[p.Draws[0].Releases[0].Cells.Column].Codes
}

// sums asks for sums of x, with Gaussian noise.
var sums = []sdk.PlanRequest{{Params: json.RawMessage(`{"column": "x", "noise": "gaussian"}`)}}

func TestBrokenOperators(t *testing.T) {
	p := NewProcess(command(t, "sum"), false)
	defer p.Close()
	if found, pairs, _, err := behind(t.Context(), p, sums, 7, operators, broken{}); err != nil || len(found) > 0 || pairs != 2*operatorPairs*len(operators) {
		t.Errorf("the honest operators: %v, %d pairs, %v", found, pairs, err)
	}
	for _, what := range tier.Some(slices.Sorted(maps.Keys(brokenOperators)), 6) {
		c := brokenOperators[what]
		ops := slices.DeleteFunc(slices.Clone(operators), func(o operator) bool { return o.name != c.behind })
		found, _, _, err := behind(t.Context(), p, sums, 7, ops, c.broken)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(found, func(f sdktest.Finding) bool { return strings.HasPrefix(f.Detail, "behind "+c.behind+" ") }) {
			t.Errorf("%s is not found behind %s: %v", what, c.behind, found)
		}
	}
}

// A plugin that is wrong about units with several rows is found behind a cap.
func TestBrokenBehindOperators(t *testing.T) {
	if testing.Short() {
		t.Skip("the full tests run a broken plugin behind honest operators, and TestBrokenOperators a sound one behind broken operators in both")
	}
	p := NewProcess(command(t, "sum-wrong-cap"), false)
	defer p.Close()
	all, err := sdktest.Requests(t.Context(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	found, _, _, err := behind(t.Context(), p, all, 5, operators, broken{})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Error("nothing is found")
	}
	for _, f := range found {
		if !strings.HasPrefix(f.Detail, "behind cap ") {
			t.Errorf("%s\n%s", f.Detail, f.Tables)
		}
	}
}

// A mechanism that is run on each group apart, and under no cap.
func TestHonestApart(t *testing.T) {
	if testing.Short() {
		t.Skip("the full tests run a median behind the operators; TestBrokenOperators runs a sum there in the fast ones")
	}
	p := NewProcess(command(t, "median"), false)
	defer p.Close()
	all, err := sdktest.Requests(t.Context(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	found, pairs, calls, err := behind(t.Context(), p, all, 3, operators, broken{})
	if err != nil {
		t.Fatal(err)
	}
	if pairs < 100 || calls < pairs/2 {
		t.Errorf("only %d pairs and %d calls", pairs, calls)
	}
	for _, f := range found {
		t.Errorf("%s: %s\n%s", f.Check, f.Detail, f.Tables)
	}
}
