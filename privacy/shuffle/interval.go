package shuffle

import (
	"fmt"
	"math"
)

// Interval brackets the value of a numeric bound. Upper is a proven guarantee and is what may be charged; Lower says how much of it is
// the width of the summation. Lower is a bound on the bound, not on the privacy loss itself.
type Interval struct{ Lower, Upper float64 }

// margin covers the rounding of sums of up to a million recursively computed terms; it is applied outward to every delta.
const margin = 1e-9

// check refuses parameters that describe no shuffled collection.
func check(n int64, eps0 float64) error {
	switch {
	case n < 1:
		return fmt.Errorf("shuffle: n: must be at least 1 (got %d)", n)
	case !(eps0 >= 0) || math.IsInf(eps0, 1):
		return fmt.Errorf("shuffle: eps0: must be finite and not negative (got %g)", eps0)
	}
	return nil
}

func checkDelta(delta float64) error {
	if !(delta >= 0 && delta < 1) {
		return fmt.Errorf("shuffle: delta: must be in [0, 1) (got %g)", delta)
	}
	return nil
}

func checkEps(eps float64) error {
	if !(eps >= 0) {
		return fmt.Errorf("shuffle: eps: must not be negative (got %g)", eps)
	}
	return nil
}

// localDelta is the delta of one report that is not shuffled at all, (e^ε0 − e^ε)/(1 + e^ε0), the largest an eps0-private
// randomizer can have.
func localDelta(eps0, eps float64) float64 {
	if eps >= eps0 {
		return 0
	}
	return -math.Expm1(eps-eps0) / (1 + math.Exp(-eps0)) * (1 + 4e-16)
}
