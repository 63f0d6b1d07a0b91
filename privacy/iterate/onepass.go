package iterate

import (
	"math"
	"slices"
)

func (p Params) byPosition() (Params, error) {
	if p.Kind.full() {
		return p, refuse("Kind", "all records are used in every step, so that no position is more private (got %s)", p.Kind)
	}
	return p.normal()
}

// worstPosition is the largest mu of one pass. It is that of the last batch or, where rounding is coarse, of the first: onepass.proof.md.
func (p Params) worstPosition() float64 {
	return math.Max(p.atAge(0), p.atAge(p.batches()-1))
}

// atAge is the mu of records that are used j steps before the end of every pass.
func (p Params) atAge(j int64) float64 {
	if p.Kind != OnePass {
		return p.cyclicAt(j)
	}
	kept, rounds, later := p.ages(j)
	mu := outward((kept*p.unit() + p.Rounding/p.Sigma*rounds) / math.Sqrt(1+p.Early*p.Early*later))
	return math.Max(mu, math.SmallestNonzeroFloat64)
}

// ages are c^j, Σ_{i<=j} c^i and Σ_{1<=i<=j} c^{2i}.
func (p Params) ages(j int64) (kept, rounds, later float64) {
	d, age := p.contraction(), float64(j)
	s := -math.Log1p(-d)
	switch {
	case j == 0:
		return 1, 1, 0
	case s == 0:
		return 1, age + 1, age
	case math.IsInf(s, 1):
		return 0, 1, 0
	}
	return math.Exp(-s * age), -math.Expm1(-s*(age+1)) / d, (1 - d) * (1 - d) * -math.Expm1(-2*s*age) / (d * (2 - d))
}

// Position is the privacy of the records of one batch of a pass: nobody tells them apart better than N(0, 1) from N(Mu, 1). Later steps
// add their noise on top, so records that are used early are more private. [Mu] is the largest over all positions. For one pass it is
//
//	μ_t = (c^j·(L/b) + R·Σ_{i<=j} c^i) / (σ·√[1 + x²·Σ_{1<=i<=j} c^{2i}]),    j = l − t, R the rounding, x the share of noise in early steps
//
// Without rounding, contraction and less noise this is 2αL²/(σ²(l + 1 − t)) of Feldman, Mironov, Talwar and Thakurta (2018), L twice their
// Lipschitz constant, stated for a whole profile. In a cycle it is the last use of a record that is spread over later steps.
type Position struct {
	// At is the position of the batch, from 1.
	At int64
	// Mu is the records' privacy.
	Mu float64
}

// Curve is the privacy of records by position, at no more than the given number of positions from the first to the last, denser
// towards the last, for the report to plot.
//
// # Contract
//
// Kind [OnePass] or a cyclic kind; replace-one, for records of one batch. Otherwise as for [Composition] and [Mu].
// Proof: onepass.proof.md, cyclic.proof.md.
func Curve(p Params, points int) ([]Position, error) {
	if points < 2 {
		return nil, refuse("points", "must be at least 2 (got %d)", points)
	}
	p, err := p.byPosition()
	if err != nil {
		return nil, err
	}
	l := p.batches()
	var out []Position
	for _, at := range spread(l, int64(points)) {
		out = append(out, Position{At: at, Mu: p.atAge(l - at)})
	}
	return out, nil
}

// spread chooses at most points of the positions 1..l, the first and the last among them: half of them evenly, and half ever denser
// towards the last, where privacy changes most.
func spread(l, points int64) []int64 {
	if l <= points {
		points = l
	}
	var all []int64
	even := max(2, (points+1)/2)
	for i := range even {
		all = append(all, 1+int64(math.Round(float64(i)/float64(even-1)*float64(l-1))))
	}
	dense := points - even
	for i := range dense {
		all = append(all, max(1, l-int64(math.Round(math.Pow(float64(l)/2, float64(i)/float64(max(1, dense)))))))
	}
	if points == l {
		all = all[:0]
		for at := range l {
			all = append(all, at+1)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
