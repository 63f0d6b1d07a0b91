package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// rankError is the distance from p to the jump of the empirical distribution at x, in per
// cent, in the mean over the ranks.
func (c *column) rankError(ranks, released []float64) float64 {
	sum, n := 0.0, float64(len(c.values))
	for i, p := range ranks {
		x := released[i]
		slack := 1e-9 * (c.upper - c.lower) // decimals in binary
		below := float64(sort.SearchFloat64s(c.values, x-slack)) / n
		upto := float64(sort.SearchFloat64s(c.values, x+slack)) / n
		sum += math.Max(0, math.Max(below-p, p-upto))
	}
	return 100 * sum / float64(len(ranks))
}

// own is the mechanism of this project.
func own(c *column, ranks []float64, epsilon float64, rng *rand.Rand) []float64 {
	out, err := release(c, ranks, epsilon, rng)
	if err != nil {
		panic(err)
	}
	return out
}

func release(c *column, ranks []float64, epsilon float64, rng *rand.Rand) ([]float64, error) {
	p := map[string]any{"column": "x", "quantiles": ranks}
	if c.step > 0 {
		p["step"] = c.step
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	req := sdk.PlanRequest{Params: raw, Target: privacy.Point{Epsilon: epsilon},
		Public: measure.Full(privacy.AddRemove, 0, measure.Number("x", c.lower, c.upper))}
	m := quantiles.Mechanism{}
	plan, err := m.Plan(req)
	if err != nil {
		return nil, err
	}
	table := sdktest.Table{Rows: len(c.values), Columns: map[string]sdk.Values{"x": {Float64: c.values}}}
	out, err := sdktest.InProcess(m).Release(context.Background(), req, plan, table, &planner.Dice{Rand: rng})
	if err != nil {
		return nil, err
	}
	return out.Result.Columns[1].Float64, nil
}

// entry is one line of the table: the errors of the methods.
type entry struct {
	column, ranks string
	epsilon       float64
	errors        [4]float64 // tree, EM, AQ, own
}

// best is the smallest error of the others.
func (e entry) best() float64 { return slices.Min(e.errors[:3]) }

// compare runs all methods on all columns, with the given number of releases of each.
func compare(columns []*column, epsilons []float64, releases int) []entry {
	var out []entry
	seed := uint64(0)
	for _, c := range columns {
		slices.Sort(c.values)
		for _, epsilon := range epsilons {
			for _, n := range []int{10, 100} {
				var ranks []float64
				for i := 1; i < n; i++ {
					ranks = append(ranks, float64(i)/float64(n))
				}
				e := entry{column: c.name, ranks: map[int]string{10: "deciles", 100: "percentiles"}[n], epsilon: epsilon}
				for i, m := range []reference{googleTree, exponential, approximate, own} {
					seed++
					rng := rand.New(rand.NewPCG(2026, seed))
					for range releases {
						e.errors[i] += c.rankError(ranks, m(c, ranks, epsilon, rng)) / float64(releases)
					}
				}
				out = append(out, e)
			}
		}
	}
	return out
}

// worth compares the own method with the best of the others: the mean ratio and the worst
// one.
func worth(all []entry) (mean, worst float64) {
	for _, e := range all {
		r := e.errors[3] / e.best()
		mean += r / float64(len(all))
		worst = math.Max(worst, r)
	}
	return mean, worst
}

func line(e entry) string {
	return fmt.Sprintf("| %s | %g | %s | %.3f | %.3f | %.3f | %.3f | %.2f |", e.column, e.epsilon, e.ranks, e.errors[0], e.errors[1],
		e.errors[2], e.errors[3], e.errors[3]/e.best())
}
