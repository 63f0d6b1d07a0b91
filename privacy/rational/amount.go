package rational

import (
	"encoding/json"
	"math/big"
)

// Amount is an exact (ε, δ), or an exact ρ: what somebody asks for, may spend, or spent. Beside
// a Rho, Epsilon and Delta are nil; or they are the point that ρ stands for, where one is known.
// What an accountant computes are float64 (privacy.Point), rounded away from zero. As JSON its numbers are fractions in
// lowest terms.
type Amount struct {
	Epsilon *big.Rat `json:"epsilon,omitempty"`
	Delta   *big.Rat `json:"delta,omitempty"`
	Rho     *big.Rat `json:"rho,omitempty"`
}

// UnmarshalJSON reads an (ε, δ), or a ρ alone, as json.Marshal writes it.
func (a *Amount) UnmarshalJSON(text []byte) error {
	var parts map[string]string
	err := json.Unmarshal(text, &parts)
	*a = Amount{}
	for name, part := range parts {
		to, known := map[string]**big.Rat{"epsilon": &a.Epsilon, "delta": &a.Delta, "rho": &a.Rho}[name]
		if !known {
			return errFraction
		}
		var wrong error
		if *to, wrong = ParseFraction(part); wrong != nil {
			err = wrong
		}
	}
	if (a.Epsilon == nil) != (a.Delta == nil) || (a.Epsilon == nil) == (a.Rho == nil) {
		err = errFraction
	}
	return err
}

// Zero is ε 0, δ 0.
func Zero() Amount { return Amount{Epsilon: new(big.Rat), Delta: new(big.Rat)} }

// Exactly returns what an accountant computed as an exact amount; a number that is not
// finite becomes nil.
func Exactly(epsilon, delta float64) Amount {
	return Amount{Epsilon: new(big.Rat).SetFloat64(epsilon), Delta: new(big.Rat).SetFloat64(delta)}
}

// AtMost reports that no part of a is above that of b. A ρ and an (ε, δ) do not compare.
func (a Amount) AtMost(b Amount) bool {
	if a.Rho != nil || b.Rho != nil {
		return a.Rho != nil && b.Rho != nil && a.Rho.Cmp(b.Rho) <= 0
	}
	return a.Epsilon != nil && a.Delta != nil && a.Epsilon.Cmp(b.Epsilon) <= 0 && a.Delta.Cmp(b.Delta) <= 0
}

// Plus adds two exact (ε, δ).
func (a Amount) Plus(b Amount) Amount {
	return Amount{Epsilon: new(big.Rat).Add(a.Epsilon, b.Epsilon), Delta: new(big.Rat).Add(a.Delta, b.Delta)}
}

// Minus is an exact (ε, δ) without another one.
func (a Amount) Minus(b Amount) Amount {
	return Amount{Epsilon: new(big.Rat).Sub(a.Epsilon, b.Epsilon), Delta: new(big.Rat).Sub(a.Delta, b.Delta)}
}

// Finite reports whether ε and δ are there and neither is below 0.
func (a Amount) Finite() bool {
	return a.Epsilon != nil && a.Delta != nil && a.Epsilon.Sign() >= 0 && a.Delta.Sign() >= 0
}

// MayLimit reports whether an account can have the amount as its limit.
func (a Amount) MayLimit() bool {
	if a.Rho != nil {
		return a.Epsilon == nil && a.Delta == nil && a.Rho.Sign() >= 0
	}
	return a.Finite() && a.Delta.Cmp(big.NewRat(1, 1)) <= 0
}

// Limit is the amount alone: ρ without the point that it stands for.
func (a Amount) Limit() Amount {
	if a.Rho != nil {
		return Amount{Rho: a.Rho}
	}
	return a
}

// String writes what is there of an amount, in decimals.
func (a Amount) String() string {
	switch {
	case a.Rho != nil:
		return "ρ " + Format(a.Rho)
	case a.Epsilon == nil:
		return ""
	case a.Delta == nil:
		return "ε " + Format(a.Epsilon)
	}
	return "ε " + Format(a.Epsilon) + ", δ " + Format(a.Delta)
}
