package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// selected are the values that a draw selects: which ones, in the order of their ranks where they have any.
type selected func(src *noise.Source, units []int64) ([]int, error)

// tally counts the intervals of selected values, and those that held.
type tally struct{ held, seen int }

func (t tally) String() string {
	if t.seen == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", 100*float64(t.held)/float64(t.seen))
}

// keyed is a table with 300 values, of which the i-th has 6,000/i rows.
func keyed() *population {
	p := &population{name: "keys", size: 3770, rate: "0.1", epsilon: "1", releases: []release{{"count", "{by: town}"}}}
	var codes []int32
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("t%d", i))
		codes = append(codes, slices.Repeat([]int32{int32(i)}, 6000/(i+1))...)
	}
	p.columns = []sdk.Column{measure.Category("town", names...)}
	p.table = sdktest.Table{Rows: len(codes), Columns: map[string]sdk.Values{"town": {Codes: codes}}}
	return p
}

// ofSelected measures the intervals of counts of values that were selected from the same draw. The
// values that a release shows are those, with noise of their own: so all are counted, and looked at
// where they were selected. It returns a tally for values whose chance to appear, with the number of
// rows that is expected of the draw, was below a tenth, below nine tenths and above, and one for all.
func (p *population) ofSelected(design string, draws int, rule keys.Rule, pick selected) (out [4]tally, err error) {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "coverage-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(folder)
	all, err := p.truth(ctx, folder)
	if err != nil {
		return out, err
	}
	made, err := p.plan(ctx, design, "95", folder)
	if err != nil {
		return out, err
	}
	src, err := noise.NewSource()
	if err != nil {
		return out, err
	}
	d := made.Draws[0]
	r, rng, rate := d.Releases[0], rand.New(rand.NewPCG(3, 4)), 0.1
	if design == "table" {
		rate = 1
	}
	truth := all[r.Job.Name]
	for range draws {
		which, _, err := p.draw(d.Design, design, rng)
		if err != nil {
			return out, err
		}
		res, err := mechanisms[r.Job.Mechanism].Release(ctx, r.Request(), p.pickOf(r, which, nil), measure.Noise{Source: src})
		if err != nil {
			return out, err
		}
		units := make([]int64, len(truth))
		for _, i := range which {
			units[p.table.Columns["town"].Codes[i]]++
		}
		shown, err := pick(src, units)
		if err != nil {
			return out, err
		}
		low, high := numbers(res, linear.LowField), numbers(res, linear.HighField)
		for _, i := range shown {
			class := 1
			if chance := rule.Chance(int64(rate * truth[i])); chance < 0.1 {
				class = 0
			} else if chance > 0.9 {
				class = 2
			}
			for _, k := range []int{class, 3} {
				out[k].seen++
				if low[i] <= truth[i] && truth[i] <= high[i] {
					out[k].held++
				}
			}
		}
	}
	return out, nil
}

// writeKeys measures values that were selected by coins, and the ten largest by noisy numbers.
func writeKeys(b *strings.Builder, draws int) error {
	want := keys.Want{Target: privacy.Point{Epsilon: 1, Delta: 1e-6}, Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne},
		Keys: 1}
	coins, err := keys.Calibrate(want)
	if err != nil {
		return err
	}
	want.Counts = true
	ranks, err := keys.Calibrate(want)
	if err != nil {
		return err
	}
	kept := func(rule keys.Rule, most int) selected {
		return func(src *noise.Source, units []int64) ([]int, error) {
			noisy, keep := slices.Clone(units), make([]bool, len(units))
			if err := rule.Keep(src, noisy, keep); err != nil {
				return nil, err
			}
			var out []int
			for i, yes := range keep {
				if yes {
					out = append(out, i)
				}
			}
			slices.SortStableFunc(out, func(i, k int) int { return int(noisy[k] - noisy[i]) })
			return out[:min(most, len(out))], nil
		}
	}
	b.WriteString("\n## Values that were selected\n\nCounts of 300 values, the i-th with 6,000/i rows, whose names nobody lists (ε 1 " +
		"for the selection, 1 for the counts): how often the interval of a value holds, given that it was selected from the same draw. " +
		"Columns are by its chance to be selected.\n\n| design | selection | below 10 % | between | above 90 % | all " +
		"|\n|---|---|---|---|---|---|\n")
	p := keyed()
	for _, design := range []string{"table", "srswor", "poisson"} {
		for _, way := range []struct {
			name string
			rule keys.Rule
			most int
		}{{"coins", coins, 300}, {"`top: 10`", ranks, 10}, {"`top: 40`", ranks, 40}} {
			t, err := p.ofSelected(design, draws, way.rule, kept(way.rule, way.most))
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "| %s | %s | %v | %v | %v | %v |\n", design, way.name, t[0], t[1], t[2], t[3])
		}
	}
	return nil
}
