package sdk

import (
	"fmt"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
)

// scaleSteps is the denominator of the scales that LaplaceScale returns.
const scaleSteps = 1 << 20

// roundings leaves 2^-46 of epsilon to the accountant, which rounds outward (P17): enough for some
// ten additions of a hundred queries. Without it a scale just above the exact one could be refused
// because the charged ε has a last digit more.
var roundings = new(big.Rat).SetFloat64(1 - 0x1p-46)

// LaplaceScale returns the scale of the noise that a query of that L1 sensitivity, in lattice steps,
// needs: the smallest multiple of 2^-20 for which sensitivity/scale is below epsilon, exactly (P17),
// by 2^-46 of it. From 2^32 on it returns whole numbers.
func LaplaceScale(sensitivity, epsilon float64) (float64, error) {
	if !(sensitivity > 0) || !(epsilon > 0) || math.IsInf(sensitivity, 0) || math.IsInf(epsilon, 0) {
		return 0, fmt.Errorf("laplace noise needs a positive finite sensitivity and epsilon")
	}
	ratio := new(big.Rat).SetFloat64(epsilon)
	ratio.Mul(ratio, roundings)
	ratio.Quo(new(big.Rat).SetFloat64(sensitivity), ratio)
	unit := int64(scaleSteps)
	if ratio.Cmp(big.NewRat(1<<32, 1)) >= 0 {
		unit = 1
	}
	ratio.Mul(ratio, big.NewRat(unit, 1))
	steps := new(big.Int).Add(new(big.Int).Quo(ratio.Num(), ratio.Denom()), big.NewInt(1))
	scale, _ := new(big.Float).SetMode(big.AwayFromZero).SetPrec(53).SetInt(steps).Float64()
	scale /= float64(unit)
	if math.IsInf(scale, 0) {
		return 0, fmt.Errorf("laplace noise of this size cannot be represented")
	}
	return scale, nil
}

// Largest is the sensitivity that noise must cover: the largest one under the relations that the
// sample demands.
func Largest(s privacy.Sensitivity, under []privacy.Relation) float64 {
	m := 0.0
	for _, r := range under {
		m = math.Max(m, s.Under(r))
	}
	return m
}

// GaussianMultiplier returns the smallest factor x for which the event made from
// it meets the target under every relation that the sample demands. The event's
// cost must fall as x grows.
func GaussianMultiplier(event func(x float64) privacy.Event, under []privacy.Relation, target privacy.Point) (float64, error) {
	if !(target.Delta > 0) {
		return 0, fmt.Errorf("gaussian noise needs a guarantee with a delta; use laplace for a pure epsilon")
	}
	best := 0.0
	for _, r := range under {
		x, _, err := privacy.Calibrate(event, r, target, 1e-3, 1e9)
		if err != nil {
			return 0, fmt.Errorf("no gaussian noise meets the guarantee on the sample: %w", err)
		}
		best = math.Max(best, x)
	}
	return best, nil
}

// SelectRate is the largest float64 with which a selection by scores of that sensitivity
// is epsilon-bounded-range: at most ε/2Δ, exactly (P17, P28). Twice the sensitivity must be
// below 2^53.
func SelectRate(epsilon float64, sensitivity int64) float64 {
	twice := 2 * float64(sensitivity)
	x := epsilon / twice
	for math.FMA(x, twice, -epsilon) > 0 {
		x = math.Nextafter(x, 0)
	}
	return x
}
