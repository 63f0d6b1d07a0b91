package privacy

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/calculus/rdp"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Cost is the cost of an event in the units of an account: (ε, δ) for a basic account, ρ for
// a zCDP account, one divergence for each order for a Rényi account. Costs are exact;
// those from floating point were rounded up.
type Cost []*big.Rat

// Filter is a privacy filter: an account that may be debited by jobs that are
// planned after earlier outputs were seen (P10). It holds for fully adaptive
// choices, unlike privacy-loss distributions. It is not safe for concurrent use.
type Filter interface {
	// Relation is the one that all debits are for.
	Relation() Relation
	// Cost returns the cost of e.
	Cost(e Event) (Cost, error)
	// Spend debits a cost, or refuses with an error that wraps ErrExhausted and
	// leaves the account as it was. Comparisons are exact, without tolerance.
	Spend(c Cost) error
	// Total is the amount that has been spent, Remaining the amount that is left, in the units of Cost.
	Total() Cost
	Remaining() Cost
}

// ErrExhausted is wrapped by the error of a debit that the limit does not allow.
var ErrExhausted = fmt.Errorf("privacy budget exhausted")

// account is the arithmetic that the filters share.
type account struct {
	rel    Relation
	units  []string
	spent  Cost
	limits Cost
	// any says that staying within one limit is enough.
	any bool
}

func newAccount(rel Relation, any bool, units []string, limits Cost) (account, error) {
	a := account{rel: rel, units: units, limits: limits, any: any}
	if !rel.Valid() {
		return a, wrong("relation", "must be add-remove or replace-one, there is no default")
	}
	for i, l := range limits {
		if l == nil || l.Sign() < 0 {
			return a, wrong("limit."+units[i], "must not be negative")
		}
		limits[i] = new(big.Rat).Set(l)
		a.spent = append(a.spent, new(big.Rat))
	}
	return a, nil
}

// Relation is the one that all debits are for.
func (a *account) Relation() Relation { return a.rel }

// Total returns what has been spent.
func (a *account) Total() Cost { return a.spent.copy() }

// Remaining returns what is left, never below 0.
func (a *account) Remaining() Cost {
	out := make(Cost, len(a.limits))
	for i := range out {
		if out[i] = new(big.Rat).Sub(a.limits[i], a.spent[i]); out[i].Sign() < 0 {
			out[i].SetInt64(0)
		}
	}
	return out
}

// UnmarshalJSON reads exact amounts as json.Marshal writes them: a list of fractions.
func (c *Cost) UnmarshalJSON(text []byte) error {
	var parts []string
	err := json.Unmarshal(text, &parts)
	*c = make(Cost, len(parts))
	for i, part := range parts {
		var wrong error
		if (*c)[i], wrong = rational.ParseFraction(part); wrong != nil {
			err = wrong
		}
	}
	return err
}

func (c Cost) copy() Cost {
	out := make(Cost, len(c))
	for i, x := range c {
		out[i] = new(big.Rat).Set(x)
	}
	return out
}

// Spend debits c or refuses.
func (a *account) Spend(c Cost) error {
	if len(c) != len(a.limits) {
		return wrong("cost", "has %d parts, the account has %d", len(c), len(a.limits))
	}
	next := a.spent.copy()
	within := 0
	for i, x := range c {
		if x == nil || x.Sign() < 0 {
			return wrong("cost."+a.units[i], "must not be negative")
		}
		if next[i].Add(next[i], x).Cmp(a.limits[i]) <= 0 {
			within++
			continue
		}
		if !a.any {
			left := new(big.Rat).Sub(a.limits[i], a.spent[i])
			return fmt.Errorf("%w: %s %s asked, %s left", ErrExhausted, a.units[i], x.FloatString(12), left.FloatString(12))
		}
	}
	if within == 0 {
		return fmt.Errorf("%w: no order is left within its limit", ErrExhausted)
	}
	a.spent = next
	return nil
}

// BasicFilter adds up (ε, δ) points (Rogers, Roth, Ullman and Vadhan 2016).
type BasicFilter struct{ account }

// NewBasicFilter opens a basic account with an exact limit.
//
// # Contract
//
// Proof: filter.proof.md.
func NewBasicFilter(rel Relation, epsilon, delta *big.Rat) (*BasicFilter, error) {
	a, err := newAccount(rel, false, []string{"epsilon", "delta"}, Cost{epsilon, delta})
	return &BasicFilter{a}, err
}

// Cost is the pure epsilon of e; an event that has none must be charged with
// [BasicFilter.CostAt].
func (f *BasicFilter) Cost(e Event) (Cost, error) { return f.CostAt(e, 0) }

// CostAt is the point (ε, delta) of e, by the best method.
func (f *BasicFilter) CostAt(e Event, delta float64) (Cost, error) {
	a, err := EpsilonWith(e, f.rel, delta, Options{Quick: true})
	if err != nil {
		return nil, err
	}
	return Cost{new(big.Rat).SetFloat64(a.Epsilon), new(big.Rat).SetFloat64(delta)}, nil
}

// ZCDPFilter adds up ρ of zero-concentrated differential privacy (Whitehouse,
// Ramdas, Rogers and Wu 2023).
type ZCDPFilter struct{ account }

// NewZCDPFilter opens a zCDP account with an exact limit.
//
// # Contract
//
// Proof: filter.proof.md.
func NewZCDPFilter(rel Relation, rho *big.Rat) (*ZCDPFilter, error) {
	a, err := newAccount(rel, false, []string{"rho"}, Cost{rho})
	return &ZCDPFilter{a}, err
}

// RhoFor is the largest ρ, rounded down, with which a zCDP account keeps within
// target.
func RhoFor(target Point) (*big.Rat, error) {
	if !(target.Epsilon > 0 && target.Delta > 0 && target.Delta < 1) || math.IsInf(target.Epsilon, 1) {
		return nil, wrong("target", "epsilon must be positive and finite, delta must lie in (0, 1) (%g, %g)", target.Epsilon, target.Delta)
	}
	rho := invertDown(target.Epsilon, func(r float64) float64 {
		eps, _ := rdp.Epsilon(rdp.ZCDP(r), target.Delta)
		return eps
	})
	if rho == 0 {
		return nil, wrong("target", "no rho keeps within epsilon %g at delta %g", target.Epsilon, target.Delta)
	}
	return new(big.Rat).SetFloat64(rho), nil
}

// Cost is Σ ρ of e's parts.
func (f *ZCDPFilter) Cost(e Event) (Cost, error) {
	if err := Validate(e); err != nil {
		return nil, err
	}
	rho, u := rho(grouped(e, f.rel), f.rel, "")
	if u != nil {
		u.Method = "zcdp"
		return nil, u
	}
	return Cost{rho}, nil
}

// RDPFilter adds up Rényi divergences at orders fixed when the account was opened
// (Feldman and Zrnic 2021, Lécuyer 2021).
type RDPFilter struct {
	account
	orders []float64
}

// NewRDPFilter opens a Rényi account that keeps within limit. Each order has an equal share
// of delta, so that the guarantee holds whichever order the outputs leave as the last one.
//
// # Contract
//
// The orders are public and never change. Proof: filter.proof.md.
func NewRDPFilter(rel Relation, limit Point, orders []float64) (*RDPFilter, error) {
	if !(limit.Epsilon > 0 && limit.Delta > 0 && limit.Delta < 1) || math.IsInf(limit.Epsilon, 1) {
		return nil, wrong("limit", "epsilon must be positive and finite, delta must lie in (0, 1) (%g, %g)", limit.Epsilon, limit.Delta)
	}
	share := limit.Delta / float64(len(orders)) * (1 - 4e-16)
	var used []float64
	var units []string
	var limits Cost
	for _, alpha := range orders {
		if !(alpha > 1) || math.IsInf(alpha, 1) {
			return nil, wrong("orders", "must be finite and above 1 (%g)", alpha)
		}
		r := invertDown(limit.Epsilon, func(r float64) float64 {
			eps, _ := rdp.EpsilonAt(func(float64) float64 { return r }, share, []float64{alpha})
			return eps
		})
		if r > 0 {
			used = append(used, alpha)
			units = append(units, fmt.Sprintf("divergence of order %g", alpha))
			limits = append(limits, new(big.Rat).SetFloat64(r))
		}
	}
	if len(used) == 0 {
		return nil, wrong("orders", "none of them can keep within epsilon %g at delta %g", limit.Epsilon, limit.Delta)
	}
	a, err := newAccount(rel, true, units, limits)
	return &RDPFilter{a, used}, err
}

// Orders are those that can keep within the limit, in the order of the costs.
func (f *RDPFilter) Orders() []float64 { return append([]float64(nil), f.orders...) }

// Cost is the curve of e at the account's orders.
func (f *RDPFilter) Cost(e Event) (Cost, error) {
	if err := Validate(e); err != nil {
		return nil, err
	}
	b, u := renyi(grouped(e, f.rel), f.rel, "")
	if u == nil && b.lost > 0 {
		u = refuse("", "an (epsilon, delta) point has no Rényi cost")
	}
	if u != nil {
		u.Method = "rdp"
		return nil, u
	}
	c := make(Cost, len(f.orders))
	for i, alpha := range f.orders {
		x := b.curve(alpha)
		if math.IsInf(x, 1) {
			// More than any limit, and still a number.
			x = math.MaxFloat64
		}
		c[i] = new(big.Rat).SetFloat64(x)
	}
	return c, nil
}

// invertDown is the largest x found with f(x) <= target, f non-decreasing.
func invertDown(target float64, f func(float64) float64) float64 {
	lo, hi := 0.0, 1.0
	for f(hi) <= target && hi < 1e300 {
		lo, hi = hi, hi*16
	}
	for lo == 0 && hi > 1e-300 {
		if mid := hi / 1024; f(mid) <= target {
			lo = mid
		} else {
			hi = mid
		}
	}
	for range 64 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi || hi-lo < 1e-15*hi {
			break
		}
		if f(mid) <= target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
