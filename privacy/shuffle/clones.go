package shuffle

import "math"

// clones is the pair of "Hiding among the clones": C ~ Bin(n−1, clone) users send a fair coin, the victim sends a coin with
// log-odds eps0, only the two counts are seen. The hockey-stick divergence given C = m − 1 is κ·E[((2X − m)/m − ρ)_+], X ~ Bin(m, ½), with
// ρ = tanh(ε/2)/tanh(ε0/2) and κ = tanh(ε0/2)·(1 + e^ε) (clones.proof.md).
type clones struct {
	eps0   float64
	blocks []block
	rest   float64 // probability outside the window, charged in full
}

// block lumps neighbouring values of m. One more clone is a post-processing of the output, so the divergence falls in m: its value
// at first bounds the block from above, at last from below.
type block struct{ first, last, weight float64 }

// newClones prepares the window for deltas of about the given size: at most 1e-7 of that lies outside. slack is the relative width of
// a block.
func newClones(n int64, clone, notClone, eps0, delta, slack float64) *clones {
	c := &clones{eps0: eps0}
	c.blocks, c.rest = lump(binomial{n: float64(n - 1), p: clone, q: notClone}, delta, slack, math.Inf(1))
	return c
}

// lump cuts the window of a binomial count into at most about limit blocks of m = count + 1.
func lump(count binomial, delta, slack, limit float64) ([]block, float64) {
	w := count.cover(delta * 1e-7)
	least := int(float64(len(w.weights)) / limit)
	var out []block
	for i := 0; i < len(w.weights); {
		m := w.lo + float64(i) + 1
		// A relative change of m changes eps by about half as much, whatever delta is.
		step := max(1+int(m*slack), least)
		b := block{first: m}
		for j := 0; j < step && i < len(w.weights); j++ {
			b.weight += w.weights[i]
			b.last = w.lo + float64(i) + 1
			i++
		}
		out = append(out, b)
	}
	return out, w.outside
}

// delta brackets the divergence at eps.
func (c *clones) delta(eps float64) Interval {
	if eps >= c.eps0 {
		return Interval{}
	}
	f := newTilt(c.eps0, eps)
	var out Interval
	for _, b := range c.blocks {
		high := f.given(b.first)
		low := high
		if b.last != b.first {
			low = f.given(b.last)
		}
		out.Upper += b.weight * high
		out.Lower += b.weight * low
	}
	out.Upper = math.Min(out.Upper*(1+margin)+c.rest, localDelta(c.eps0, eps))
	out.Lower = math.Min(out.Lower*(1-margin), out.Upper)
	return out
}

// tilt holds the numbers that depend on eps only.
type tilt struct {
	rho, kappa float64
	gap        float64 // κ·(1 − ρ), without cancellation
}

func newTilt(eps0, eps float64) tilt {
	t0 := math.Tanh(eps0 / 2)
	return tilt{
		rho:   math.Tanh(eps/2) / t0,
		kappa: t0 * (1 + math.Exp(eps)),
		gap:   -2 * math.Expm1(eps-eps0) / (1 + math.Exp(-eps0)),
	}
}

// given is the divergence when m coins are seen: a sum of non-negative terms from the threshold to all heads.
func (f tilt) given(m float64) float64 {
	if f.gap <= 0 {
		return 0
	}
	// With j tails the term is gap − κ·2j/m = κ·((m−2j)/m − ρ); the second form is the better one when ρ is small. ρ itself rounds to 1
	// long before the gap is negligible, and κ may be +Inf, which leaves j = 0.
	small := f.rho <= 0.5
	j := math.Max(0, math.Ceil(m*f.gap/f.kappa/2)-1)
	if small {
		j = math.Max(0, math.Ceil(m*(1-f.rho)/2)-1)
	}
	pmf := math.Exp(binomial{n: m, p: 0.5, q: 0.5}.logPMF(j))
	var sum float64
	for ; pmf > 0; j-- {
		v := f.gap
		switch {
		case j > 0 && small:
			v = f.kappa * ((m-2*j)/m - f.rho)
		case j > 0:
			v = f.gap - f.kappa*(2*j/m)
		}
		if v > 0 {
			term := pmf * v
			sum += term
			// The terms that remain fall at least geometrically; together they are far below the margin.
			if j == 0 || term < sum*1e-14 {
				break
			}
		}
		if j == 0 {
			break
		}
		pmf *= j / (m - j + 1)
	}
	return sum
}
