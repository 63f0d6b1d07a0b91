package sdk

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// The kinds of noise.
const (
	LaplaceNoise  = "laplace"
	GaussianNoise = "gaussian"
)

// NoiseDeviation is the standard deviation of discrete Laplace or Gaussian noise, in lattice steps; 0 of any
// other event.
func NoiseDeviation(e privacy.Event) float64 {
	switch e := e.(type) {
	case privacy.DiscreteLaplace:
		return math.Sqrt2 * math.Exp(-0.5/e.Scale) / -math.Expm1(-1/e.Scale)
	case privacy.DiscreteGaussian:
		return e.Sigma
	}
	return 0
}

// NoiseTail is the smallest whole number that the magnitude of the noise exceeds with at most the given
// probability. For discrete Laplace noise, P(|X| > t) = 2e^{−(t+1)/b}/(1 + e^{−1/b}).
func NoiseTail(e privacy.Event, probability float64) float64 {
	switch e := e.(type) {
	case privacy.DiscreteLaplace:
		return math.Max(0, math.Ceil(e.Scale*math.Log(2/probability/(1+math.Exp(-1/e.Scale)))-1))
	case privacy.DiscreteGaussian:
		return math.Ceil(math.Sqrt2*math.Erfinv(1-probability)*e.Sigma - 0.5)
	}
	return math.Inf(1)
}

func (c Claim) gaussian(sigma float64) privacy.DiscreteGaussian {
	return privacy.DiscreteGaussian{Sigma: sigma, Sensitivity: c.L2, Coordinates: c.Coordinates}
}

func compose(events []privacy.Event) privacy.Event {
	if len(events) == 1 {
		return events[0]
	}
	return privacy.Compose{Events: events}
}

// laplaceNoise is Laplace noise for all queries, each with its share of epsilon.
func laplaceNoise(claims []Claim, under []privacy.Relation, epsilon float64) (privacy.Event, error) {
	events := make([]privacy.Event, len(claims))
	for i, c := range claims {
		scale, err := LaplaceScale(Largest(c.L1, under), epsilon/float64(len(claims)))
		if err != nil {
			return nil, err
		}
		events[i] = privacy.DiscreteLaplace{Scale: scale, Sensitivity: c.L1}
	}
	return compose(events), nil
}

// gaussianNoise is Gaussian noise for all queries: the smallest multiple of their sensitivities, the
// same for each, that meets the target.
func gaussianNoise(claims []Claim, under []privacy.Relation, target privacy.Point) (privacy.Event, error) {
	event := func(x float64) privacy.Event {
		events := make([]privacy.Event, len(claims))
		for i, c := range claims {
			events[i] = c.gaussian(math.Ceil(x*Largest(c.L2, under)*1024) / 1024)
		}
		return compose(events)
	}
	x, err := GaussianMultiplier(event, under, target)
	if err != nil {
		return nil, fmt.Errorf("noise: %w", err)
	}
	return event(x), nil
}

// worth is the ratio of L1 to L2 sensitivity from which Gaussian noise is tried. Below it Laplace
// noise is smaller for every δ that people use, and calibrating Gaussian noise takes longer than
// the rest of a plan.
const worth = 1.5

// ChooseNoise returns noise of the given kind for the vectors of a release, or the smaller one for any other
// word. It meets the target under every relation that the sample demands.
func ChooseNoise(kind string, claims []Claim, req PlanRequest) (privacy.Event, error) {
	under := req.Public.SampleRelations
	if kind == GaussianNoise {
		return gaussianNoise(claims, under, req.Target)
	}
	l, err := laplaceNoise(claims, under, req.Target.Epsilon)
	if err != nil || kind == LaplaceNoise || !(req.Target.Delta > 0) {
		return l, err
	}
	if req.InRho {
		if g, err := gaussianNoise(claims, under, req.Target); err == nil && lessAtRho(claims, l, under) {
			return g, nil
		}
		return l, nil
	}
	gain := float64(len(claims)) // several queries add up in L1, and in squares in L2
	if c := claims[0]; Largest(c.L1, under)*math.Sqrt(gain) < worth*Largest(c.L2, under) {
		return l, nil
	}
	g, err := gaussianNoise(claims, under, req.Target)
	if err != nil || NoiseDeviation(NoisesOf(g)[0]) >= NoiseDeviation(NoisesOf(l)[0]) {
		return l, nil
	}
	return g, nil
}

// lessAtRho reports whether Gaussian noise of the same ρ as that of Laplace noise is smaller.
func lessAtRho(claims []Claim, laplace privacy.Event, under []privacy.Relation) bool {
	for _, rel := range under {
		f, err := privacy.NewZCDPFilter(rel, new(big.Rat))
		if err != nil {
			return false
		}
		cost, err := f.Cost(laplace)
		if err != nil {
			return false
		}
		rho, _ := cost[0].Float64()
		// Each query costs L2²/2σ².
		if Largest(claims[0].L2, under)*math.Sqrt(float64(len(claims))/(2*rho)) >= NoiseDeviation(NoisesOf(laplace)[0]) {
			return false
		}
	}
	return true
}

// NoisesOf lists the noises of the vectors of a release, in order, of an event that ChooseNoise made.
func NoisesOf(e privacy.Event) []privacy.Event {
	if all, ok := e.(privacy.Compose); ok {
		return all.Events
	}
	return []privacy.Event{e}
}

// Chosen reports whether an event has, for each claim in order, Laplace or Gaussian noise for that sensitivity.
func Chosen(e privacy.Event, claims []Claim) bool {
	return slices.EqualFunc(NoisesOf(e), claims, func(e privacy.Event, c Claim) bool {
		switch e := e.(type) {
		case privacy.DiscreteLaplace:
			return e.Sensitivity == c.L1
		case privacy.DiscreteGaussian:
			return e.Sensitivity == c.L2 && e.Coordinates == c.Coordinates
		}
		return false
	})
}
