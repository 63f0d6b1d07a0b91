package planned

import (
	"math"

	"github.com/dprelease/dprelease/privacy"
)

// SizeOf returns the parameter of a noise call: σ, or the scale of Laplace noise.
func SizeOf(call privacy.Event) float64 {
	switch e := call.(type) {
	case privacy.DiscreteGaussian:
		return e.Sigma
	case privacy.DiscreteLaplace:
		return e.Scale
	}
	return 0
}

// Sized returns a noise call with another parameter.
func Sized(call privacy.Event, size float64) privacy.Event {
	switch e := call.(type) {
	case privacy.DiscreteGaussian:
		e.Sigma = size
		return e
	case privacy.DiscreteLaplace:
		e.Scale = size
		return e
	}
	return call
}

// DeviationOf returns the standard deviation of the noise of a call.
func DeviationOf(call privacy.Event) float64 {
	if e, ok := call.(privacy.DiscreteLaplace); ok {
		return 1 / (math.Sqrt2 * math.Sinh(1/(2*e.Scale)))
	}
	return SizeOf(call)
}

// Louder returns a noise call whose noise has so many times the standard deviation.
func Louder(call privacy.Event, times float64) privacy.Event {
	if e, ok := call.(privacy.DiscreteLaplace); ok {
		return Sized(e, 1/(2*math.Asinh(1/(math.Sqrt2*times*DeviationOf(e)))))
	}
	return Sized(call, times*SizeOf(call))
}
