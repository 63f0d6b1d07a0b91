package run

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
)

// What breaks a rule on purpose is caught: else the test above would show nothing.
func TestBrokenRunsAreCaught(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tiny.csv")
	const eight = "  cap: {groups: 2, rows: 2}"
	byGroup := `mechanism: count, by: [g], guarantee: {epsilon: 1}`
	full := world{t: t, file: file, dataset: eight, relation: "add-remove", sample: "{method: poisson, rate: 0.5}", release: byGroup}

	// P22: the sensitivity of a row for a unit with four.
	lean := full
	lean.lean = true
	others, four := [][]row{{{0, 0}}}, []row{{0, 0}, {0, 0}, {0, 1}, {0, 1}}
	if d := beats(lean.law(others), lean.law(append(slices.Clone(others), four))); d < 0.1 {
		t.Errorf("a unit counted as a row is not caught: %g", d)
	}
	if d := beats(full.law(others), full.law(append(slices.Clone(others), four))); d > 1e-9 {
		t.Errorf("the honest run is caught: %g", d)
	}

	// P23: a unit with three rows is in the sample when any of them is drawn.
	drawn := full
	drawn.dataset, drawn.release = foldBoth, byGroup+", from: s"
	whole := drawn
	whole.release = byGroup
	byRow := func(units [][]row) law {
		out := drawn.law(units)
		out.mass, out.vector = map[string]float64{}, map[string][]float64{}
		var rows int
		for _, u := range units {
			rows += len(u)
		}
		for set := range 1 << rows {
			some, at := make([][]row, len(units)), 0
			for i, u := range units {
				for _, r := range u {
					if set>>at&1 == 1 {
						some[i] = append(some[i], r)
					}
					at++
				}
			}
			one := whole.law(some)
			for key, m := range one.mass {
				out.mass[key] += m / float64(int(1)<<rows)
				out.vector[key] = one.vector[key]
			}
		}
		return out
	}
	three := []row{{0, 0}, {0, 0}, {0, 0}}
	if d := beats(byRow(others), byRow(append(slices.Clone(others), three))); d < 0.05 {
		t.Errorf("a draw of rows is not caught: %g", d)
	}

	// P24: the one unit that passes the filter is drawn surely, if the draw comes after it.
	after := world{t: t, file: file, dataset: foldBoth, relation: "replace-one", sample: "{method: srswor, size: 1}",
		release: `mechanism: sum, params: {column: x}, where: "g == 'a'", guarantee: {epsilon: 1}, from: s`}
	left, right := [][]row{{{0, 1}}, {{0, 1}}, {{2, 0}}}, [][]row{{{0, 1}}, {{0, 1}}, {{2, 1}}}
	if d := beats(after.law(left), after.law(right)); d > 1e-9 {
		t.Errorf("the honest run is caught: %g", d)
	}
	after.afterward = true
	if d := beats(after.law(left), after.law(right)); d < 0.05 {
		t.Errorf("a filter before the draw is not caught: %g", d)
	}
}

// beats is by how much two neighbours are told apart better than was charged for the first.
func beats(p, q law) float64 {
	n := newNoisy(p.event)
	return max(n.told(p.mixed(), q.mixed(), p.charge.Epsilon), n.told(q.mixed(), p.mixed(), p.charge.Epsilon)) - p.charge.Delta
}

// More that breaks a rule: each charge is that of the honest job, and the vectors are those of a run that does something
// else.
func TestBrokenCapsAndKeysAreCaught(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tiny.csv")
	job := func(dataset, release string) *world {
		return &world{t: t, file: file, dataset: dataset, relation: "add-remove", sample: "{method: poisson, rate: 0.5}", release: release}
	}
	const (
		perGroup = "  cap: {groups: 1, rows: 2}"
		apart    = "  cap: {groups: 2, rows: 1}"
	)
	sums := `mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}`
	counts := `mechanism: count, by: [g], guarantee: {epsilon: 1}`
	normal := `mechanism: count, params: {noise: gaussian}, by: [g], guarantee: {epsilon: 1, delta: "0.01"}`
	other := [][]row{{{-1, 0}}}
	with := func(u []row) [][]row { return [][]row{u, other[0]} }
	same, both := []row{{0, 0}, {0, 0}}, []row{{0, 0}, {0, 1}}
	for _, c := range []struct {
		what    string
		charged *world
		honest  law
		broken  law
	}{
		{"a cap on the table: the new unit pushes out a row of another", job(capOne, sums),
			job(capOne, sums).law(with([]row{{2, 0}})), job(capOne, sums).law([][]row{{{2, 0}}})},
		{"√k where the rows of a unit are in one group", job(apart, normal), job(apart, normal).law(with(both)), job(perGroup, normal).law(with(same))},
		{"the maximum over groups for a unit in two (P11)", job(capOne, counts), job(capOne, counts).law(with(both)), job(apart, counts).law(with(both))},
	} {
		charged := c.charged.law(other)
		if d := beats(charged, c.honest); d > 1e-9 {
			t.Errorf("%s: the honest run is caught: %g", c.what, d)
		}
		if d := beats(charged, c.broken); d < 0.01 {
			t.Errorf("%s is not caught: %g", c.what, d)
		}
	}

	// P25: keys that are selected on the table, and charged as if it had been on the sample.
	keyed := job(capOne, `mechanism: count, by: [g], keys: {guarantee: {epsilon: 1, delta: "0.01"}}, guarantee: {epsilon: 1}, from: s`)
	keyed.groups = "type: text"
	p := keyed.plan(0)
	k := p.Draws[len(p.Draws)-1].Keys[0]
	sampled := func(n int64) float64 { // the chance of a key that n units have, half of which are drawn
		out, ways := 0.0, math.Pow(0.5, float64(n))
		for i := range n + 1 {
			out += ways * k.Rule.Chance(i)
			ways *= float64(n-i) / float64(i+1)
		}
		return out
	}
	told := func(chance func(int64) float64) float64 {
		worst, e := 0.0, math.Exp(k.Answer.Epsilon)
		for n := range int64(40) {
			a, b := chance(n), chance(n+1)
			worst = max(worst, a-e*b, b-e*a, (1-a)-e*(1-b), (1-b)-e*(1-a))
		}
		return worst - k.Answer.Delta
	}
	if d := told(sampled); d > 1e-9 {
		t.Errorf("keys from the sample: the honest run is caught: %g", d)
	}
	if d := told(k.Rule.Chance); d < 0.005 {
		t.Errorf("keys from the table charged as sampled are not caught: %g", d)
	}
}
