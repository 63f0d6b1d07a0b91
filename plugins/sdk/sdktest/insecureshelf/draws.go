package insecureshelf

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// descent takes a few noisy steps on Poisson batches of the gradient x.
func descent(query func(sum int64, batch int64) int64) mechanism {
	const rounds, rate = 3, 0.5
	s := privacy.Sensitivity{AddRemove: steps, ReplaceOne: 2 * steps}
	event := func(x float64) privacy.Event {
		return privacy.Repeat{N: rounds,
			Event: privacy.Poisson{Rate: rate, Event: privacy.DiscreteGaussian{Sigma: float64(int64(x * steps)), Sensitivity: s}}}
	}
	return mechanism{
		designs: []string{"full"},
		plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
			x, err := sdk.GaussianMultiplier(event, req.Public.SampleRelations, req.Target)
			return sdk.Plan{Event: event(x + 0.01)}, err
		},
		release: func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error) {
			values, err := readAll(must(req), rows)
			if err != nil {
				return nil, err
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

// SoundDescent is the sound mechanism that realised-batch breaks.
func SoundDescent() sdk.Mechanism {
	m := descent(func(sum, _ int64) int64 { return sum })
	m.name = "sound-descent"
	return m
}

// turns takes its records in turn, each once, and releases the last iterate. The query of
// a step gets all records and the batch of the step.
func turns(query func(all, batch []int64) int64) mechanism {
	const batch = 2
	event := func(x float64, n int64) privacy.LastIterate {
		return privacy.LastIterate{
			Variant: "one-pass", Sigma: x, Sensitivity: 2, N: n, Batch: min(batch, n), StepSize: 0.5, Smooth: 1, Rounding: 0x1p-20,
		}
	}
	return mechanism{
		designs: []string{"full"},
		plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
			if req.Public.Population < 1 || len(req.Public.SampleRelations) != 1 || req.Public.SampleRelations[0] != privacy.ReplaceOne {
				return sdk.Plan{}, errors.New("needs replace-one and a public number of records")
			}
			x, err := sdk.GaussianMultiplier(func(x float64) privacy.Event { return event(x, req.Public.Population) },
				req.Public.SampleRelations, req.Target)
			return sdk.Plan{Event: event(x, req.Public.Population)}, err
		},
		release: func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error) {
			c, e := must(req), req.Plan.Event.(privacy.LastIterate)
			// The sum of a batch in steps of the noise: a record moves it by at most 2.
			scale := e.Step().Sigma / (e.Sigma * float64(e.Batch)) / steps
			values, err := readAll(c, rows)
			if err != nil {
				return nil, err
			}
			for i, v := range values {
				values[i] = int64(float64(v) * scale)
			}
			at := int64(0)
			for k := range e.Calls() {
				rows, err := host.NextBatch(ctx, e)
				if err != nil {
					return nil, err
				}
				taken := make([]int64, len(rows))
				for i, r := range rows {
					taken[i] = values[r]
				}
				out, err := host.AddGaussian(ctx, e.StepAt(k), []int64{query(values, taken)})
				if err != nil {
					return nil, err
				}
				at -= out[0]
			}
			return []float64{float64(at)}, nil
		},
	}
}

func added(values []int64) int64 {
	var sum int64
	for _, v := range values {
		sum += v
	}
	return sum
}

// SoundTurns is the sound mechanism that whole-table breaks.
func SoundTurns() sdk.Mechanism {
	m := turns(func(_, batch []int64) int64 { return added(batch) })
	m.name = "sound-turns"
	return m
}

func draws() []Specimen {
	return []Specimen{
		specimen("whole-table", "batch", "takes records in turn in its plan, and all of them in every step",
			turns(func(all, _ []int64) int64 { return added(all) })),
		specimen("realised-batch", "l2-sensitivity", "averages the gradient over the batch that was drawn, scaled up to the expected one",
			descent(func(sum, batch int64) int64 { return sum * 4 / max(1, batch) })),
	}
}
