package expr

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// Round returns the nearest admissible value on the safe side of x: fewer
// steps, more noise.
func (p Parameter) Round(x float64) float64 {
	switch {
	case !p.Whole:
		return x
	case p.Most:
		return math.Floor(x)
	}
	return math.Ceil(x)
}

// Set returns the expression with the parameter set to Round(x). The event
// must be the one that the parameter was resolved in.
func (p Parameter) Set(e privacy.Event, x float64) privacy.Event {
	return set(e, p.trail, p.Field, p.Round(x))
}

// wholeNumber converts without overflow; float64 holds every whole number up
// to 2^53.
func wholeNumber(x float64) int64 {
	switch {
	case !(x > 0):
		return 0
	case x >= 1<<62:
		return 1 << 62
	}
	return int64(x)
}

func set(e privacy.Event, trail []int, field string, x float64) privacy.Event {
	if len(trail) == 0 {
		return setField(e, field, x)
	}
	rest := trail[1:]
	switch v := e.(type) {
	case privacy.Compose:
		events := slices.Clone(v.Events)
		events[trail[0]] = set(events[trail[0]], rest, field, x)
		return privacy.Compose{Events: events}
	case privacy.Repeat:
		v.Event = set(v.Event, rest, field, x)
		return v
	case privacy.Shuffled:
		v.Event = set(v.Event, rest, field, x)
		return v
	case privacy.Sampling:
		return v.With(set(v.Inner(), rest, field, x))
	}
	return e
}

func setField(e privacy.Event, field string, x float64) privacy.Event {
	switch v := e.(type) {
	case privacy.Gaussian:
		v.Sigma = x
		return v
	case privacy.Laplace:
		v.Scale = x
		return v
	case privacy.DiscreteGaussian:
		v.Sigma = x
		return v
	case privacy.DiscreteLaplace:
		v.Scale = x
		return v
	case privacy.Pure:
		v.Eps = x
		return v
	case privacy.ZCDP:
		v.Rho = x
		return v
	case privacy.RandomizedResponse:
		v.Eps0 = x
		return v
	case privacy.Approx:
		if field == "delta" {
			v.Delta = x
		} else {
			v.Eps = x
		}
		return v
	case privacy.Repeat:
		v.N = wholeNumber(x)
		return v
	case privacy.Shuffled:
		v.N = wholeNumber(x)
		return v
	case privacy.Poisson:
		v.Rate = x
		return v
	case privacy.WithoutReplacement:
		if field == "N" {
			v.Of = wholeNumber(x)
		} else {
			v.Take = wholeNumber(x)
		}
		return v
	case privacy.WithReplacement:
		if field == "N" {
			v.Of = wholeNumber(x)
		} else {
			v.Take = wholeNumber(x)
		}
		return v
	case privacy.LastIterate:
		switch field {
		case "sigma":
			v.Sigma = x
		case "steps":
			v.Steps = wholeNumber(x)
		case "epochs":
			v.Epochs = wholeNumber(x)
		case "sensitivity":
			v.Sensitivity = x
		}
		return v
	}
	return e
}

// Range returns the values that make sense for the parameter in e. A target
// that even the cheaper end misses cannot be met.
func (p Parameter) Range(e privacy.Event) (lo, hi float64) {
	at := find(e, p.trail)
	switch p.Field {
	case "rate":
		return 1e-12, 1
	case "sigma", "scale":
		return 1e-6, 1e9
	case "eps", "eps0":
		return 1e-12, 1e4
	case "rho":
		return 1e-18, 1e6
	case "delta":
		return 1e-300, 0.5
	case "sensitivity":
		return 1e-9, 1e9
	case "n":
		if v, ok := at.(privacy.WithoutReplacement); ok {
			return 1, float64(v.Of)
		}
		if _, ok := at.(privacy.Shuffled); ok {
			return 1, 1e9
		}
		return 1, 1e12
	case "N":
		if v, ok := at.(privacy.WithoutReplacement); ok {
			return float64(v.Take), 1e15
		}
		return 1, 1e15
	}
	return 1, 1e12
}

func find(e privacy.Event, trail []int) privacy.Event {
	for _, i := range trail {
		switch v := e.(type) {
		case privacy.Compose:
			e = v.Events[i]
		case privacy.Repeat:
			e = v.Event
		case privacy.Shuffled:
			e = v.Event
		case privacy.Sampling:
			e = v.Inner()
		}
	}
	return e
}
