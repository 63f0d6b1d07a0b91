package iterate

import "math"

// OnePass describes one pass of noisy projected stochastic gradient descent over N records, one record a step, in an order fixed in
// advance, of which only the last iterate is released (Feldman, Mironov, Talwar and Thakurta 2018).
type OnePass struct {
	// Lipschitz is the Lipschitz constant of each loss (not the gradient sensitivity, which is up to twice that).
	Lipschitz float64
	// Sigma is the standard deviation, in each coordinate, of the noise added to the gradient of a step.
	Sigma float64
	// N is the number of records, public.
	N int64
	// Eta is the step size, at most 2/Smoothness.
	Eta, Smoothness float64
	_               struct{}
}

// Rho is the privacy of the record at position t in 1..N: its Rényi divergence of every order α is at most Rho·α, that is
// 2αL²/(σ²(N+1−t)). Records seen early are the more private; the last one has what a single step gives.
//
// # Contract
//
// Replace-one, for the record at that position; convex smooth losses, projection on a public convex set, no clipping, one pass, only the
// last iterate released. Proof: onepass.proof.md.
func (p OnePass) Rho(t int64) (float64, error) {
	for _, x := range []struct {
		field string
		value float64
	}{{"Lipschitz", p.Lipschitz}, {"Sigma", p.Sigma}, {"Eta", p.Eta}, {"Smoothness", p.Smoothness}} {
		if err := positive(x.field, x.value); err != nil {
			return 0, err
		}
	}
	switch {
	case p.N < 1:
		return 0, refuse("N", "must be at least 1 (got %d)", p.N)
	case p.Eta*p.Smoothness > 2:
		return 0, refuse("Eta", "must be at most 2/Smoothness = %g for a step not to expand distances (got %g)", 2/p.Smoothness, p.Eta)
	case t < 1 || t > p.N:
		return 0, refuse("position", "must be between 1 and N = %d (got %d)", p.N, t)
	}
	r := p.Lipschitz / p.Sigma
	return outward(2 * r * r / float64(p.N-t+1)), nil
}

// Position is one point of the curve of privacy by position in the pass.
type Position struct {
	// At is the position of the record, from 1.
	At int64
	// Rho bounds the record's Rényi divergence of order α by Rho·α.
	Rho float64
	// Epsilon is what that means at the delta asked for.
	Epsilon float64
}

// Curve is the privacy of records by position, at no more than the given number of positions spread evenly from the first to the last,
// for the report to plot.
//
// # Contract
//
// As for [OnePass.Rho]; 0 < delta < 1. Proof: onepass.proof.md.
func (p OnePass) Curve(delta float64, points int) ([]Position, error) {
	if !(delta > 0 && delta < 1) {
		return nil, refuse("delta", "must be between 0 and 1 (got %g)", delta)
	}
	if points < 2 {
		return nil, refuse("points", "must be at least 2 (got %d)", points)
	}
	if int64(points) > p.N {
		points = int(max(p.N, 1))
	}
	out := make([]Position, 0, points)
	for i := 0; i < points; i++ {
		at := int64(1)
		if points > 1 {
			at += int64(math.Round(float64(i) / float64(points-1) * float64(p.N-1)))
		}
		rho, err := p.Rho(at)
		if err != nil {
			return nil, err
		}
		out = append(out, Position{At: at, Rho: rho, Epsilon: concentrated(rho, delta)})
	}
	return out, nil
}

// concentrated converts ρ-zCDP by the improved conversion, minimised over the order around its known neighbourhood: any order is sound.
func concentrated(rho, delta float64) float64 {
	at := func(x float64) float64 { // x = log(α−1)
		a := math.Exp(x)
		alpha := 1 + a
		return rho*alpha - math.Log(alpha/a) - (math.Log(delta)+math.Log(alpha))/a
	}
	centre := 0.5 * math.Log(-math.Log(delta)/rho)
	lo, hi := centre-3, centre+3
	const r = 0.6180339887498949
	for i := 0; i < 60; i++ {
		if x1, x2 := hi-r*(hi-lo), lo+r*(hi-lo); at(x1) <= at(x2) {
			hi = x2
		} else {
			lo = x1
		}
	}
	eps := at((lo + hi) / 2)
	if !(eps > 0) {
		return 0
	}
	return eps * (1 + 1e-12)
}
