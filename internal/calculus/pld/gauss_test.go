package pld

import (
	"math"
	"math/big"
	"testing"
)

// convergent is the continued fraction of millsRest to the term n, without rounding to speak of.
func convergent(x float64, n int) *big.Float {
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(v) }
	t := exact(x)
	for k := n; k >= 2; k-- {
		t.Quo(exact(float64(k)), t).Add(t, exact(x))
	}
	return t.Quo(exact(1), t)
}

// The terms that millsRest takes enclose the value: the last two convergents differ by less than
// rounding does. Half the terms would not do.
func TestMillsRestTakesEnoughTerms(t *testing.T) {
	apart := func(a, b *big.Float) float64 {
		d, _ := new(big.Float).Quo(new(big.Float).Sub(a, b), b).Float64()
		return math.Abs(d)
	}
	for x := 3.0; x < 1e6; x += math.Max(1./128, (x-8)/64) {
		n := 12 + int(600/(x*x))
		a, b := convergent(x, n), convergent(x, n+1)
		if d := apart(a, b); d > 1e-17 {
			t.Errorf("x = %g: %d terms leave %g", x, n, d)
		}
		if d := apart(big.NewFloat(millsRest(x)), a); d > 4e-16 {
			t.Errorf("x = %g: millsRest is off by %g", x, d)
		}
	}
	if d := apart(convergent(3, 39), convergent(3, 40)); d < 1e-15 {
		t.Errorf("half the terms leave %g only", d)
	}
}
