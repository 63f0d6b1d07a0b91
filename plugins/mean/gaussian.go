package mean

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// gaussianQuantile95 and gaussianQuantile975 are the two-sided normal quantiles
// for 5 % and for 2.5 %.
const (
	gaussianQuantile95  = 1.959963984540054
	gaussianQuantile975 = 2.241402727604947
)

// calibrateGaussian finds the smallest common noise multiplier with which the
// noise on all columns together meets the target.
func (l *layout) calibrateGaussian(req sdk.PlanRequest) error {
	events := func(multiplier float64) []noiseScale {
		all := make([]noiseScale, len(l.queries))
		for i, q := range l.queries {
			all[i] = l.gaussian(q, req.Public.SampleRelations, multiplier)
		}
		return all
	}
	best, err := sdk.GaussianMultiplier(func(x float64) privacy.Event {
		probe := layout{noise: events(x)}
		return probe.event()
	}, req.Public.SampleRelations, req.Target)
	if err != nil {
		return fmt.Errorf("noise: %w", err)
	}
	l.noise = events(best)
	return nil
}

// gaussian is noise of the given multiple of the L2 sensitivity. Two records of
// a ratio query lie in a triangle whose longest side is √2 times its height.
func (l *layout) gaussian(q query, under []privacy.Relation, multiplier float64) noiseScale {
	s := privacy.Sensitivity{AddRemove: float64(q.addRemove()), ReplaceOne: float64(q.replaceOne())}
	coordinates := int64(1)
	if q.ratio {
		s.ReplaceOne = math.Nextafter(math.Sqrt2*s.AddRemove, math.Inf(1))
		coordinates = 2
		if l.params.By != "" && !l.group.Immutable {
			coordinates = 4 // a record may leave one group and enter another (P11)
		}
	}
	sigma := math.Ceil(multiplier * sdk.Largest(s, under))
	quantile := gaussianQuantile95
	if q.ratio {
		quantile = gaussianQuantile975
	}
	return noiseScale{
		event: privacy.DiscreteGaussian{Sigma: sigma, Sensitivity: s, Coordinates: coordinates},
		sd:    sigma,
		tail:  sigma * quantile,
	}
}
