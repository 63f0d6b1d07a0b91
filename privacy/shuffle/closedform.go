package shuffle

import (
	"fmt"
	"math"
)

// ClosedForm is the closed form of "Hiding among the clones" (Feldman, McMillan and Talwar 2021, Theorem 3.1 as their reference code
// evaluates it), for display beside the numeric bound, which is several times smaller. It is an error where the theorem
// does not apply: eps0 > log(n/(16·log(4/δ))).
//
// # Contract
//
// As for [Epsilon]. Proof: clones.proof.md.
func ClosedForm(n int64, eps0, delta float64) (float64, error) {
	if err := checkAll(n, eps0, checkDelta(delta)); err != nil {
		return 0, err
	}
	if delta == 0 {
		return 0, fmt.Errorf("shuffle: delta: the closed form needs a positive delta")
	}
	if limit := math.Log(float64(n) / (16 * math.Log(4/delta))); eps0 > limit {
		return 0, fmt.Errorf("shuffle: eps0: the closed form holds for eps0 <= log(n/(16·log(4/delta))) = %.6g only (got %g)", limit, eps0)
	}
	x := math.Exp(eps0) / float64(n)
	spread := 8*math.Sqrt(x*math.Log(4/delta)) + 8*x
	first := math.Log1p(spread)
	return math.Log1p(-math.Expm1(-eps0)/(1+math.Exp(-eps0-first))*spread) * (1 + 1e-15), nil
}
