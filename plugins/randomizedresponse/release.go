package randomizedresponse

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
)

var errReports = errors.New("the number of reports is not the public one")

// Release has the host randomize every report and counts them.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest)
	if err != nil {
		return sdk.Result{}, err
	}
	codes := make([]int32, 0, l.reports)
	err = sdk.Each(rows, func(b *sdk.Batch) error {
		codes = append(codes, b.Codes(0)...)
		return nil
	})
	if err != nil {
		return sdk.Result{}, err
	}
	if int64(len(codes)) != l.reports {
		return sdk.Result{}, errReports
	}
	reports, err := host.RandomizeCategories(ctx, l.local, codes)
	if err != nil {
		return sdk.Result{}, err
	}
	counts := make([]int64, l.local.K)
	for _, c := range reports {
		counts[c]++
	}
	return l.result(counts), nil
}

func (l *layout) output() []sdk.Field {
	trust := "; " + l.trust()
	return []sdk.Field{
		{Name: "category", Type: sdk.String, Doc: "value of " + l.column.Name},
		{Name: "reports", Type: sdk.Int64, Doc: "how many randomized reports name it" + trust},
		{Name: "estimate", Type: sdk.Float64,
			Doc: "the debiased number of users in it, scaled to the population; may be negative, and adds up to the number of users"},
		{Name: "noise_sd", Type: sdk.Float64, Doc: "standard error of the randomization, at the estimated count"},
		{Name: "noise_low", Type: sdk.Float64, Doc: "lower end of the 95 % interval of the randomization alone"},
		{Name: "noise_high", Type: sdk.Float64, Doc: "upper end of the 95 % interval of the randomization alone"},
	}
}

// trust names those whom a user must trust for the guarantee to hold.
func (l *layout) trust() string {
	if l.Shuffle {
		return fmt.Sprintf("the guarantee trusts the shuffler (here the host) to forget who sent which report; "+
			"against whoever sees a report with a name on it a user has ε0 %.6g only", l.local.Eps0)
	}
	text := fmt.Sprintf("local model: each report is randomized by itself, and ε0 %.6g holds against whoever sees it with a name on it",
		l.local.Eps0)
	if l.weight != 1 {
		text += "; what sampling adds to that trusts the sample to stay secret"
	}
	return text
}

// normal95 is the two-sided 95 % quantile of the normal distribution.
const normal95 = 1.959963984540054

func (l *layout) expected() []sdk.ExpectedError {
	worst := l.weight * math.Max(l.spread(0), l.spread(float64(l.reports)))
	estimate := sdk.ExpectedError{Field: "estimate", NoiseSD: worst, Half95: normal95 * worst, Note: "each category, at most"}
	if l.weight > 0 {
		// On average over the noise it is weight times the count of the category.
		estimate.Linear = &sdk.Linear{Low: 0, High: 1, Scale: l.weight}
	}
	return []sdk.ExpectedError{estimate, {Field: "reports", Note: "trust: " + l.trust()}}
}

// result is post-processing of the reports.
func (l *layout) result(counts []int64) sdk.Result {
	_, other, gap := l.chances()
	n := float64(l.reports)
	k := l.local.K
	estimate, sd, low, high := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
	for i, c := range counts {
		x := (float64(c) - n*other) / gap
		estimate[i], sd[i] = l.weight*x, l.weight*l.spread(math.Min(n, math.Max(0, x)))
		low[i], high[i] = estimate[i]-normal95*sd[i], estimate[i]+normal95*sd[i]
	}
	return sdk.Result{Columns: []sdk.ResultColumn{
		{Name: "category", Texts: l.column.Domain}, {Name: "reports", Int64: counts}, {Name: "estimate", Float64: estimate},
		{Name: "noise_sd", Float64: sd}, {Name: "noise_low", Float64: low}, {Name: "noise_high", Float64: high},
	}}
}
