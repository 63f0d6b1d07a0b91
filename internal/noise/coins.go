package noise

import (
	"errors"
	"math/big"
	"math/bits"
)

// Coins tosses 64 independent coins at a time.
//
// # Contract
//
// Each bit of Toss is 1 with probability num/den, exactly and independently.
// The cost, about 7 words of randomness, does not depend on the probability.
// Proof: coins.proof.md.
type Coins struct {
	head uint64 // the first 64 binary digits of num/den
	rem  uint64 // what of num/den follows them, over den
	den  uint64
	sure bool // num = den
}

// NewCoins prepares coins that show 1 with probability num/den in [0, 1].
func NewCoins(num, den uint64) (*Coins, error) {
	if den == 0 || num > den {
		return nil, errors.New("noise: coins need a probability in [0, 1]")
	}
	c := &Coins{den: den, sure: num == den}
	if !c.sure {
		c.head, c.rem = bits.Div64(num, 0, den)
	}
	return c, nil
}

// Toss returns 64 coins.
func (c *Coins) Toss(s *Source) uint64 {
	if c.sure {
		return ^uint64(0)
	}
	// Lane i holds a uniform U_i, drawn one binary digit at a time.
	// The first digit in which U_i and the probability differ decides; lanes
	// without one yet are open.
	hits, open := uint64(0), ^uint64(0)
	for d, i := c.head, 0; i < 64; d, i = d<<1, i+1 {
		w := s.Uint64()
		if d>>63 == 1 {
			hits |= open &^ w
			open &= w
		} else {
			open &^= w
		}
		if open == 0 {
			return hits
		}
		if d<<1 == 0 && c.rem == 0 {
			return hits // no digit of the probability is left: U_i ≥ it
		}
	}
	return hits | c.settle(s, open)
}

// settle decides lanes that agree with the probability in its first 64 digits.
func (c *Coins) settle(s *Source, open uint64) (hits uint64) {
	num, den := new(big.Int).SetUint64(c.rem), new(big.Int).SetUint64(c.den)
	for ; open != 0; open &= open - 1 {
		if s.below(s.Uint64(), num, den) {
			hits |= open & -open
		}
	}
	return hits
}
