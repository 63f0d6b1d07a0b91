package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/bounds"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// listening is a host that keeps what it is asked to select from.
type listening struct {
	planner.Dice
	pieces []sdk.Piece
	rate   float64
}

func (l *listening) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	l.pieces, l.rate = pieces, rate
	return 0, nil
}

// clipped is the squared error of a sum of the magnitudes, clipped to a bound, with Laplace
// noise in proportion to it.
func (c *column) clipped(bound, epsilon float64) float64 {
	bias := 0.0
	for _, x := range c.values {
		bias += math.Max(0, math.Abs(x)-bound)
	}
	return bias*bias + 2*bound*bound/(epsilon*epsilon)
}

// besideHindsight is the root mean square error of a sum that is clipped to the bound which
// the mechanism finds, over that with the best bound there is. The mean is over the exact
// law of the bound.
func besideHindsight(c *column, most, times, sum float64) (float64, error) {
	req := sdk.PlanRequest{Params: fmt.Appendf(nil, `{"column":"x","times":%g}`, times), Target: privacy.Point{Epsilon: times * sum},
		Public: measure.Full(privacy.AddRemove, 0, measure.Number("x", -most, most))}
	m := bounds.Mechanism{}
	plan, err := m.Plan(req)
	if err != nil {
		return 0, err
	}
	table := sdktest.Table{Rows: len(c.values), Columns: map[string]sdk.Values{"x": {Float64: c.values}}}
	host := &listening{}
	if _, err := sdktest.InProcess(m).Release(context.Background(), req, plan, table, host); err != nil {
		return 0, err
	}
	weight, mean := 0.0, 0.0
	for i, p := range host.pieces {
		w := math.Exp(-host.rate * float64(p.Score-best(host.pieces)))
		if w < 1e-12 {
			continue
		}
		weight += w
		mean += w * c.clipped(bounds.Candidate(most, i), sum)
	}
	least := math.Inf(1)
	for i := range 400 {
		least = math.Min(least, c.clipped(c.upper*math.Pow(10, -4*float64(i)/400), sum))
	}
	if weight == 0 {
		return 0, fmt.Errorf("no bound has a probability")
	}
	return math.Sqrt(mean / weight / least), nil
}

func best(pieces []sdk.Piece) int64 {
	least := int64(math.MaxInt64)
	for _, p := range pieces {
		least = min(least, p.Score)
	}
	return least
}

// boundsTable compares bounds that are found with the best ones, where the search spends as
// much as the sum that is clipped, and three times as much.
func boundsTable(all []*column) (string, error) {
	var b strings.Builder
	b.WriteString("| column | ε 0.1, search 0.1 | ε 0.1, search 0.3 | ε 1, search 1 | ε 1, search 3 |\n|---|---|---|---|---|\n")
	line := func(name string, columns ...*column) error {
		b.WriteString("| " + name)
		for _, epsilon := range []float64{0.1, 1} {
			for _, times := range []float64{1, 3} {
				worst := 0.0
				for _, c := range columns {
					ratio, err := besideHindsight(c, 1e12, times, epsilon)
					if err != nil {
						return err
					}
					worst = max(worst, ratio)
				}
				fmt.Fprintf(&b, " | %.2f", worst)
			}
		}
		b.WriteString(" |\n")
		return nil
	}
	for _, c := range all {
		if err := line(c.name, c); err != nil {
			return "", err
		}
	}
	more := hard()
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if err := line(name, more[name]...); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}
