package residual

import "math"

// Alike returns the variances of the residuals that make the weighted sum of the mean variances of
// the tables least, at a cost of 1. That is ρ = 1/2 under add-remove; for another ρ they are
// divided by 2ρ.
func (w *Workload) Alike(weights []float64) []float64 {
	sigma, _ := w.least(weights)
	return sigma
}

// least is Alike together with the least sum, (Σ √(p·v))².
func (w *Workload) least(weights []float64) (sigma []float64, sum float64) {
	v := make([]float64, len(w.Residuals))
	for i, below := range w.below {
		for _, s := range below {
			v[s.residual] += weights[i] * s.factor
		}
	}
	root := 0.0
	for b, p := range w.cost {
		root += math.Sqrt(p * v[b])
	}
	for b, p := range w.cost {
		if p > 0 {
			v[b] = math.Sqrt(p/v[b]) * root
		} else {
			v[b] = 0
		}
	}
	return v, root * root
}

const (
	// nearLeast is the relative distance of the largest variance from the least possible one at which the search ends, and
	// mostSteps its most steps.
	nearLeast = 1e-9
	mostSteps = 500
)

// LeastLargest returns the variances of the residuals that make the largest weighted mean variance
// of the tables least, at a cost of 1. Gap is the share by which that largest variance may exceed
// the least possible one.
//
// The least largest variance is the largest that the least weighted sum reaches over all
// weights that add up to one. The weights at which all variances are equal are tried first;
// where some of them are negative, weights are improved step by step. A step multiplies each
// by a power of its table's variance. With the power 2 no step makes the sum smaller
// (residual.proof.md), so higher powers are tried and given up where they do.
func (w *Workload) LeastLargest(weights []float64) (sigma []float64, gap float64) {
	scaled := *w
	scaled.below = nil
	for i, below := range w.below {
		var b []share
		for _, s := range below {
			b = append(b, share{s.residual, s.factor * weights[i]})
		}
		scaled.below = append(scaled.below, b)
	}
	lambda := scaled.equal()
	normalize(lambda)
	best := scaled.at(lambda)
	power := 2.0
	next := make([]float64, len(lambda))
	for step := 0; best.gap > nearLeast && step < mostSteps; step++ {
		for i, v := range best.variances {
			next[i] = lambda[i] * math.Pow(v/best.sum, power)
		}
		normalize(next)
		if tried := scaled.at(next); tried.sum >= best.sum || power == 2 {
			stuck := tried.sum <= best.sum && power == 2 && tried.gap >= best.gap
			best, lambda, next = tried, next, lambda
			if power *= 1.3; stuck {
				break
			}
		} else {
			power = 2
		}
	}
	return best.sigma, best.gap
}

// point holds the results of a choice of weights. Its sum is a lower bound of the least largest
// variance, and the largest of its variances an upper bound.
type point struct {
	sigma, variances []float64
	sum, gap         float64
}

func (w *Workload) at(lambda []float64) point {
	var p point
	p.sigma, p.sum = w.least(lambda)
	p.variances = w.Variances(p.sigma)
	largest := 0.0
	for _, v := range p.variances {
		largest = math.Max(largest, v)
	}
	p.gap = largest/p.sum - 1
	return p
}

// equal returns the weights for which all tables have the same variance. It needs a table for every
// residual, and makes negative weights small and positive.
func (w *Workload) equal() []float64 {
	lambda, tableOf := make([]float64, len(w.Tables)), make([]int32, len(w.Residuals))
	for b := range tableOf {
		tableOf[b] = -1
	}
	for i, b := range w.own {
		if lambda[i] = 1; b >= 0 {
			tableOf[b] = int32(i)
		}
	}
	// Variances of the residuals so that each table has variance 1, from below; and weights
	// that make them the best, from above: Σ w·factor = p/σ⁴ for each residual.
	sigma, need := make([]float64, len(w.Residuals)), make([]float64, len(w.Residuals))
	for b, i := range tableOf {
		if w.cost[b] == 0 {
			continue
		}
		if i < 0 {
			return lambda
		}
		left := 1.0
		last := len(w.below[i]) - 1
		for _, s := range w.below[i][:last] {
			left -= sigma[s.residual] * s.factor
		}
		if sigma[b] = left / w.below[i][last].factor; sigma[b] <= 0 {
			return lambda
		}
		need[b] = w.cost[b] / (sigma[b] * sigma[b])
	}
	for i, b := range w.own {
		if b < 0 {
			lambda[i] = 0 // it is as good as a table with fewer attributes
		}
	}
	whole := append([]float64(nil), need...)
	for b := len(tableOf) - 1; b >= 0; b-- {
		i := tableOf[b]
		if i < 0 {
			continue
		}
		last := len(w.below[i]) - 1
		lambda[i] = math.Max(need[b], whole[b]*1e-3) / w.below[i][last].factor
		for _, s := range w.below[i][:last] {
			need[s.residual] -= lambda[i] * s.factor
		}
	}
	return lambda
}

func normalize(w []float64) {
	sum := 0.0
	for _, x := range w {
		sum += x
	}
	for i := range w {
		w[i] /= sum
	}
}
