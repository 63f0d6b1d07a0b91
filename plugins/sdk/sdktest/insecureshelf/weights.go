package insecureshelf

import (
	"context"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// weighted is a total of weighted values between 1 and 2: how far a row is up its range, and
// one. bound says which weights it means to have, and reach how far it says that they move the
// total where one row takes the place of another.
func weighted(bound func(most float64) float64, clips bool, reach func(least, most float64) float64) mechanism {
	return mechanism{designs: []string{"multistage", "stratified"},
		plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
			d := req.Public.Design
			least, most := d.MinWeight, bound(d.MaxWeight)
			up := func(x float64) float64 { return math.Ceil(x*steps) + 1 }
			return laplace(privacy.Sensitivity{AddRemove: up(2 * most), ReplaceOne: up(reach(least, most))}, req)
		},
		release: func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error) {
			c, d, total := must(req), req.Public.Design, int64(0)
			err := sdk.Each(rows, func(b *sdk.Batch) error {
				for i, x := range b.Float64(0) {
					w := 1.0
					if b.Weights != nil {
						w = b.Weights[i]
					}
					if clips {
						w = math.Min(math.Max(w, d.MinWeight), bound(d.MaxWeight))
					}
					if b.IsValid(0, i) {
						total += int64(math.RoundToEven(w * float64(steps+lattice(c, x))))
					}
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			out, err := noisy(ctx, req, host, total)
			if err != nil {
				return nil, err
			}
			return released(c, out), nil
		}}
}

func asIs(most float64) float64 { return most }

// whole returns how far a total moves where a row may come, go or be replaced.
func whole(_, most float64) float64 { return 2 * most }

// SoundWeights is the sound total that the specimens break.
func SoundWeights() sdk.Mechanism {
	m := weighted(asIs, true, whole)
	m.name = "sound-weights"
	return m
}

// weights are totals of weighted values that get the weights wrong.
func weights() []Specimen {
	return []Specimen{
		specimen("weights-unclipped", "l1-sensitivity",
			"means to clip weights at half of their bound, says so in the sensitivity, and does not do it",
			weighted(func(most float64) float64 { return most / 2 }, false, whole)),
		specimen("weights-range-alone", "l1-sensitivity",
			"charges the largest weight times the range of the values: the total of one row moves by its weight, too",
			weighted(asIs, true, func(_, most float64) float64 { return most })),
		specimen("weights-no-vanish", "l1-sensitivity", "charges the range of weight times value, and forgets that a row may vanish",
			weighted(asIs, true, func(least, most float64) float64 { return 2*most - least })),
	}
}
