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

// LimitText is a limit as records hold it: exact fractions.
type LimitText struct {
	Epsilon string `json:"limit_epsilon,omitempty"`
	Delta   string `json:"limit_delta,omitempty"`
	Rho     string `json:"limit_rho,omitempty"`
}

// exactly is a point as exact amounts; an amount that is not finite is nil.
func exactly(p privacy.Point) Limit { return rational.Exactly(p.Epsilon, p.Delta) }

func textOf(l Limit) LimitText {
	if l.Rho != nil {
		return LimitText{Rho: l.Rho.RatString()}
	}
	return LimitText{Epsilon: l.Epsilon.RatString(), Delta: l.Delta.RatString()}
}

// Decimals are the amounts of a limit in decimals.
func Decimals(l Limit) LimitText { return textOf(l).formatted() }

// Limit reads the limit.
func (t LimitText) Limit() (l Limit, err error) {
	if t.Rho != "" && t.Epsilon == "" && t.Delta == "" {
		l.Rho, err = parseRat(t.Rho)
		return l, err
	}
	return parseLimit(t.Epsilon, t.Delta)
}

// String writes it for people.
func (t LimitText) String() string {
	l, err := t.Limit()
	if err != nil {
		return "a limit that cannot be read"
	}
	return l.String()
}

// formatted is the limit in decimals.
func (t LimitText) formatted() LimitText {
	for _, x := range []*string{&t.Epsilon, &t.Delta, &t.Rho} {
		if amount, err := parseRat(*x); err == nil {
			*x = rational.Format(amount)
		}
	}
	return t
}

func zero() Limit { return rational.Zero() }

func parseLimit(eps, delta string) (l Limit, err error) {
	if l.Epsilon, err = parseRat(eps); err == nil {
		l.Delta, err = parseRat(delta)
	}
	return l, err
}

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

func ratTexts(c []*big.Rat) []string {
	out := make([]string, len(c))
	for i, x := range c {
		out[i] = x.RatString()
	}
	return out
}

func parseRat(text string) (*big.Rat, error) {
	// An exponent could ask for any amount of memory.
	if len(text) > 1<<14 || strings.ContainsAny(text, "eEpP") {
		return nil, fmt.Errorf("not an amount")
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("not an amount")
	}
	return r, nil
}

func parseRats(texts []string) (privacy.Cost, error) {
	out := make(privacy.Cost, len(texts))
	for i, s := range texts {
		var err error
		if out[i], err = parseRat(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

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
