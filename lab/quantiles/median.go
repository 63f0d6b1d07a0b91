package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// sampled is a way to draw the rows, as the two mechanisms see it: the relation within the sample, and the largest weight.
type sampled struct {
	name   string
	under  privacy.Relation
	weight float64
}

var sampledWays = []sampled{
	{"all rows, add-remove", privacy.AddRemove, 1},                 // and Poisson
	{"all rows, replace-one", privacy.ReplaceOne, 1},               // and simple random samples
	{"unequal weights to 10, add-remove", privacy.AddRemove, 10},   // multistage and collected
	{"unequal weights to 10, replace-one", privacy.ReplaceOne, 10}, // stratified
}

// medianTable compares the median by the mechanism median with that by quantiles at rank one half: root mean square errors in value.
func medianTable(b io.Writer, columns []*column, releases int) error {
	fmt.Fprint(b, "| column | rows | ε | design | `median` | `quantiles` at ½ | ratio |\n|---|---|---|---|---|---|---|\n")
	for k, c := range columns {
		for _, n := range []int{200, 10_000} {
			rng := rand.New(rand.NewPCG(2026, uint64(100*k+n)))
			some := &column{name: c.name, lower: c.lower, upper: c.upper, step: c.step}
			for range n {
				some.values = append(some.values, c.values[rng.IntN(len(c.values))])
			}
			for _, s := range sampledWays {
				for _, epsilon := range []float64{0.1, 1} {
					weights := make([]float64, n)
					for i := range weights {
						weights[i] = 1 + (s.weight-1)*rng.Float64()
					}
					errs, err := some.rmse(s, epsilon, weights, releases, rng)
					if err != nil {
						return fmt.Errorf("%s, %s: %w", c.name, s.name, err)
					}
					fmt.Fprintf(b, "| %s | %d | %g | %s | %.4g | %.4g | %.2f |\n", c.name, n, epsilon, s.name, errs[0], errs[1], errs[1]/errs[0])
				}
			}
		}
	}
	return nil
}

// rmse returns the errors of both mechanisms.
func (c *column) rmse(s sampled, epsilon float64, weights []float64, releases int, rng *rand.Rand) (errs [2]float64, err error) {
	pub := measure.Full(s.under, int64(len(c.values)), measure.Number("x", c.lower, c.upper))
	if s.under == privacy.AddRemove {
		pub.Population, pub.Design.SampleSize = 0, 0
	}
	table := sdktest.Table{Rows: len(c.values), Columns: map[string]sdk.Values{"x": {Float64: c.values}}}
	if s.weight > 1 {
		pub.Design = sdk.Design{Kind: "multistage", SampleSize: pub.Design.SampleSize, MinWeight: 1, MaxWeight: s.weight,
			LargestCount: int64(len(c.values))}
		table.Weights = weights
	}
	truth := weightedMedian(c.values, weights)
	params := map[string]any{"column": "x"}
	other := map[string]any{"column": "x", "quantiles": []float64{0.5}, "method": "recursion"}
	if c.step > 0 {
		params["points"] = int64(math.Round((c.upper-c.lower)/c.step)) + 1
		other["step"] = c.step
	}
	for i, m := range []struct {
		sdk.Mechanism
		params map[string]any
	}{{median.Mechanism{}, params}, {quantiles.Mechanism{}, other}} {
		raw, err := json.Marshal(m.params)
		if err != nil {
			return errs, err
		}
		req := sdk.PlanRequest{Params: raw, Target: privacy.Point{Epsilon: epsilon}, Public: pub}
		plan, err := m.Plan(req)
		if err != nil {
			return errs, err
		}
		sum := 0.0
		at := slices.IndexFunc(plan.Output, func(f sdk.Field) bool { return f.Name == "estimate" })
		for range releases {
			out, err := sdktest.InProcess(m.Mechanism).Release(context.Background(), req, plan, table, &planner.Dice{Rand: rng})
			if err != nil {
				return errs, err
			}
			off := out.Result.Columns[at].Float64[0] - truth
			sum += off * off / float64(releases)
		}
		errs[i] = math.Sqrt(sum)
	}
	return errs, nil
}

// weightedMedian is the first value at which half of the weight is reached.
func weightedMedian(values, weights []float64) float64 {
	order := make([]int, len(values))
	all := 0.0
	for i := range order {
		order[i] = i
		all += weights[i]
	}
	slices.SortFunc(order, func(a, b int) int {
		if values[a] < values[b] {
			return -1
		} else if values[a] > values[b] {
			return 1
		}
		return 0
	})
	sum := 0.0
	for _, i := range order {
		if sum += weights[i]; sum >= all/2 {
			return values[i]
		}
	}
	return math.NaN()
}
