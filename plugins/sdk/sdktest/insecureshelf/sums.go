package insecureshelf

import (
	"context"
	"io"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// one is the sensitivity of a sum of lattice values.
var one = privacy.Sensitivity{AddRemove: steps, ReplaceOne: steps}

// sum releases a sum. It is sound if its two functions are: value makes the lattice value
// that gets noise, and finish turns the noisy value into the released one.
func sum(value func(c sdk.Column, x []float64) int64, finish func(noisy float64, c sdk.Column, x []float64) float64) release {
	return query(func(r run) ([]float64, error) {
		out, err := r.noisy(value(r.c, r.x))
		if err != nil {
			return nil, err
		}
		return []float64{finish(released(r.c, out)[0], r.c, r.x)}, nil
	})
}

func total(c sdk.Column, x []float64) int64 {
	var s int64
	for _, v := range x {
		s += lattice(c, v)
	}
	return s
}

func plain(noisy float64, _ sdk.Column, _ []float64) float64 { return noisy }

// Sound is the sound sum that the specimens break. The suite must not refute it.
func Sound() sdk.Mechanism {
	return mechanism{name: "sound", plan: planLaplace(one), release: sum(total, plain)}
}

func sums() []Specimen {
	return []Specimen{
		specimen("half-sensitivity", "l1-sensitivity", "declares half of what one record can do",
			mechanism{plan: planLaplace(privacy.Sensitivity{AddRemove: steps / 2, ReplaceOne: steps / 2}), release: sum(total, plain)}),
		specimen("realised-n", "result", "divides the noisy sum by the number of rows there were",
			mechanism{plan: planLaplace(one), release: sum(total, func(noisy float64, _ sdk.Column, x []float64) float64 {
				return noisy / math.Max(1, float64(len(x)))
			})}),
		specimen("realised-n-inside", "l1-sensitivity", "averages before the noise, and declares what one record does to a mean of a hundred",
			mechanism{plan: planLaplace(privacy.Sensitivity{AddRemove: steps / 100, ReplaceOne: steps / 100}),
				release: sum(func(c sdk.Column, x []float64) int64 {
					return total(c, x) / max(1, int64(len(x)))
				}, plain)}),
		specimen("clip-forgotten", "l1-sensitivity", "means to clip at the middle of the range, says so in the sensitivity, and does not do it",
			mechanism{plan: planLaplace(privacy.Sensitivity{AddRemove: steps / 2, ReplaceOne: steps / 2}),
				release: sum(func(c sdk.Column, x []float64) int64 {
					var s int64
					for _, v := range x {
						clipped := math.Min(v, c.Lower+(c.Upper-c.Lower)/2)
						_ = clipped
						s += lattice(c, v)
					}
					return s
				}, plain)}),
		specimen("noise-reused", "result", "pays for one draw and adds it to a second query",
			mechanism{plan: planLaplace(one), release: query(func(r run) ([]float64, error) {
				s := total(r.c, r.x)
				out, err := r.noisy(s)
				if err != nil {
					return nil, err
				}
				squares := 0.0
				for _, v := range r.x {
					squares += v * v
				}
				return []float64{squares + float64(out[0]-s)}, nil
			})}),
		specimen("spent-twice", "calls", "asks two queries for the price of one",
			mechanism{plan: planLaplace(one), release: query(func(r run) ([]float64, error) {
				if _, err := r.noisy(int64(len(r.x))); err != nil {
					return nil, err
				}
				out, err := r.noisy(total(r.c, r.x))
				return released(r.c, out), err
			})}),
		specimen("sensitivity-vanishes", "l1-sensitivity", "has a formula for the sensitivity that comes to nothing for one setting",
			mechanism{plan: func(c sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
				s := one
				if req.Target.Epsilon >= 1 {
					s = privacy.Sensitivity{AddRemove: 0x1p-30, ReplaceOne: 0x1p-30}
				}
				return laplace(s, req)
			}, release: sum(total, plain)}),
		specimen("replace-one-forgotten", "l1-sensitivity",
			"a value may go from one bound to the other: declares what a record does when it comes, for both relations",
			mechanism{plan: planLaplace(privacy.Sensitivity{AddRemove: steps / 2, ReplaceOne: steps / 2}),
				release: sum(func(c sdk.Column, x []float64) int64 {
					var s int64
					for _, v := range x {
						s += lattice(c, v) - steps/2
					}
					return s
				}, plain), designs: []string{"full"}}),
		specimen("null-read", "l1-sensitivity", "adds up what lies under the nulls as well",
			mechanism{plan: planLaplace(one),
				release: func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error) {
					c := must(req)
					var s int64
					err := sdk.Each(rows, func(b *sdk.Batch) error {
						for _, v := range b.Float64(0) {
							s += int64(math.Max(-steps*9, math.Min(steps*9, (v-c.Lower)/(c.Upper-c.Lower)*steps)))
						}
						return nil
					})
					if err != nil {
						return nil, err
					}
					out, err := noisy(ctx, req, host, s)
					return released(c, out), err
				}}),
		specimen("first-batch-only", "l1-sensitivity", "reads one batch and takes it for the table",
			mechanism{plan: planLaplace(one),
				release: func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) ([]float64, error) {
					c := must(req)
					var x []float64
					b, err := rows.Next()
					if err == nil {
						for i, v := range b.Float64(0) {
							if b.IsValid(0, i) {
								x = append(x, v)
							}
						}
					} else if err != io.EOF {
						return nil, err
					}
					out, err := noisy(ctx, req, host, total(c, x))
					return released(c, out), err
				}}),
		specimen("order", "l1-sensitivity", "weighs records by their place in the table",
			mechanism{plan: planLaplace(one), release: sum(func(c sdk.Column, x []float64) int64 {
				var s int64
				for i, v := range x {
					s += lattice(c, v) * int64(1-2*(i%2))
				}
				return s
			}, plain)}),
		specimen("nan", "nonfinite", "takes a root of something that noise makes negative",
			mechanism{plan: planLaplace(one),
				release: sum(total, func(noisy float64, _ sdk.Column, _ []float64) float64 { return math.Sqrt(noisy) })}),
		specimen("crash", "panic", "has one bin too few for the value at the upper bound",
			mechanism{plan: planLaplace(one), release: sum(func(c sdk.Column, x []float64) int64 {
				var bins [10]int64
				for _, v := range x {
					bins[int((v-c.Lower)/(c.Upper-c.Lower)*10)] += lattice(c, v)
				}
				var s int64
				for _, b := range bins {
					s += b
				}
				return s
			}, plain)}),
		specimen("error-on-data", "error", "refuses tables that have no rows, after looking",
			mechanism{plan: planLaplace(one), release: query(func(r run) ([]float64, error) {
				if len(r.x) == 0 {
					return nil, io.ErrNoProgress
				}
				out, err := r.noisy(total(r.c, r.x))
				return released(r.c, out), err
			})}),
		specimen("off-lattice", "lattice", "promises whole numbers and releases others",
			mechanism{plan: func(c sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
				plan, err := laplace(one, req)
				plan.Output = []sdk.Field{{Name: "estimate", Type: sdk.Float64, Granularity: 1}}
				return plan, err
			}, release: sum(total, func(noisy float64, _ sdk.Column, _ []float64) float64 { return math.Round(noisy*10) / 10 })}),
	}
}
