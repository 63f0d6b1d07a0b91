package noise

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// The scales that AddDiscreteLaplace and AddDiscreteGaussian accept, in lattice
// steps. Below MinScale the noise would be zero for ever; above MaxScale it
// would leave int64.
const (
	MinScale = 1.0 / (1 << 40)
	MaxScale = 1 << 50
)

// dyadic is the positive rational n/2^k, n odd or k = 0.
type dyadic struct {
	n uint64
	k uint
}

// exactScale takes a float64 scale as the rational that it is.
func exactScale(what string, x float64) (dyadic, error) {
	if !(x >= MinScale && x <= MaxScale) { // also refuses NaN
		return dyadic{}, fmt.Errorf("noise: %s must lie in [2^-40, 2^50] lattice steps", what)
	}
	f, e := math.Frexp(x) // x = f·2^e with f in [1/2, 1)
	n := uint64(math.Ldexp(f, 53))
	k := 53 - e // in [3, 93]
	strip := min(bits.TrailingZeros64(n), k)
	return dyadic{n: n >> strip, k: uint(k - strip)}, nil
}

// pow2 is 2^k.
func pow2(k uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), k) }

// exactRat is a finite float64 as the rational that it is.
func exactRat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
