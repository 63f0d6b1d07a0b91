package conformance

import (
	"context"
	"errors"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// Small are a job's requests with the public size brought down to tables that can be
// searched: 1, 8 or 40 records in place of thousands, at the same rate. A request
// that the mechanism refuses at every such size stays as it is if it is no larger
// than a few thousand records.
func Small(ctx context.Context, s sdktest.Subject, jobs []sdk.PlanRequest) ([]sdk.PlanRequest, error) {
	var out []sdk.PlanRequest
	for _, req := range jobs {
		accepted := 0
		for _, n := range []int64{1, 8, 40} {
			small := shrunk(req, n)
			_, err := s.Plan(ctx, small)
			if err != nil && !errors.Is(err, sdktest.ErrRefused) {
				return nil, err
			}
			if err == nil {
				out = append(out, small)
				accepted++
			}
			if small.Public.Population == req.Public.Population && small.Public.Design == req.Public.Design {
				break // there was nothing to bring down
			}
		}
		if accepted == 0 && req.Public.Design.SampleSize <= 4096 {
			out = append(out, req)
		}
	}
	return out, nil
}

// shrunk is req for a sample of n records.
func shrunk(req sdk.PlanRequest, n int64) sdk.PlanRequest {
	p := &req.Public
	d := &p.Design
	size := d.SampleSize
	if size == 0 {
		size = p.Population
	}
	if size == 0 || size <= n {
		return req
	}
	by := float64(n) / float64(size)
	scaled := func(x int64) int64 {
		if x == 0 {
			return 0
		}
		return max(1, int64(math.Round(float64(x)*by)))
	}
	p.Population, d.SampleSize, d.LargestCount = scaled(p.Population), scaled(d.SampleSize), scaled(d.LargestCount)
	if d.SampleSize > 0 && p.Population > 0 && d.EqualWeights {
		d.Rate = float64(d.SampleSize) / float64(p.Population)
		d.MinWeight, d.MaxWeight = 1/d.Rate, 1/d.Rate
	}
	return req
}
