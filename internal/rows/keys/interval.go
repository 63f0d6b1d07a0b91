package keys

import (
	"math"
	"sync"
)

// Interval holds the number of units of a key that is shown with a noisy number, given that it exceeds above, with at least the
// probability level. Above is the threshold, or what the numbers of other keys raised it to (Selection.Above). It holds noisy itself.
//
// # Contract
//
// For every number of units n ≥ 1, and noise that is conditioned to exceed above − n, the interval holds n with at least the
// probability level, up to rounding. Proof: interval.proof.md. // P41
func (r *Threshold) Interval(noisy, above int64, level float64) (low, high int64) {
	miss := math.Log((1-level)/2) - 1e-6
	// Both grow, or fall, with the number of units.
	low = 1 + least0(noisy-1, func(i int64) bool { return r.tails.log(noisy-1-i)-r.tails.log(above-i) > miss })
	step := int64(1)
	holds := func(n int64) bool { // that so low a number is not too unlikely
		return logLess(r.tails.log(noisy+1-n)-r.tails.log(above+1-n)) > miss
	}
	for high = noisy; holds(high + step); step *= 2 {
		high += step
	}
	return low, high + least0(step, func(i int64) bool { return !holds(high + 1 + i) })
}

// least0 is the smallest number from 0 on that is enough, at most most, enough being true from there on.
func least0(most int64, enough func(i int64) bool) int64 {
	lo, hi := int64(-1), most
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// logLess is log(1 − e^x) for x ≤ 0.
func logLess(x float64) float64 {
	if x > -math.Ln2 {
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}

// Half is half of an interval that holds the noise, without any condition, with at least the probability level.
func (r *Threshold) Half(level float64) int64 {
	miss := math.Log((1 - level) / 2)
	high := int64(1)
	for r.tails.log(high) > miss {
		high *= 2
	}
	return least0(high, func(m int64) bool { return r.tails.log(m+1) <= miss })
}

// tails are the logarithms of the probabilities that noise is at least a whole number. They say nothing of privacy, and are right to about
// six digits.
type tails struct {
	law   noiseLaw
	scale float64
	reach int64 // of truncated noise

	once  sync.Once
	table []float64 // of Gaussian noise of up to fineSigma: the logarithms from 0 to farSigmas standard deviations
}

const (
	fineSigma = 1 << 12
	farSigmas = 30
)

// log is the logarithm of the probability that the noise is m or more.
func (t *tails) log(m int64) float64 {
	switch {
	case m <= 0: // the noise is symmetric
		return logLess(t.log(1 - m))
	case t.law == gaussian:
		return t.gaussian(m)
	case t.law == laplace:
		return -float64(m)/t.scale - math.Log1p(math.Exp(-1/t.scale))
	case m > t.reach:
		return math.Inf(-1)
	}
	return -float64(m)/t.scale + math.Log(-math.Expm1(-float64(t.reach-m+1)/t.scale)/weightTruncated(t.scale, t.reach))
}

// gaussian is log for m > 0.
func (t *tails) gaussian(m int64) float64 {
	t.once.Do(func() {
		if t.scale > fineSigma {
			return
		}
		weight := func(x float64) float64 { return math.Exp(-x * x / (2 * t.scale * t.scale)) }
		t.table = make([]float64, int64(farSigmas*t.scale)+2)
		sum := 0.0
		for x := len(t.table) - 1; x >= 1; x-- {
			sum += weight(float64(x))
			t.table[x] = sum
		}
		all := math.Log(1 + 2*sum)
		for x, s := range t.table {
			t.table[x] = math.Log(s) - all
		}
	})
	x := float64(m)
	switch {
	case m+1 < int64(len(t.table)):
		return t.table[m]
	case x < farSigmas*t.scale:
		return math.Log(math.Erfc((x-0.5)/t.scale/math.Sqrt2) / 2)
	}
	// Far out: the first weight, and what all others are to it.
	sum := 0.0
	for j := 0.0; ; j++ {
		w := math.Exp(-(2*x*j + j*j) / (2 * t.scale * t.scale))
		if sum += w; w < 1e-12 {
			break
		}
	}
	return -x*x/(2*t.scale*t.scale) + math.Log(sum) - math.Log(t.scale*math.Sqrt(2*math.Pi))
}

// deviation is the standard deviation of truncated noise: the root of Σ (2m − 1)·P(|Z| ≥ m).
func (t *tails) deviation() float64 {
	sum := 0.0
	for m := int64(1); m <= t.reach; m++ {
		p := 2 * math.Exp(t.log(m))
		if sum += float64(2*m-1) * p; p*float64(m) < 1e-12*sum {
			break
		}
	}
	return math.Sqrt(sum)
}
