package units

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// sumOf adds values up and reads the sum over n.
func sumOf(g grains, n uint64, x ...float64) float64 {
	words := make([]uint64, 2)
	for _, v := range x {
		g.add(words, v)
	}
	return g.value(words, n)
}

func TestSumsAreExact(t *testing.T) {
	bounds := []Fold{{Lower: 0, Upper: 1}, {Lower: -3, Upper: 2}, {Lower: 0, Upper: 1e-300}, {Lower: -1e300, Upper: math.MaxFloat64}, {}, {Lower: 5e-324, Upper: 5e-324}}
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range bounds {
		g := newGrains(f.Lower, f.Upper)
		unit := math.Ldexp(1, g.exp+grainBits)
		for range 1000 {
			n := 1 + r.IntN(6)
			x, sum := make([]float64, n), new(big.Rat)
			for i := range x {
				x[i] = (r.Float64() - 0.5) * math.Pow(2, float64(r.IntN(120)-80)) * unit
				sum.Add(sum, inGrains(x[i], g))
			}
			if r.IntN(3) == 0 { // a sum that almost vanishes
				x = append(x, -x[0])
				sum.Sub(sum, inGrains(x[0], g))
			}
			for _, by := range []uint64{1, uint64(len(x)), 3, 1<<63 + 5} {
				want, _ := new(big.Rat).Quo(sum, new(big.Rat).SetInt(new(big.Int).SetUint64(by))).Float64()
				if math.IsInf(want, 0) {
					want = math.Copysign(math.MaxFloat64, want)
				}
				got := sumOf(g, by, x...)
				if want == 0 {
					want = 0 // one zero
				}
				if math.Float64bits(got) != math.Float64bits(want) {
					t.Fatalf("bounds %g to %g: the sum of %v over %d is %g, not %g", f.Lower, f.Upper, x, by, got, want)
				}
			}
		}
	}
}

// inGrains rounds a value as sums do.
func inGrains(v float64, g grains) *big.Rat {
	grain := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 1100))
	grain.Mul(grain, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(1100+g.exp))))
	limit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), limitBits))
	if math.IsInf(v, 0) {
		return grain.Mul(grain, limit.Mul(limit, big.NewRat(int64(math.Copysign(1, v)), 1)))
	}
	x := new(big.Rat).Quo(new(big.Rat).SetFloat64(v), grain)
	if new(big.Rat).Abs(x).Cmp(limit) > 0 {
		return grain.Mul(grain, limit.Mul(limit, big.NewRat(int64(x.Sign()), 1)))
	}
	half := new(big.Rat).Add(x, big.NewRat(1, 2))
	n := new(big.Int).Div(half.Num(), half.Denom())
	if half.IsInt() && n.Bit(0) == 1 {
		n.Sub(n, big.NewInt(1))
	}
	return grain.Mul(grain, new(big.Rat).SetInt(n))
}

// What no float64 sum can do: large values cancel, infinities are as large as a value may be, and no order matters.
func TestSumsDoNotDependOnOrder(t *testing.T) {
	g := newGrains(-100, 100)
	large := math.Ldexp(1, 7+30)
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{1e30, 1, -1e30}, 1},
		{[]float64{math.Inf(1), 0.5, math.Inf(-1), math.Inf(-1)}, 0.5 - large},
		{[]float64{0.1, 0.2, 0.3}, 0.6},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, 2 * large},
		{[]float64{math.Copysign(0, -1)}, 0},
	} {
		for range 20 {
			if got := sumOf(g, 1, c.x...); math.Float64bits(got) != math.Float64bits(c.want) {
				t.Errorf("the sum of %v is %g, not %g", c.x, got, c.want)
			}
			rand.Shuffle(len(c.x), func(i, j int) { c.x[i], c.x[j] = c.x[j], c.x[i] })
		}
	}
}
