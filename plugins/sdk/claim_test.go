package sdk

import (
	"math"
	"math/big"
	"testing"
)

// What is charged is rounded up, never down (P17), also beyond the digits of a float64.
func TestClaimsAreRoundedUp(t *testing.T) {
	for _, x := range []int64{1, 2, 3, 4, 9, 1 << 53, 1<<53 + 1, 1<<62 + 1, math.MaxInt64} {
		if f := up(big.NewInt(x)); f < float64(x) && float64(x) <= math.MaxInt64 {
			t.Errorf("%d became %v", x, f)
		}
	}
	// The root is the least float64 whose square, in whole numbers and fractions, is not below x.
	square := func(f float64) *big.Rat { r := new(big.Rat).SetFloat64(f); return r.Mul(r, r) }
	for x := int64(1); x < math.MaxInt64/3; x += 1 + x/7 {
		xx := times(big.NewInt(x), big.NewInt(x))
		for _, n := range []*big.Int{big.NewInt(x), xx, new(big.Int).Add(xx, big.NewInt(1)), times(big.NewInt(math.MaxInt64-x), big.NewInt(math.MaxInt64))} {
			f, exact := root(n), new(big.Rat).SetInt(n)
			if square(f).Cmp(exact) < 0 || square(math.Nextafter(f, 0)).Cmp(exact) >= 0 {
				t.Errorf("the root of %d became %v", n, f)
			}
		}
	}
	if up(big.NewInt(1<<53+1)) != 1<<53+2 || root(big.NewInt(9)) != 3 || root(big.NewInt(2)) != math.Sqrt2 {
		t.Errorf("%v, %v, %v", up(big.NewInt(1<<53+1)), root(big.NewInt(9)), root(big.NewInt(2)))
	}
}
