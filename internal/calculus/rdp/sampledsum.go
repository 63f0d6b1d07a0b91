package rdp

import "math"

// tailFloor: a block of terms that is, in total, this many nats below what has been summed is charged by its bound.
const tailFloor = 36

// blockSum is log Σ_{j=lo}^{n} C(n,j)·e^{j·logRatio + g(j)}, or an upper bound of it that is larger by a relative 1e-12 where little is
// left to sum. Each envelope bounds g from above and is an upper bound on a function that is convex in j: on a block the chord of
// its values at the ends bounds it, the terms under a chord are log-concave, and so their largest and a bound on the block are
// known at once. Blocks whose bound matters are split, the others are charged in full by it.
type blockSum struct {
	n         float64
	logRatio  float64
	g         func(j float64) float64
	envelopes []func(j float64) float64
	lead      float64 // running log-sum, for deciding what matters
	work      int
	acc       []float64
}

// maxBlockWork bounds the number of evaluations of g. Blocks beyond it are charged their bounds.
const maxBlockWork = 3000

func (b *blockSum) log(lo float64) float64 {
	b.lead = math.Inf(-1)
	head := math.Min(b.n, lo+31)
	for j := lo; j <= head; j++ {
		b.add(b.term(j))
	}
	if head < b.n {
		b.block(head+1, b.n)
	}
	return logSumExp(b.acc) + b.rounding()
}

// rounding covers the last bits of the exponents, numbers of the size of n, which the usual margin does not for very large n.
func (b *blockSum) rounding() float64 {
	if b.n < 4096 {
		return 0
	}
	return 1e-15 * b.n * (1 + math.Abs(b.logRatio))
}

func (b *blockSum) term(j float64) float64 {
	b.work++
	return logChoose(b.n, j) + j*b.logRatio + b.g(j)
}

func (b *blockSum) add(x float64) {
	b.acc = append(b.acc, x)
	hi, lo := math.Max(b.lead, x), math.Min(b.lead, x)
	if math.IsInf(lo, -1) {
		b.lead = hi
		return
	}
	b.lead = hi + math.Log1p(math.Exp(lo-hi))
}

// block sums j in [lo, hi].
func (b *blockSum) block(lo, hi float64) {
	if hi-lo < 8 {
		for j := lo; j <= hi; j++ {
			b.add(b.term(j))
		}
		return
	}
	mid := math.Floor((lo + hi) / 2)
	b.halves(lo, mid, b.bound(lo, mid), mid+1, hi, b.bound(mid+1, hi))
}

// halves sums two neighbouring blocks, the heavier first: it raises the lead that the other is measured against.
func (b *blockSum) halves(lo1, hi1, bound1, lo2, hi2, bound2 float64) {
	if bound1 < bound2 {
		lo1, hi1, bound1, lo2, hi2, bound2 = lo2, hi2, bound2, lo1, hi1, bound1
	}
	b.part(lo1, hi1, bound1)
	b.part(lo2, hi2, bound2)
}

func (b *blockSum) part(lo, hi, bound float64) {
	if bound < b.lead-tailFloor || b.work > maxBlockWork {
		b.add(bound)
		return
	}
	b.block(lo, hi)
}

// bound is the least, over the envelopes, of two bounds on the block with g replaced by the envelope's chord: the number of terms
// times the largest, and the sum over all j.
func (b *blockSum) bound(lo, hi float64) float64 {
	least := math.Inf(1)
	for _, env := range b.envelopes {
		b.work += 2
		elo, ehi := env(lo), env(hi)
		if math.IsInf(ehi, 1) {
			continue
		}
		var slope float64
		if hi > lo {
			slope = (ehi - elo) / (hi - lo)
		}
		// The ratio of neighbouring terms falls in j and passes 1 at the mode.
		mode := math.Floor((b.n + 1) / (1 + math.Exp(-b.logRatio-slope)))
		at := math.Min(math.Max(mode, lo), hi)
		counted := logChoose(b.n, at) + at*b.logRatio + elo + slope*(at-lo) + math.Log(hi-lo+1)
		// Under the chord the sum over all j is (1 + e^{logRatio+slope})^n; that is better where the block holds the mode.
		whole := b.n*log1pExp(b.logRatio+slope) + elo - slope*lo
		least = math.Min(least, math.Min(counted, whole))
	}
	return least
}
