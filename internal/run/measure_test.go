package run

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
)

// bins returns the numbers to which a run adds noise for the measure of a cap, on one table. The capped release beside
// it is a total without groups, so its vector has one number.
func (w *world) bins(units [][]row) []float64 {
	w.t.Helper()
	l := w.law(units)
	var out []float64
	for _, v := range l.vector {
		if out == nil {
			out = v[1:]
		} else if !slices.Equal(out, v[1:]) {
			w.t.Errorf("%v: what is measured depends on which rows the cap keeps: %v and %v", units, out, v[1:])
		}
	}
	return out
}

// moves returns the distance of two vectors in L1 norm.
func moves(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Abs(a[i] - b[i])
	}
	return sum
}

// What the measure of a cap adds noise to moves by 1 when a unit comes or goes, and by 2 when its rows
// change, through the whole path of a run: for all units with up to three rows, with a condition and
// without, and what a unit adds depends on no other unit. The broken twin counts rows: a histogram of
// rows moves by as many as a unit has.
func TestUnitsAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tiny.csv")
	for _, where := range []string{"", `, where: "x >= 0"`} {
		for _, relation := range []string{"add-remove", "replace-one"} {
			w := &world{t: t, file: file, relation: relation, dataset: "  cap: {groups: 1, rows: 1, measure: {epsilon: 1, at_most: 3}}", sample: "{method: poisson, rate: 0.5}",
				release: "mechanism: sum, params: {column: x}" + where + ", guarantee: {epsilon: 1}"}
			passes := func(u []row) (n int) {
				for _, r := range u {
					if where == "" || r.x >= 0 {
						n++
					}
				}
				return n
			}
			limit, twin := map[string]float64{"add-remove": 1, "replace-one": 2}[relation], 0.0
			none := w.bins([][]row{filler})
			attained, seen := 0.0, map[string][]float64{}
			var all [][]float64
			for i, u := range kinds() {
				own := w.bins([][]row{filler, u})
				want := slices.Clone(none)
				if n := passes(u); n > 0 {
					want[n-1]++
				}
				if !slices.Equal(own, want) {
					t.Errorf("%s%s: %v adds %v to %v", relation, where, u, own, none)
				}
				if key := fmt.Sprint(own); seen[key] == nil {
					seen[key], all = own, append(all, own)
				}
				if i%20 == 0 && !slices.Equal(moved(w.bins([][]row{filler, u, {{2, 1}, {2, 0}}}), own), moved(w.bins([][]row{filler, {{2, 1}, {2, 0}}}), none)) {
					t.Errorf("%s%s: what a unit adds depends on %v", relation, where, u)
				}
				rows := float64(passes(u))
				if twin = max(twin, rows); relation == "replace-one" {
					twin = max(twin, 2+rows)
				}
			}
			for i, a := range all {
				if relation == "add-remove" {
					attained = max(attained, moves(a, none))
				}
				for _, b := range all[:i] {
					if relation == "replace-one" {
						attained = max(attained, moves(a, b))
					}
				}
			}
			if attained != limit {
				t.Errorf("%s%s: the bins move by %v, declared is %v", relation, where, attained, limit)
			}
			if twin <= limit {
				t.Errorf("%s%s: a histogram of rows is not caught: it moves by %v", relation, where, twin)
			}
			plan := w.plan(2)
			if l1 := plan.Releases()[1].Plan.Event; fmt.Sprintf("%T", l1) != "privacy.DiscreteLaplace" {
				t.Errorf("%T", l1)
			}
		}
	}
}

// moved is a less b.
func moved(a, b []float64) []float64 {
	out := slices.Clone(a)
	for i := range b {
		out[i] -= b[i]
	}
	return out
}
