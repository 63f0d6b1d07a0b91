package ledger

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Limit is the exact amount that an account may spend. A ρ stands alone (P28).
type Limit = rational.Amount

// exactly is a point as exact amounts; an amount that is not finite is nil.
func exactly(p privacy.Point) Limit { return rational.Exactly(p.Epsilon, p.Delta) }

func zero() Limit { return rational.Zero() }

// Up prints an amount with six significant digits, rounded up. It is for what is spent.
func Up(r *big.Rat) string { return rounded(r, big.ToPositiveInf) }

// Down prints an amount with six significant digits, rounded down. It is for limits and for
// what is left.
func Down(r *big.Rat) string { return rounded(r, big.ToZero) }

func rounded(r *big.Rat, mode big.RoundingMode) string {
	exact := rational.Format(r)
	if len(exact) <= 8 {
		return exact
	}
	// Six decimal digits: scale to an integer, round, scale back.
	if r.Sign() == 0 {
		return "0"
	}
	f, _ := new(big.Float).SetPrec(200).SetRat(r).Float64()
	exp := 0
	fmt.Sscanf(fmt.Sprintf("%.0e", f)[strings.Index(fmt.Sprintf("%.0e", f), "e")+1:], "%d", &exp)
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp-5, 5-exp))), nil))
	if exp-5 > 0 {
		scale.Inv(scale)
	}
	x := new(big.Rat).Mul(r, scale)
	q, rem := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if mode == big.ToPositiveInf && rem.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	out := new(big.Rat).Quo(new(big.Rat).SetInt(q), scale)
	if n, exact := out.FloatPrec(); exact && n > 0 && n <= plainDecimals {
		return out.FloatString(n)
	}
	return rational.Format(out)
}

// plainDecimals is the number of decimals that people read without an exponent.
const plainDecimals = 9

// pointText writes a charged guarantee for people.
func pointText(p privacy.Point) string {
	return "ε " + Up(new(big.Rat).SetFloat64(p.Epsilon)) + ", δ " + Up(new(big.Rat).SetFloat64(p.Delta))
}

// costText writes amounts of units for people, rounded up.
func costText(units []string, c privacy.Cost) string {
	var out []string
	for i, x := range c {
		out = append(out, symbol(units[i])+" "+Up(x))
	}
	return strings.Join(out, ", ")
}
