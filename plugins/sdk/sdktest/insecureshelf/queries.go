package insecureshelf

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

const bins = 8

func queries() []Specimen {
	histogram := func(edges func(c sdk.Column, x []float64) (lo, hi float64)) release {
		return query(func(r run) ([]float64, error) {
			counts := make([]int64, bins)
			lo, hi := edges(r.c, r.x)
			for _, v := range r.x {
				counts[max(0, min(bins-1, int((v-lo)/math.Max(hi-lo, 1e-300)*bins)))]++
			}
			out, err := r.noisy(counts...)
			return released(sdk.Column{Upper: steps}, out), err
		})
	}
	planBins := func(s privacy.Sensitivity) func(sdk.Column, sdk.PlanRequest) (sdk.Plan, error) {
		return func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
			plan, err := laplace(s, req)
			plan.Rows = bins
			return plan, err
		}
	}
	return []Specimen{
		specimen("data-dependent-bins", "l1-sensitivity", "spreads its bins between the smallest and the largest value there is",
			mechanism{plan: planBins(privacy.Sensitivity{AddRemove: 1, ReplaceOne: 2}),
				release: histogram(func(_ sdk.Column, x []float64) (float64, float64) {
					if len(x) == 0 {
						return 0, 1
					}
					return slices.Min(x), slices.Max(x)
				})}),
		specimen("parallel-replace", "l1-sensitivity", "charges one group where a replaced record leaves one and enters another",
			mechanism{plan: planBins(privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}),
				release: histogram(func(c sdk.Column, _ []float64) (float64, float64) {
					return c.Lower, c.Upper
				})}),
		specimen("domain-from-maximum", "shape", "has as many bins as the largest value there is says",
			mechanism{plan: planBins(privacy.Sensitivity{AddRemove: 1, ReplaceOne: 2}), release: query(func(r run) ([]float64, error) {
				last := 0
				at := func(v float64) int { return int((v - r.c.Lower) / (r.c.Upper - r.c.Lower) * (bins - 1)) }
				for _, v := range r.x {
					last = max(last, at(v))
				}
				counts := make([]int64, last+1)
				for _, v := range r.x {
					counts[at(v)]++
				}
				out, err := r.noisy(counts...)
				return released(r.c, append(out, make([]int64, bins-len(out))...)), err
			})}),
		specimen("bins-seen", "shape", "asks for noise on the bins that are not empty",
			mechanism{plan: planBins(privacy.Sensitivity{AddRemove: 1, ReplaceOne: 2}), release: query(func(r run) ([]float64, error) {
				counts := map[int64]int64{}
				for _, v := range r.x {
					counts[min(bins-1, lattice(r.c, v)*bins/steps)]++
				}
				var values []int64
				for b := range int64(bins) {
					if counts[b] > 0 {
						values = append(values, counts[b])
					}
				}
				noisyValues, err := r.noisy(values...)
				if err != nil {
					return nil, err
				}
				out := make([]float64, bins)
				for i, v := range noisyValues {
					out[i] = float64(v)
				}
				return out, nil
			})}),
		specimen("coordinates", "coordinates", "moves every coordinate a little and declares that it moves one",
			mechanism{plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
				plan, err := gaussian(privacy.Sensitivity{AddRemove: 4, ReplaceOne: 8}, 1, req)
				plan.Rows = bins
				return plan, err
			}, release: query(func(r run) ([]float64, error) {
				values := make([]int64, bins)
				for i := range values {
					values[i] = int64(len(r.x))
				}
				out, err := r.host.AddGaussian(r.ctx, r.event.(privacy.DiscreteGaussian), values)
				return released(sdk.Column{Upper: steps}, out), err
			}), designs: []string{"full"}}),
		specimen("calls-by-data", "calls", "stops its search early when the data let it",
			mechanism{plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
				req.Target.Epsilon /= 2
				plan, err := laplace(one, req)
				plan.Event = privacy.Repeat{N: 2, Event: plan.Event}
				return plan, err
			}, release: query(func(r run) ([]float64, error) {
				ev := r.event.(privacy.Repeat).Event.(privacy.DiscreteLaplace)
				out, err := r.host.AddLaplace(r.ctx, ev, []int64{total(r.c, r.x)})
				if err == nil && len(r.x) > 2 {
					out, err = r.host.AddLaplace(r.ctx, ev, []int64{total(r.c, r.x)})
				}
				return released(r.c, out), err
			})}),
		specimen("score-half", "scores", "draws by the exponential mechanism at twice the rate",
			mechanism{plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
				return sdk.Plan{Event: privacy.Pure{Eps: req.Target.Epsilon}}, nil
			}, release: query(func(r run) ([]float64, error) {
				var pieces []sdk.Piece
				for b := range int64(bins) {
					var below, above int64
					for _, v := range r.x {
						if l := lattice(r.c, v); l < b*steps/bins {
							below++
						} else if l > b*steps/bins {
							above++
						}
					}
					pieces = append(pieces, sdk.Piece{Lo: b, Hi: b, Score: max(below-above, above-below)})
				}
				ev := r.event.(privacy.Pure)
				point, err := r.host.Select(r.ctx, ev, pieces, ev.Eps)
				return []float64{float64(point)}, err
			})}),
		specimen("siblings-overlap", "scores",
			"looks for the quartiles on either side of the median among the rows up to it and from it on, so that rows at it are on both sides",
			mechanism{plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
				half := req.Target.Epsilon / 2
				return sdk.Plan{
					Event: privacy.Compose{Events: []privacy.Event{privacy.BoundedRange{Eps: half}, privacy.BoundedRange{Eps: half, Parts: 2}}}}, nil
			}, release: query(func(r run) ([]float64, error) {
				points := make([]int64, len(r.x))
				for i, v := range r.x {
					points[i] = lattice(r.c, v) * bins / steps
				}
				find := func(ev privacy.BoundedRange, lo, hi int64) (int64, error) {
					var pieces []sdk.Piece
					for b := lo; b <= hi; b++ {
						var below, above int64
						for _, p := range points {
							if p >= lo && p <= hi && p < b {
								below++
							} else if p >= lo && p <= hi && p > b {
								above++
							}
						}
						pieces = append(pieces, sdk.Piece{Lo: b, Hi: b, Score: max(below-above, above-below)})
					}
					return r.host.Select(r.ctx, ev, pieces, ev.Eps/4) // a row moves the score by 1, one that is replaced by 2
				}
				events := r.event.(privacy.Compose).Events
				median, err := find(events[0].(privacy.BoundedRange), 0, bins)
				if err != nil {
					return nil, err
				}
				sides := events[1].(privacy.BoundedRange)
				if _, err = find(sides, 0, median); err == nil {
					_, err = find(sides, median, bins)
				}
				return []float64{float64(median)}, err
			})}),
		specimen("local-for-smooth", "smooth-sensitivity", "adds noise in proportion to the local sensitivity of the median",
			mechanism{plan: func(_ sdk.Column, req sdk.PlanRequest) (sdk.Plan, error) {
				return sdk.Plan{
					Event:  privacy.Approx{Eps: req.Target.Epsilon, Delta: req.Target.Delta},
					Output: []sdk.Field{{Name: "estimate", Type: sdk.Float64, Granularity: 0x1p-20}},
				}, nil
			}, release: query(func(r run) ([]float64, error) {
				slices.Sort(r.x)
				at := func(j int) float64 {
					if j < 0 {
						return r.c.Lower
					}
					if j >= len(r.x) {
						return r.c.Upper
					}
					return r.x[j]
				}
				m := (len(r.x)+1)/2 - 1
				local := max(at(m)-at(m-1), at(m+1)-at(m), (r.c.Upper-r.c.Lower)*0x1p-30)
				ev := r.event.(privacy.Approx)
				out, err := r.host.SmoothLaplace(r.ctx, ev, at(m), 2*local/ev.Eps, 0x1p-20)
				return []float64{out}, err
			})}),
	}
}

// gaussian is noise for a query of that L2 sensitivity.
func gaussian(s privacy.Sensitivity, coordinates int64, req sdk.PlanRequest) (sdk.Plan, error) {
	event := func(x float64) privacy.DiscreteGaussian {
		return privacy.DiscreteGaussian{Sigma: math.Ceil(x * sdk.Largest(s, req.Public.SampleRelations) * 16), Sensitivity: s,
			Coordinates: coordinates}
	}
	x, err := sdk.GaussianMultiplier(func(x float64) privacy.Event { return event(x) }, req.Public.SampleRelations, req.Target)
	return sdk.Plan{Event: event(x)}, err
}
