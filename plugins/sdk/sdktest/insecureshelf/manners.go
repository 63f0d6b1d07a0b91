package insecureshelf

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// kept is the memory that the leaking specimen never frees.
var kept [][]byte

func manners() []Specimen {
	return []Specimen{
		specimen("refusal-ignored", "host-refusal", "returns the sum without noise when there is none",
			mechanism{plan: planLaplace(one), release: query(func(r run) ([]float64, error) {
				s := total(r.c, r.x)
				out, err := r.noisy(s)
				if err != nil {
					out = []int64{s}
				}
				return released(r.c, out), nil
			})}),
		specimen("cut-off-ignored", "rows-error", "takes every end of the rows for their end",
			mechanism{plan: planLaplace(one),
				release: func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error) {
					var x []float64
					for {
						b, err := rows.Next()
						if err != nil {
							break
						}
						for i, v := range b.Float64(0) {
							if b.IsValid(0, i) {
								x = append(x, v)
							}
						}
					}
					out, err := noisy(ctx, req, host, total(must(req), x))
					return released(must(req), out), err
				}}),
		specimen("plan-by-clock", "plan", "plans by the time of day",
			mechanism{plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
				plan, err := laplace(one, req)
				plan.Errors = []sdk.ExpectedError{{Field: "estimate", Note: time.Now().String()}}
				return plan, err
			}, release: sum(total, plain)}),
		specimen("overspent", "price", "plans noise for twice the epsilon",
			mechanism{plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
				req.Target.Epsilon *= 2
				return laplace(one, req)
			}, release: sum(total, plain)}),
		specimen("leak", "memory", "keeps something of every release",
			mechanism{plan: planLaplace(one),
				release: func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error) {
					kept = append(kept, make([]byte, 4096))
					return sum(total, plain)(ctx, req, rows, host)
				}}),
		specimen("slow-for-one", "time", "takes longer where a row is at the upper bound",
			mechanism{plan: planLaplace(one), release: sum(func(c sdk.Column, x []float64) int64 {
				if slices.Contains(x, c.Upper) {
					time.Sleep(200 * time.Millisecond)
				}
				return total(c, x)
			}, plain)}),
		specimen("wrong-beyond-1000", "l1-sensitivity", "counts every row twice once there are more than a thousand",
			mechanism{plan: planLaplace(one), release: sum(func(c sdk.Column, x []float64) int64 {
				if len(x) > 1000 {
					return 2 * total(c, x)
				}
				return total(c, x)
			}, plain)}),
		specimen("random-result", "result", "adds a little noise of its own without saying so",
			mechanism{plan: planLaplace(one), release: sum(total, func(noisy float64, _ sdk.Column, _ []float64) float64 {
				return noisy + rand.Float64()
			})}),
		specimen("own-noise-small", "epsilon", "draws its own noise, at a tenth of the scale that it claims",
			ownNoise(10)),
	}
}

// ownNoise is a sum with noise of its own, less of it than claimed by a factor.
func ownNoise(factor float64) mechanism {
	return mechanism{
		selfish: true,
		plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
			return sdk.Plan{Event: privacy.Pure{Eps: req.Target.Epsilon}}, nil
		},
		release: query(func(r run) ([]float64, error) {
			s := 0.0
			for _, v := range r.x {
				s += (v - r.c.Lower) / (r.c.Upper - r.c.Lower)
			}
			b := 1 / r.event.(privacy.Pure).Eps / factor
			u := rand.Float64() - 0.5
			return []float64{s - b*math.Copysign(math.Log1p(-2*math.Abs(u)), u)}, nil
		}),
	}
}

// SoundOwnNoise draws the noise that it claims, inexactly, as a float.
func SoundOwnNoise() sdk.Mechanism {
	m := ownNoise(1)
	m.name = "sound-own-noise"
	return m
}
