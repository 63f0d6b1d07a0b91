package iterate

import (
	"math"
	"math/big"
)

// margin is the relative amount by which a mu is moved outward.
const margin = 1e-13

// Mu is the Gaussian-differential-privacy parameter of the last iterate: no test tells neighbours apart better than N(0,1) from N(mu,1).
// It fails with a [*Refusal] where the theorem does not apply.
//
// # Contract
//
// Replace-one; convex smooth losses as described by the parameters; no clipping, no momentum, nothing but the last iterate leaves the
// process (P9). Proof: lastiterate.proof.md.
func Mu(p Params) (float64, error) {
	p, err := p.normal()
	if err != nil {
		return 0, err
	}
	var mu float64
	switch p.Kind {
	case FullStronglyConvex:
		mu = p.unit() * math.Sqrt(geometric(p.defect(), float64(p.Steps)))
	case FullConvex:
		mu, err = p.fullConvex()
	case OnePass:
		return p.worstPosition(), nil
	default:
		mu, err = p.cyclic()
	}
	if err != nil {
		return 0, err
	}
	return outward(mu), nil
}

// Composition is the mu of publishing every iterate: (L/b + rounding)/σ·√(number of steps that use one record), σ that of the step with
// the least noise. It needs no convexity, and the
// smaller of it and [Mu] is to be charged.
//
// # Contract
//
// Replace-one; gradient differences bounded by Sensitivity at every point visited. Proof: lastiterate.proof.md.
func Composition(p Params) (float64, error) {
	p, err := p.normal()
	if err != nil {
		return 0, err
	}
	uses := p.Epochs
	switch {
	case p.Kind.full():
		uses = p.Steps
	case p.Kind == OnePass:
		uses = 1
	}
	least := p.Sigma
	if p.batches() > 1 {
		least *= p.Early
	}
	return outward((p.unit() + p.Rounding/p.Sigma) * (p.Sigma / least) * math.Sqrt(float64(uses))), nil
}

// Best is the smaller of [Mu] and [Composition]; refused says why the first is not available, if it is not. It fails only when the
// parameters describe no run at all.
func Best(p Params) (mu float64, refused *Refusal, err error) {
	plain, err := Composition(p)
	if err != nil {
		return 0, nil, err
	}
	last, err := Mu(p)
	if err != nil {
		r, _ := err.(*Refusal)
		return plain, r, nil
	}
	return math.Min(last, plain), nil, nil
}

// unit is L/(bσ), the mu of one step.
func (p Params) unit() float64 { return p.Sensitivity / float64(p.Batch) / p.Sigma }

// geometric is (1−c^t)(1+c)/((1+c^t)(1−c)) with d = 1 − c in [0, 1]: tanh(t·s/2)/tanh(s/2), s = −log c, and t for c = 1.
func geometric(d, t float64) float64 {
	s := -math.Log1p(-d)
	switch {
	case math.IsInf(s, 1):
		return 1
	case s == 0:
		return t
	}
	return math.Tanh(t*s/2) / math.Tanh(s/2)
}

// fullConvex is (1/σ)·√[3LD/(ηn) + (L/n)²⌈Dn/(ηL)⌉], valid from t >= Dn/(ηL).
func (p Params) fullConvex() (float64, error) {
	step := p.Sensitivity / float64(p.N)
	reach := p.reach()
	if p.Steps < reach {
		return 0, refuse("Steps", "must be at least Diameter·N/(Eta·Sensitivity), rounded up %d (got %d)", reach, p.Steps)
	}
	return math.Sqrt(3*step*(p.Diameter/p.Eta)+step*step*float64(reach)) / p.Sigma, nil
}

// reach is ⌈D·b/(ηL)⌉ in exact arithmetic on the parameters as given, so that neither the validity of the theorem nor the rounding up
// hangs on the last bit of a quotient (P17). It saturates at the largest int64, which no run reaches.
func (p Params) reach() int64 {
	num := new(big.Rat).SetFloat64(p.Diameter)
	num.Mul(num, new(big.Rat).SetInt64(p.Batch))
	den := new(big.Rat).SetFloat64(p.Eta)
	den.Mul(den, new(big.Rat).SetFloat64(p.Sensitivity))
	num.Quo(num, den)
	up := new(big.Int).Add(num.Num(), num.Denom())
	up.Sub(up, big.NewInt(1)).Quo(up, num.Denom())
	if !up.IsInt64() {
		return math.MaxInt64
	}
	return up.Int64()
}

// outward rounds a mu up; a mu that is no number is no bound.
func outward(mu float64) float64 {
	if math.IsNaN(mu) {
		return math.Inf(1)
	}
	return mu * (1 + margin)
}
