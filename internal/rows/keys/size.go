package keys

import "math"

// maxSize is the largest group that Size and SizeSampled look at.
const maxSize = 1 << 50

// Size is the number of units from which on a key is kept with at least the given probability; ok is false where no
// number up to 2^50 is enough. Nobody's data are needed to say it.
func Size(r Rule, chance float64) (units int64, ok bool) {
	return least(func(n int64) bool { return r.Chance(n) >= chance })
}

// SizeSampled is Size where the rule sees a sample only. It counts units of the population, and each of them is drawn
// with the given probability.
func SizeSampled(r Rule, rate, chance float64) (units int64, ok bool) {
	if !(rate > 0) {
		return 0, false
	}
	if rate >= 1 {
		return Size(r, chance)
	}
	return least(func(n int64) bool { return sampledChance(r, rate, n) >= chance })
}

// least is the smallest number that is enough, enough being true from there on.
func least(enough func(n int64) bool) (int64, bool) {
	hi := int64(1)
	for !enough(hi) {
		if hi *= 2; hi > maxSize {
			return 0, false
		}
	}
	lo := hi / 2
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, true
}

// sampledChance is the mean of a rule's chance over the binomial number of units in the sample.
func sampledChance(r Rule, rate float64, units int64) float64 {
	n := float64(units)
	mean, deviation := n*rate, math.Sqrt(n*rate*(1-rate))
	first := int64(math.Max(0, math.Floor(mean-9*deviation-9)))
	last := int64(math.Min(n, math.Ceil(mean+9*deviation+9)))
	step := 1 + (last-first)/2000 // a wide law is summed in strips
	var sum, total float64
	for m := first; m <= last; m += step {
		p := math.Exp(logBinomial(n, float64(m), rate))
		sum, total = sum+p*r.Chance(m), total+p
	}
	return sum / total
}

func logBinomial(n, m, rate float64) float64 {
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(m + 1)
	c, _ := math.Lgamma(n - m + 1)
	return a - b - c + m*math.Log(rate) + (n-m)*math.Log1p(-rate)
}
