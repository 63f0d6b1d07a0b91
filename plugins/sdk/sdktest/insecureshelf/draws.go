package insecureshelf

import (
	"context"
	"io"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// descent takes a few noisy steps on Poisson batches of the gradient x.
func descent(query func(sum int64, batch int64) int64) mechanism {
	const rounds, rate = 3, 0.5
	s := privacy.Sensitivity{AddRemove: steps, ReplaceOne: 2 * steps}
	event := func(x float64) privacy.Event {
		return privacy.Repeat{N: rounds, Event: privacy.Poisson{Rate: rate, Event: privacy.DiscreteGaussian{Sigma: float64(int64(x * steps)), Sensitivity: s}}}
	}
	return mechanism{
		designs: []string{"full"},
		plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
			x, err := sdk.GaussianMultiplier(event, req.Public.SampleRelations, req.Target)
			return sdk.Plan{Event: event(x + 0.01)}, err
		},
		release: func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error) {
			c := must(req)
			var values []int64
			for {
				b, err := rows.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					return nil, err
				}
				for i, x := range b.Float64(0) {
					if b.IsValid(0, i) {
						values = append(values, lattice(c, x))
					} else {
						values = append(values, 0)
					}
				}
			}
			draw := req.Plan.Event.(privacy.Repeat).Event.(privacy.Poisson)
			at := 0.0
			for range rounds {
				batch, err := host.NextSample(ctx, draw)
				if err != nil {
					return nil, err
				}
				var sum int64
				for _, i := range batch {
					sum += values[i]
				}
				out, err := host.AddGaussian(ctx, draw.Event.(privacy.DiscreteGaussian), []int64{query(sum, int64(len(batch)))})
				if err != nil {
					return nil, err
				}
				at -= float64(out[0]) / steps
			}
			return []float64{at}, nil
		},
	}
}

// SoundDescent is what realised-batch is a broken version of.
func SoundDescent() sdk.Mechanism {
	m := descent(func(sum, _ int64) int64 { return sum })
	m.name = "sound-descent"
	return m
}

func draws() []Specimen {
	return []Specimen{
		specimen("realised-batch", "l2-sensitivity", "averages the gradient over the batch that was drawn, scaled up to the expected one",
			descent(func(sum, batch int64) int64 { return sum * 4 / max(1, batch) })),
	}
}
