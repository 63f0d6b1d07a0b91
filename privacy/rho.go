package privacy

import (
	"math"
	"math/big"
)

// rho returns what e costs in zero-concentrated differential privacy: the sum over its
// parts, exactly, of parameters that were rounded up.
//
// # Contract
//
// Proof: rho.proof.md.
func rho(e Event, rel Relation, at string) (*big.Rat, *Unsupported) {
	total := new(big.Rat)
	for _, t := range terms(e, at) {
		one, u := rhoOf(t, rel)
		if u != nil {
			return nil, u
		}
		total.Add(total, one.Mul(one, new(big.Rat).SetInt64(t.runs)))
	}
	return total, nil
}

// rhoOf is the ρ of one run of a term.
func rhoOf(t term, rel Relation) (*big.Rat, *Unsupported) {
	half := func(mu float64) *big.Rat {
		r := new(big.Rat).SetFloat64(mu)
		return r.Mul(r, r).Mul(r, big.NewRat(1, 2))
	}
	if mu := lattice(t.event, rel); mu > 0 {
		return half(mu), nil
	}
	if u := unknownShift(t.event, rel, t.path()); u != nil {
		return nil, u
	}
	if e, ok := t.event.(concentrated); ok {
		return e.rho(rel, t.path())
	}
	switch e := t.event.(type) {
	case ZCDP:
		return new(big.Rat).SetFloat64(e.Rho), nil
	case LastIterate:
		mu, u := iterateShift(e, rel, t.path())
		if u != nil {
			return nil, u
		}
		return half(mu), nil
	case DiscreteLaplace:
		return new(big.Rat).SetFloat64(rhoLaplace(ratioUp(e.Sensitivity.Under(rel), e.Scale), ratioUp(1, e.Scale))), nil
	case Laplace:
		return new(big.Rat).SetFloat64(rhoLaplace(ratioUp(e.Sensitivity.Under(rel), e.Scale), 0)), nil
	case Sampling:
		return rhoDraw(e, rel, t)
	}
	p, u := basicTerm(t.event, rel, t.at, 1)
	if u == nil && math.IsInf(p.pure, 1) {
		u = refuse(t.path(), "is neither zero-concentrated nor pure")
	}
	if u != nil {
		return nil, u
	}
	return new(big.Rat).SetFloat64(rhoPure(p.pure)), nil
}

// rhoDraw is the cost of a draw (P28). ρ is not amplified: the events on the sample cost
// what they cost there, and n² times that where a unit may be drawn n times. The cost of
// the amplified pure epsilon counts where it is smaller.
func rhoDraw(s Sampling, rel Relation, t term) (*big.Rat, *Unsupported) {
	here := t.path()
	if u := drawable(s, rel, here); u != nil {
		return nil, u
	}
	under, once := onSample(s, rel)
	e, _ := unshuffled(s.Inner())
	if !once {
		under = ReplaceOne
	}
	best, u := rho(e, under, here+".event")
	if w, ok := s.(WithReplacement); ok && u == nil {
		n := new(big.Rat).SetInt64(w.Take)
		best.Mul(best, n).Mul(best, n)
	}
	if p, none := basicDraw(s, rel, here); none == nil && !math.IsInf(p.pure, 1) {
		if r := new(big.Rat).SetFloat64(rhoPure(p.pure)); u != nil || r.Cmp(best) < 0 {
			best, u = r, nil
		}
	}
	return best, u
}

// rhoPure is ε·tanh(ε/2), rounded up: what any ε-differentially private mechanism costs.
func rhoPure(eps float64) float64 { return above(eps*math.Tanh(eps/2), 2e-15) }

// rhoLaplace is ε − (s/sinh s)(1 − e^−ε), rounded up: what discrete Laplace noise of
// scale 1/s costs, ε the sensitivity times s. At s = 0 the noise is continuous.
func rhoLaplace(eps, s float64) float64 {
	// ε − 1 + e^−ε and 1 − s/sinh s, by series where they cancel.
	rest, part := eps+math.Expm1(-eps), 1.0
	if eps < 0.1 {
		rest = alternating(eps)
	}
	switch {
	case s < 0.1: // the series 1 − s/sinh s = s²/6 − 7s⁴/360 + … lies below its first term
		part = s * s / 6
	case s < 700:
		part = 1 - s/math.Sinh(s)
	}
	return math.Min(above(rest-part*math.Expm1(-eps), 1e-13), rhoPure(eps))
}

// alternating is e^−x − 1 + x for x below 0.1.
func alternating(x float64) float64 {
	term, sum := x*x/2, 0.0
	for k := 3.0; k < 16; k++ {
		sum += term
		term *= -x / k
	}
	return sum
}
