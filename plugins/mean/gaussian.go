package mean

import (
	"errors"
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
			ev := l.gaussian(q)
			ev.Sigma = math.Ceil(multiplier * sdk.Largest(ev.Sensitivity, req.Public.SampleRelations))
			all[i] = q.gaussianScale(ev)
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

var errOtherPlan = errors.New("the plan is not one of this mechanism's")

// planned takes the noise from a plan that was made from the same request.
func (l *layout) planned(e privacy.Event) error {
	events := []privacy.Event{e}
	if all, ok := e.(privacy.Compose); ok {
		events = all.Events
	}
	if len(events) != len(l.queries) {
		return errOtherPlan
	}
	for i, q := range l.queries {
		ev, ok := events[i].(privacy.DiscreteGaussian)
		own := l.gaussian(q)
		if own.Sigma = ev.Sigma; !ok || own != ev {
			return errOtherPlan
		}
		l.noise = append(l.noise, q.gaussianScale(ev))
	}
	return nil
}

// gaussian is the noise of a query without its size. Two records of a ratio query
// lie in a triangle whose longest side is √2 times its height.
func (l *layout) gaussian(q query) privacy.DiscreteGaussian {
	s := privacy.Sensitivity{AddRemove: float64(q.addRemove()), ReplaceOne: float64(q.replaceOne())}
	coordinates := int64(1)
	if q.ratio {
		s.ReplaceOne = math.Nextafter(math.Sqrt2*s.AddRemove, math.Inf(1))
		coordinates = 2
		if l.groups() > 1 && !l.group.Immutable {
			coordinates = 4 // a record may leave one group and enter another (P11)
		}
	}
	return privacy.DiscreteGaussian{Sensitivity: s, Coordinates: coordinates}
}

// gaussianScale is noise of a known size.
func (q query) gaussianScale(ev privacy.DiscreteGaussian) noiseScale {
	quantile := gaussianQuantile95
	if q.ratio {
		quantile = gaussianQuantile975
	}
	return noiseScale{event: ev, sd: ev.Sigma, tail: ev.Sigma * quantile}
}
