package run

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// No two neighbours are told apart better than was charged where rows weigh what a private
// column says (P29): for every unit of up to two rows, capped, filtered, by group and sampled,
// from the file to the noise. A plan that forgets that a filtered row vanishes, or that rows
// weigh anything, is caught.
func TestWeightsAreCharged(t *testing.T) {
	tier.Full(t, "TestNoNeighboursBeatTheCharge")
	file := filepath.Join(t.TempDir(), "tiny.csv")
	kinds := [][]row{{{-1, 0}}, {{2, 0}}, {{-1, 1}}, {{2, 1}}, {{2, 0}, {2, 0}}, {{2, 0}, {2, 1}}, {{-1, 0}, {2, 1}}}
	const cap2, fold = "  cap: {groups: 2, rows: 2}\n", "  fold: {x: max, g: mode}\n"
	const raw, shrunk = "  weights: {column: x, at_most: 1.5}", "  weights: {column: x, at_most: 2, shrink: {to: 1.5, keep: 0.5}}"
	const derived = "  derive: {w: {as: \"x + 0.2\"}}\n  fold: {x: max, g: mode, w: max}\n  weights: {column: w, at_most: 2.5}"
	tried := 0
	for _, relation := range []string{"add-remove", "replace-one"} {
		for _, dataset := range []string{cap2 + raw, fold + shrunk, fold + raw, derived} {
			for _, release := range []string{
				`mechanism: count, by: [g], guarantee: {epsilon: 1}`,
				`mechanism: count, where: "g == 'a'", guarantee: {epsilon: 1}`,
				`mechanism: sum, params: {column: x}, guarantee: {epsilon: 1}`,
				`mechanism: mean, params: {column: x, noise: gaussian}, guarantee: {epsilon: 1, delta: "0.01"}`,
				`mechanism: count, guarantee: {epsilon: 1}, where: "x > 0", from: s`,
				`mechanism: declared, params: {value: "x - 1", low: -2, high: 1}, by: [g], guarantee: {epsilon: 1}`,
				`mechanism: declared, params: {value: "1", high: 1, places: "x"}, guarantee: {epsilon: 1}, where: "x > 0", from: s`,
			} {
				w := &world{t: t, file: file, dataset: dataset, relation: relation, sample: "{method: poisson, rate: 0.5}", release: release}
				if d := w.worst(kinds); d > 1e-9 {
					t.Errorf("%s, %s, %s: told apart by %g more than was charged", relation, dataset, release, d)
				}
				tried++
			}
		}
	}
	if tried < 30 {
		t.Fatalf("only %d jobs were tried", tried)
	}
	w := &world{t: t, file: file, dataset: fold + raw, relation: "replace-one", sample: "{method: poisson, rate: 0.5}",
		release: `mechanism: count, where: "g == 'a'", guarantee: {epsilon: 1}`}
	for name, bend := range map[string]func(*sdk.Public){
		"no row vanishes": func(p *sdk.Public) {
			for i := range p.Columns {
				p.Columns[i].Missing = sdk.MissingRefuse
			}
		},
		"the sensitivity of rows that weigh 1": func(p *sdk.Public) { p.Design.MaxWeight = 1.0001 },
	} {
		r := w.plan(2).Draws[0].Releases[0]
		request := r.Request().PlanRequest
		request.Public.Columns = append([]sdk.Column(nil), request.Public.Columns...)
		honest, charged := w.law([][]row{kinds[1], kinds[0]}), w.law([][]row{kinds[2], kinds[0]})
		bend(&request.Public)
		broken, err := r.Mech.Plan(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		// The noise of the broken plan, on the vectors of the honest run.
		scale := honest.event.(privacy.DiscreteLaplace).Scale / broken.Event.(privacy.DiscreteLaplace).Scale
		n := newNoisy(honest.event)
		n.scale /= scale
		if d := n.told(honest.mixed(), charged.mixed(), charged.charge.Epsilon); d < 0.01 {
			t.Errorf("%s: not caught: %g", name, d)
		}
	}
}

// worst is by how much two neighbours among tables of one such unit beside another are told
// apart better than was charged.
func (w *world) worst(kinds [][]row) float64 {
	other := []row{{0, 1}}
	laws := map[string]law{}
	of := func(units ...[]row) law {
		key := fmt.Sprint(units)
		if _, ok := laws[key]; !ok {
			laws[key] = w.law(units)
		}
		return laws[key]
	}
	worst := -1.0
	for i, a := range kinds {
		if w.relation == "add-remove" {
			worst = max(worst, beats(of(other), of(other, a)))
			continue
		}
		for _, b := range kinds[:i] {
			worst = max(worst, beats(of(other, b), of(other, a)))
		}
	}
	return worst
}
