package ledger

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// Limit is an exact (ε, δ), or an exact ρ; then Epsilon and Delta are nil (P28).
type Limit struct{ Epsilon, Delta, Rho *big.Rat }

// LimitText is a limit as records hold it: exact fractions.
type LimitText struct {
	Epsilon string `json:"limit_epsilon,omitempty"`
	Delta   string `json:"limit_delta,omitempty"`
	Rho     string `json:"limit_rho,omitempty"`
}

func (l Limit) String() string {
	if l.Rho != nil {
		return "ρ " + job.FormatAmount(l.Rho)
	}
	return "ε " + job.FormatAmount(l.Epsilon) + ", δ " + job.FormatAmount(l.Delta)
}

// AtMost reports that no part of l is above that of m. A ρ and an (ε, δ) do not compare.
func (l Limit) AtMost(m Limit) bool {
	if l.Rho != nil || m.Rho != nil {
		return l.Rho != nil && m.Rho != nil && l.Rho.Cmp(m.Rho) <= 0
	}
	return l.Epsilon.Cmp(m.Epsilon) <= 0 && l.Delta.Cmp(m.Delta) <= 0
}

// plus adds two exact (ε, δ).
func (l Limit) plus(m Limit) Limit {
	return Limit{Epsilon: new(big.Rat).Add(l.Epsilon, m.Epsilon), Delta: new(big.Rat).Add(l.Delta, m.Delta)}
}

// minus is an exact (ε, δ) without another one.
func (l Limit) minus(m Limit) Limit {
	return Limit{Epsilon: new(big.Rat).Sub(l.Epsilon, m.Epsilon), Delta: new(big.Rat).Sub(l.Delta, m.Delta)}
}

// exactly is a point as exact amounts; an amount that is not finite is nil.
func exactly(p privacy.Point) Limit {
	return Limit{Epsilon: new(big.Rat).SetFloat64(p.Epsilon), Delta: new(big.Rat).SetFloat64(p.Delta)}
}

// finite reports whether ε and δ are there and neither is below 0.
func (l Limit) finite() bool {
	return l.Epsilon != nil && l.Delta != nil && l.Epsilon.Sign() >= 0 && l.Delta.Sign() >= 0
}

// valid reports whether an account can have the limit.
func (l Limit) valid() bool {
	if l.Rho != nil {
		return l.Epsilon == nil && l.Delta == nil && l.Rho.Sign() >= 0
	}
	return l.finite() && l.Delta.Cmp(big.NewRat(1, 1)) <= 0
}

// texts are the exact amounts of an (ε, δ).
func (l Limit) texts() [2]string { return [2]string{l.Epsilon.RatString(), l.Delta.RatString()} }

func (l Limit) text() LimitText {
	if l.Rho != nil {
		return LimitText{Rho: l.Rho.RatString()}
	}
	return LimitText{Epsilon: l.Epsilon.RatString(), Delta: l.Delta.RatString()}
}

// Decimals are the amounts of the limit in decimals.
func (l Limit) Decimals() LimitText { return l.text().formatted() }

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
			*x = job.FormatAmount(amount)
		}
	}
	return t
}

func zero() Limit { return Limit{Epsilon: new(big.Rat), Delta: new(big.Rat)} }

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
	exact := job.FormatAmount(r)
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
	return job.FormatAmount(out)
}

// plainDecimals is how many decimals people read without an exponent.
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
