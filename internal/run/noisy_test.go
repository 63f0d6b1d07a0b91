package run

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// noisy is the law of the noise of an event, which is drawn on whole numbers.
type noisy struct {
	scale    float64
	gaussian bool
	tails    []float64 // that Gaussian noise is at least so much, where it is small
}

func newNoisy(e privacy.Event) *noisy {
	switch e := e.(type) {
	case privacy.DiscreteLaplace:
		return &noisy{scale: e.Scale}
	case privacy.DiscreteGaussian:
		n := &noisy{scale: e.Sigma, gaussian: true}
		if e.Sigma < 1000 {
			n.tails = make([]float64, int(12*e.Sigma)+2)
			total := 0.0
			for m := len(n.tails) - 2; m >= 0; m-- {
				n.tails[m] = n.tails[m+1] + math.Exp(-float64(m)*float64(m)/2/e.Sigma/e.Sigma)
				total = n.tails[m]
			}
			total += n.tails[1]
			for m := range n.tails {
				n.tails[m] /= total
			}
		}
		return n
	}
	panic("no noise")
}

// atLeast is the probability that the noise is m or more.
func (n *noisy) atLeast(m float64) float64 {
	switch {
	case m <= 0:
		return 1 - n.atLeast(1-m)
	case !n.gaussian:
		return math.Exp(-m/n.scale) / (1 + math.Exp(-1/n.scale))
	case n.tails == nil: // whole numbers are as good as none between them
		return math.Erfc((m-0.5)/n.scale/math.Sqrt2) / 2
	case m >= float64(len(n.tails)):
		return 0
	}
	return n.tails[int(m)]
}

// told is a lower bound on the δ at ε of what noise on two random vectors tells: that of cells between the values that
// the coordinates take.
func (n *noisy) told(p, q mix, epsilon float64) float64 {
	dims := len(p[0].at)
	cuts := make([][]float64, dims)
	for k := range cuts {
		var at []float64
		for _, w := range slices.Concat(p, q) {
			at = append(at, w.at[k], w.at[k]+1)
		}
		lo, hi := slices.Min(at), slices.Max(at)
		for _, far := range []float64{0.3, 1, 2, 3.5, 5, 8, 12} {
			at = append(at, math.Floor(lo-far*n.scale), math.Ceil(hi+far*n.scale))
		}
		for i := 1; i < 8 && hi > lo+1; i++ {
			at = append(at, math.Round(lo+(hi-lo)*float64(i)/8))
		}
		slices.Sort(at)
		cuts[k] = slices.Compact(at)
	}
	// The probabilities of the cells, as products of those of their sides.
	type sided struct {
		mass  float64
		sides [2][]float64
	}
	var all []sided
	for i, m := range []mix{p, q} {
		for _, w := range m {
			s := sided{mass: w.mass}
			if i == 1 {
				s.mass *= -math.Exp(epsilon)
			}
			for k := range 2 {
				if s.sides[k] = []float64{1}; k < dims {
					s.sides[k] = n.cells(cuts[k], w.at[k])
				}
			}
			all = append(all, s)
		}
	}
	total := 0.0
	for i := range all[0].sides[0] {
		for k := range all[0].sides[1] {
			sum := 0.0
			for _, s := range all {
				sum += s.mass * s.sides[0][i] * s.sides[1][k]
			}
			total += max(0, sum)
		}
	}
	return total
}

// cells are the probabilities with which a number with noise falls between the cuts.
func (n *noisy) cells(cuts []float64, at float64) []float64 {
	out := make([]float64, len(cuts)+1)
	above := 1.0
	for i, c := range cuts {
		next := n.atLeast(c - at)
		out[i], above = above-next, next
	}
	out[len(cuts)] = above
	return out
}
