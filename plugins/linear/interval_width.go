package linear

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/internal/noise/tails"
)

// margin returns how many standard deviations of its noise to add to an estimated variance of
// the draw, so that the interval keeps its level for every true variance. Ratio is that
// standard deviation over the variance of the noise in the value, rounded up to a power of √2.
func (iv *Interval) margin(ratio float64) float64 {
	const finest, coarsest = -8, 20
	key := tabled{iv.Level, int(max(finest, min(math.Ceil(2*math.Log2(ratio)), coarsest)))}
	if known, ok := margins.Load(key); ok {
		return known.(float64)
	}
	m := iv.exactMargin(math.Exp2(float64(key.at) / 2))
	margins.Store(key, m)
	return m
}

// more returns a margin for values that are shown because the noise made the variance of the draw small: an interval that
// holds everything is blank, so where the variance is nearly unknown the values that are left are those whose variance came out too
// small. Everything reports whether the interval with such a margin holds everything. Near that it is everything, then
// a fixed margin, and less where the noise is less likely to have reached so far.
func (iv *Interval) more(everything func(more float64) bool) float64 {
	if !iv.sampled() || !everything(moreReach) {
		return 0
	}
	low, high := 0.0, moreReach
	for range 10 {
		if mid := (low + high) / 2; everything(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	if high < moreMost {
		return moreMost
	}
	return math.Min(moreMost, moreReach-low)
}

// In standard deviations: an interval that a margin of moreMost makes hold everything holds everything, and from moreReach on
// there is no margin (TestValuesShownByLuckyVariances).
var moreMost, moreReach = 1.5, 3.0

// margins keeps the known margins. A margin depends on level and ratio alone and takes thousands
// of evaluations.
var margins sync.Map

// tabled is a level and twice the binary logarithm of a ratio.
type tabled struct {
	level float64
	at    int
}

// exactMargin is the least margin with which an interval of the width of a normal error holds
// often enough for each of many true variances, in units of the variance of the noise.
func (iv *Interval) exactMargin(unsure float64) float64 {
	z := distuv.UnitNormal.Quantile(0.5 + iv.Level/200)
	var noises [64]float64
	for i := range noises {
		noises[i] = distuv.UnitNormal.Quantile((float64(i) + 0.5) / float64(len(noises)))
	}
	enough := func(margin float64) bool {
		for _, times := range []float64{0, 0.1, 0.3, 0.6, 1, 1.5, 2, 3, 4, 6, 10, 20, 50, 200} {
			missed := 0.0
			for _, e := range noises {
				draw := math.Max(times*unsure+(e+margin)*unsure, 0)
				missed += math.Erfc(z * math.Sqrt((draw+1)/(times*unsure+1)/2))
			}
			if missed/float64(len(noises)) > 1-iv.Level/100 {
				return false
			}
		}
		return true
	}
	low, high := 0.0, 8.0
	for range 16 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// studentsT is the quantile of Student's distribution: for many degrees of freedom by its
// expansion about the normal one (Abramowitz and Stegun 26.7.5), within 1e-5 above 20.
func studentsT(p, freedom float64) float64 {
	if freedom < 20 {
		return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(p)
	}
	z := distuv.UnitNormal.Quantile(p)
	z2 := z * z
	return z * (1 + (z2+1)/(4*freedom) + ((5*z2+16)*z2+3)/(96*freedom*freedom) + (((3*z2+19)*z2+17)*z2-15)/(384*freedom*freedom*freedom))
}

// leastFreedom bounds the degrees of freedom from below, because the number of rows may be noisy.
const leastFreedom = 4

// steps is the number of shares for which width is tabled.
const steps = 256

// width is half of the interval for the sum of a normal variable and noise that has variance 1 in
// all, where share is the standard deviation of the noise. Between two tabled shares it is the
// larger of their widths.
func (iv *Interval) width(share float64, n Noise) float64 {
	if iv.wide == nil {
		iv.wide = make([]float64, steps+1)
	}
	at := min(int(share*steps), steps-1)
	for i := at; i <= at+1; i++ {
		if iv.wide[i] == 0 {
			iv.wide[i] = iv.exactWidth(float64(i)/steps, n.isLaplace())
		}
	}
	return math.Max(iv.wide[at], iv.wide[at+1])
}

// exactWidth solves P(|X| > x) = 1 − level; never less than for normal noise.
func (iv *Interval) exactWidth(share float64, laplace bool) float64 {
	normal := distuv.UnitNormal.Quantile(0.5 + iv.Level/200)
	if !laplace || share == 0 {
		return normal
	}
	s, b := math.Sqrt(math.Max(0, 1-share*share)), share/math.Sqrt2
	low, high := 0.0, 20.0
	for range 60 {
		mid := (low + high) / 2
		if math.Exp(tails.LogBeyond(mid, s, b)) > (1-iv.Level/100)/2 {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Max(high, normal)
}
