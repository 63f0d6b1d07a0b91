package tails

import (
	"math"
	"sync"
)

// Law is the law of the error of a whole number: of noise, or of noise and a draw together. It is right to about six digits.
type Law struct {
	normal    bool    // the noise is Gaussian
	scale     float64 // of the noise: that of Laplace noise, or the standard deviation
	reach     int64   // of truncated noise; 0 for any other
	truncated bool
	draw      float64 // the standard deviation of a draw beside the noise

	once  sync.Once
	table []float64 // of Gaussian noise of up to fineSigma: the logarithms from 0 to farSigmas standard deviations
}

const (
	fineSigma = 1 << 12
	farSigmas = 30
)

// Laplace is the law of discrete Laplace noise.
func Laplace(scale float64) *Law { return &Law{scale: scale} }

// Truncated is the law of discrete Laplace noise that is drawn again until it lies between −reach and reach.
func Truncated(scale float64, reach int64) *Law {
	return &Law{scale: scale, reach: reach, truncated: true}
}

// Gaussian is the law of discrete Gaussian noise.
func Gaussian(sigma float64) *Law { return &Law{normal: true, scale: sigma} }

// Drawn is the law of the noise and of the error of a draw, which is taken as normal.
func (l *Law) Drawn(deviation float64) *Law {
	if deviation == 0 {
		return l
	}
	return &Law{normal: l.normal, scale: l.scale, draw: deviation}
}

// never is the logarithm of a probability of 1e-9: numbers that are shown still more rarely are left out of an interval.
const never = -20.72

// Interval holds the true number, which is at least least, given that its noisy number exceeds above, with at least the probability
// level. It holds noisy itself.
//
// # Contract
//
// For every number n ≥ least that is shown in one of 1e9 cases or more, and an error that is conditioned to exceed above − n, the
// interval holds n with at least the probability level, up to rounding. Proof: tails.proof.md. // P41
func (l *Law) Interval(noisy, above, least int64, level float64) (low, high int64) {
	miss := math.Log((1-level)/2) - 1e-6
	// Both grow, or fall, with the true number.
	low = least + least0(noisy-least, func(i int64) bool {
		shown := l.Log(above + 1 - least - i)
		return shown > never && l.Log(noisy-least-i)-shown > miss
	})
	step := int64(1)
	holds := func(n int64) bool { // that so low a number is not too unlikely
		return logLess(l.Log(noisy+1-n)-l.Log(above+1-n)) > miss
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

// Half is half of an interval that holds the error, without any condition, with at least the probability level.
func (l *Law) Half(level float64) int64 {
	miss := math.Log((1 - level) / 2)
	high := int64(1)
	for l.Log(high) > miss {
		high *= 2
	}
	return least0(high, func(m int64) bool { return l.Log(m+1) <= miss })
}

// Log is the logarithm of the probability that the error is m or more.
func (l *Law) Log(m int64) float64 {
	switch {
	case m <= 0: // the law is symmetric
		return logLess(l.Log(1 - m))
	case l.normal:
		return l.gaussian(m)
	case l.draw > 0:
		return LogBeyond(float64(m)-0.5, l.draw, l.scale)
	case !l.truncated:
		return -float64(m)/l.scale - math.Log1p(math.Exp(-1/l.scale))
	case m > l.reach:
		return math.Inf(-1)
	}
	return -float64(m)/l.scale + math.Log(-math.Expm1(-float64(l.reach-m+1)/l.scale)/Weight(l.scale, l.reach))
}

// Weight is (1 − a)·Σ a^|z| over all z from −reach to reach, with a = e^(−1/scale), without cancellation.
func Weight(scale float64, reach int64) float64 {
	return -math.Expm1(-1/scale) + 2*math.Exp(-1/scale)*-math.Expm1(-float64(reach)/scale)
}

// gaussian is Log for m > 0.
func (l *Law) gaussian(m int64) float64 {
	l.once.Do(func() {
		if l.scale > fineSigma || l.draw > 0 {
			return
		}
		weight := func(x float64) float64 { return math.Exp(-x * x / (2 * l.scale * l.scale)) }
		l.table = make([]float64, int64(farSigmas*l.scale)+2)
		sum := 0.0
		for x := len(l.table) - 1; x >= 1; x-- {
			sum += weight(float64(x))
			l.table[x] = sum
		}
		all := math.Log(1 + 2*sum)
		for x, s := range l.table {
			l.table[x] = math.Log(s) - all
		}
	})
	x, sigma := float64(m), math.Hypot(l.scale, l.draw)
	switch {
	case m+1 < int64(len(l.table)):
		return l.table[m]
	case x < farSigmas*sigma:
		return math.Log(math.Erfc((x-0.5)/sigma/math.Sqrt2) / 2)
	}
	// Far out: the first weight, and what all others are to it.
	sum := 0.0
	for j := 0.0; ; j++ {
		w := math.Exp(-(2*x*j + j*j) / (2 * sigma * sigma))
		if sum += w; w < 1e-12 {
			break
		}
	}
	return -x*x/(2*sigma*sigma) + math.Log(sum) - math.Log(sigma*math.Sqrt(2*math.Pi))
}

// LogBeyond is the logarithm of P(X > x) for x ≥ 0, X the sum of a normal variable of standard deviation s and a Laplace variable of
// scale b.
func LogBeyond(x, s, b float64) float64 {
	if s == 0 {
		return -x/b - math.Ln2
	}
	tail := func(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }
	at := x / s
	// product is e^(z²/2 − at²/2) times the tail from z on, which would underflow alone: far out it is taken by its continued fraction.
	product := func(z float64) float64 {
		if z < 6 {
			return math.Exp((z-at)*(z+at)/2 + math.Log(tail(z)))
		}
		rest := z
		for k := 30.0; k > 0; k-- {
			rest = z + k/rest
		}
		return math.Exp(-at*at/2) / (rest * math.Sqrt(2*math.Pi))
	}
	return math.Log(tail(at) + (product(s/b-at)-product(s/b+at))/2)
}

// Deviation is the standard deviation of truncated noise: the root of Σ (2m − 1)·P(|Z| ≥ m).
func (l *Law) Deviation() float64 {
	sum := 0.0
	for m := int64(1); m <= l.reach; m++ {
		p := 2 * math.Exp(l.Log(m))
		if sum += float64(2*m-1) * p; p*float64(m) < 1e-12*sum {
			break
		}
	}
	return math.Sqrt(sum)
}
