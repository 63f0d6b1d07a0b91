package planner

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// allocation is the question how many rows to take from each of several strata: how many they
// hold, and their public standard deviations.
type allocation struct {
	of []int64
	sd []float64
	// noise is the variance of the noise of a total whose largest weight is 1, if the largest
	// sampling rate is q.
	noise func(q float64) float64
}

// error is the variance of an estimated total: of the noise, which grows with the largest
// weight and with the largest rate, and of the draw.
func (a allocation) error(take []int64) float64 {
	q, weight := 0.0, 1.0
	for h, n := range take {
		q, weight = math.Max(q, float64(n)/float64(a.of[h])), math.Max(weight, float64(a.of[h])/float64(n))
	}
	return weight*weight*a.noise(q) + a.sampling(take)
}

func (a allocation) sampling(take []int64) float64 {
	sum := 0.0
	for h, n := range take {
		of := float64(a.of[h])
		sum += of * (of - float64(n)) / float64(n) * a.sd[h] * a.sd[h]
	}
	return sum
}

// neyman minimises the variance of the draw alone among whole numbers from lo to hi that add up
// to size; nil where there are none. A row more in stratum h, beyond n, saves s²/(n(n+1)) with
// s = of·sd, so the best numbers take every row that saves at least some λ.
func (a allocation) neyman(lo, hi []int64, size int64) []int64 {
	low, high := int64(0), int64(0)
	for h := range a.of {
		if lo[h] > hi[h] {
			return nil
		}
		low, high = low+lo[h], high+hi[h]
	}
	if size < low || size > high {
		return nil
	}
	take := slices.Clone(lo)
	fill := func(lambda float64) int64 {
		total := int64(0)
		for h, of := range a.of {
			s := float64(of) * a.sd[h]
			n := math.Floor((math.Sqrt(1+4*s*s/lambda)-1)/2) + 1
			take[h] = max(lo[h], min(hi[h], int64(math.Min(n, float64(of)))))
			total += take[h]
		}
		return total
	}
	down, up := -80.0, 200.0 // of the logarithm: at up no row is worth it
	for range 200 {
		if mid := (down + up) / 2; fill(math.Exp(mid)) > size {
			down = mid
		} else {
			up = mid
		}
	}
	for left := size - fill(math.Exp(up)); left > 0; left-- {
		best, most := -1, -1.0
		for h, n := range take {
			s := float64(a.of[h]) * a.sd[h]
			if saves := s * s / float64(n) / float64(n+1); n < hi[h] && saves > most {
				best, most = h, saves
			}
		}
		take[best]++
	}
	return take
}

// between is the best allocation whose rates lie in [least, most].
func (a allocation) between(least, most float64, size int64) []int64 {
	lo, hi := make([]int64, len(a.of)), make([]int64, len(a.of))
	for h, of := range a.of {
		lo[h] = max(1, int64(math.Ceil(least*float64(of)-1e-9)))
		hi[h] = min(of, int64(math.Floor(most*float64(of)+1e-9)))
	}
	return a.neyman(lo, hi, size)
}

// exactly is the number of rows up to which all pairs of a smallest and a largest rate are tried.
const exactly = 60

// best minimises noise and draw together. Between a smallest and a largest rate the noise is at
// most that of these rates, and the draw is best by neyman, so two numbers are left to search:
// among all rates of small strata, by a grid that narrows for others.
func (a allocation) best(size int64) []int64 {
	all, rates := int64(0), []float64{}
	for _, of := range a.of {
		all += of
	}
	var best []int64
	var at [2]float64
	least := math.Inf(1)
	try := func(lo, hi float64) {
		if take := a.between(lo, hi, size); take != nil {
			if e := a.error(take); e < least {
				best, least, at = take, e, [2]float64{lo, hi}
			}
		}
	}
	if all <= exactly {
		for _, of := range a.of {
			for n := range of {
				rates = append(rates, float64(n+1)/float64(of))
			}
		}
		for _, lo := range rates {
			for _, hi := range rates {
				try(lo, hi)
			}
		}
		return best
	}
	rate := float64(size) / float64(all)
	ends := [2][2]float64{{rate / 200, rate}, {rate, 1}}
	const places = 16
	for range 6 {
		for i := range places + 1 {
			for k := range places + 1 {
				share := func(e [2]float64, i int) float64 { return e[0] * math.Pow(e[1]/e[0], float64(i)/places) }
				try(share(ends[0], i), share(ends[1], k))
			}
		}
		if best == nil {
			return nil // no numbers add up to the size
		}
		for e := range ends {
			step := math.Pow(ends[e][1]/ends[e][0], 2.0/places)
			ends[e] = [2]float64{at[e] / step, math.Min(1, at[e]*step)}
		}
	}
	return best
}

// noiseAt is the variance of the noise of a total of weight 1 under replace-one, by Laplace or
// Gaussian noise, whichever is smaller, for values in a range; any mechanism of that kind has a
// multiple of it.
func noiseAt(width float64, target privacy.Point) func(q float64) float64 {
	return func(q float64) float64 {
		on, err := privacy.SampleBudget(privacy.WithoutReplacement{Take: int64(math.Ceil(q * (1 << 40))), Of: 1 << 40},
			privacy.ReplaceOne, target)
		if q >= 1 {
			on, err = target, nil
		}
		if err != nil {
			return math.Inf(1)
		}
		v := 2 * width * width / (on.Epsilon * on.Epsilon)
		if on.Delta > 0 {
			if sigma, err := privacy.GaussianSigma(width, on); err == nil {
				v = math.Min(v, sigma*sigma)
			}
		}
		return v
	}
}
