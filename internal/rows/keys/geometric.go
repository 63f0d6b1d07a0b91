package keys

import (
	"errors"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Geometric is the truncated geometric rule: a key of n units is kept with probability π(n), where π(0) = 0 and
// π(n) = min(e^ε·π(n−1) + δ, 1 − e^{−ε}(1 − π(n−1) − δ), 1).
//
// # Contract
//
// Each unit is counted for at most k keys. For every n, the coins of n and n + 1 units are (ε, δ)-indistinguishable in both
// directions, exactly: π is rounded down at each step to a multiple of 2^-63. Proof: geometric.proof.md.
type Geometric struct {
	event privacy.KeySelection
	keys  int64
	keep  []uint64 // π(n)·2^63; from its end on, keys are always kept
}

// one is the probability 1.
const one = 1 << 63

// maxSteps is the most units that a key may need to be kept for certain.
const maxSteps = 1 << 20

// NewGeometric prepares the rule for units with up to the given number of keys, with a guarantee of (epsilon, delta) for each key.
func NewGeometric(epsilon, delta float64, keys int64) (*Geometric, error) {
	if !(epsilon > 0) || math.IsInf(epsilon, 1) || !(delta >= 0x1p-50 && delta < 1) || keys < 1 {
		return nil, errors.New("keys: the rule needs a positive ε, a δ of at least 1e-15, and a number of keys")
	}
	g := &Geometric{event: privacy.KeySelection{Eps: epsilon, Delta: delta}, keys: keys}
	// math.Exp is right to a few units in its last place; these are bounds with room to spare.
	up := fraction(math.Min(math.Exp(epsilon)*(1-0x1p-40), 0x1p64))
	down := fraction(math.Min(1, math.Exp(-epsilon)*(1+0x1p-40)+0x1p-1000))
	room := new(big.Int).SetUint64(one)
	d := scaled(fraction(delta), room, false)
	for p := new(big.Int); p.Cmp(room) < 0; {
		g.keep = append(g.keep, p.Uint64())
		if len(g.keep) > maxSteps {
			return nil, errors.New("keys: ε is so small that no key would be kept for certain below a million units")
		}
		rise := scaled(up, p, false)
		rise.Add(rise, d)
		rest := new(big.Int).Sub(room, p)
		rest.Sub(rest, d)
		if rest.Sign() < 0 {
			rest.SetInt64(0)
		}
		fall := new(big.Int).Sub(room, scaled(down, rest, true))
		if next := smaller(smaller(rise, fall), room); next.Cmp(p) > 0 {
			p = next
		}
	}
	return g, nil
}

// fraction is a float64 as the rational number that it is.
func fraction(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// scaled is r·x, rounded down or up to a whole number.
func scaled(r *big.Rat, x *big.Int, up bool) *big.Int {
	out, rest := new(big.Int).QuoRem(new(big.Int).Mul(r.Num(), x), r.Denom(), new(big.Int))
	if up && rest.Sign() > 0 {
		out.Add(out, big.NewInt(1))
	}
	return out
}

func smaller(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// Keys is the most keys of a unit.
func (g *Geometric) Keys() int64 { return g.keys }

// Event is one run of the event for each key that a unit may have.
func (g *Geometric) Event() privacy.Event {
	if g.keys == 1 {
		return g.event
	}
	return privacy.Repeat{N: g.keys, Event: g.event}
}

// Keep tosses the coin of each key.
func (g *Geometric) Keep(src *noise.Source, units []int64, kept []bool) error {
	for i, n := range units {
		kept[i] = src.Uint64()>>1 < g.probability(n)
	}
	clear(units)
	return src.Err()
}

// probability is π(units)·2^63.
func (g *Geometric) probability(units int64) uint64 {
	switch {
	case units <= 0:
		return 0
	case units >= int64(len(g.keep)):
		return one
	}
	return g.keep[units]
}

// Counts is false: the rule publishes keys alone.
func (g *Geometric) Counts() bool { return false }

// Chance is π.
func (g *Geometric) Chance(units int64) float64 { return float64(g.probability(units)) / one }

// Deviation is 0.
func (g *Geometric) Deviation() float64 { return 0 }
