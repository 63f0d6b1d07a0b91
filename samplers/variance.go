package samplers

import (
	"errors"
	"math"
)

// Values holds the public facts about the numbers z that a release adds up over the
// rows of a sample, one number a row.
type Values struct {
	// Low and High are the smallest and the largest that any row can have.
	Low, High float64
	// Assumed holds further assumptions about them; nil for none.
	Assumed *Moments

	_ struct{}
}

// Moments are assumed: rows of mean Mean and standard deviation SD, with the
// correlation ICC inside one stratum or first-stage unit. Without KnownMean the
// mean is as far from zero as the bounds allow.
type Moments struct {
	Mean, SD, ICC float64
	KnownMean     bool
	// Strata are the standard deviations inside strata, by their keys; a stratum that it does not
	// hold has that of SD and ICC.
	Strata map[string]float64

	_ struct{}
}

// ErrSecretSize says that a variance depends on a number of rows that is secret.
var ErrSecretSize = errors.New("the number of rows that the sample is drawn from is secret")

// Variance is the variance, over the draws of a design alone, of Σ w·z over the
// rows drawn, where w is the weight that a Selection carries, or 1 where all
// weights are equal.
//
// # Contract
//
// Without assumed moments no table whose values lie in [Low, High] has a larger
// variance; for all designs but multistage some table attains it. With assumed
// moments it is the variance to expect of a table that was made at random with
// these moments. It follows from the design and the given numbers, never from data
// (P19); it is no privacy figure and nothing is charged by it. ErrSecretSize where
// no such number is public. Proof: variance.proof.md.
func Variance(d Design, v Values) (float64, error) {
	if !(v.Low <= v.High) || math.IsInf(v.Low, 0) || math.IsInf(v.High, 0) {
		return 0, errors.New("samplers: low must be at most high, and both finite")
	}
	switch d := d.(type) {
	case *Full:
		return 0, nil
	case *Collected:
		return Variance(d.by, v)
	case *Gathered:
		if _, ok := d.draw.(*Full); ok {
			return Variance(d.by, v)
		}
		return 0, errors.New("there is no formula for a sample of a table that was collected with weights")
	case *SRSWOR:
		n := float64(d.size)
		if d.population > 0 {
			return n * (1 - n/float64(d.population)) * v.within(d.population, 0), nil
		}
		return n * v.within(math.MaxInt64, 0), nil // it grows with the secret number of rows
	case *Poisson:
		if d.population == 0 {
			return 0, ErrSecretSize
		}
		q := d.rate.Float()
		return q * (1 - q) * float64(d.population) * v.square(), nil
	case *Kept:
		return d.variance(v)
	case *StratifiedTake:
		sum := 0.0
		for u, n := range d.take {
			of, w := d.frame.units[u].Records, d.weights[u]
			if d.facts.EqualWeights {
				w = 1
			}
			sum += w * w * float64(n) * (1 - float64(n)/float64(of)) * v.stratum(d.frame.units[u].Key[0], of)
		}
		return sum, nil
	case *Multistage:
		total := d.variance(d.root, 0, v)
		if d.facts.EqualWeights {
			total /= d.facts.MaxWeight * d.facts.MaxWeight
		}
		return total, nil
	}
	return 0, ErrSecretSize
}

// stratum is within of a stratum.
func (v Values) stratum(key string, n int64) float64 {
	if v.Assumed != nil {
		if sd, ok := v.Assumed.Strata[key]; ok {
			return sd * sd
		}
	}
	return v.within(n, 1)
}

// within is S² = Σ(z−z̄)²/(N−1) of N rows that lie in one unit (depth 1) or are the
// whole table (depth 0): at most, or as assumed.
func (v Values) within(n int64, depth int) float64 {
	if a := v.Assumed; a != nil {
		if depth > 0 {
			return (1 - a.ICC) * a.SD * a.SD
		}
		return a.SD * a.SD
	}
	if n < 2 {
		return 0
	}
	// Half of the rows at each end.
	k, all := math.Floor(float64(n)/2), float64(n)
	r := v.High - v.Low
	return r * r * (k / all) * (all - k) / (all - 1)
}

// square is the mean of z²: at most, or as assumed.
func (v Values) square() float64 {
	most := math.Max(v.Low*v.Low, v.High*v.High)
	if a := v.Assumed; a != nil && a.KnownMean {
		return a.SD*a.SD + a.Mean*a.Mean
	}
	return most
}

// variance returns the variance of the estimated total Σ z/π of the rows below n, once
// n is drawn: that of the totals of the units drawn, and what is drawn below each.
func (d *Multistage) variance(n *node, j int, v Values) float64 {
	of, take := float64(n.size()), float64(d.taken(n, j))
	spread := of * of * (1 - take/of) / take
	if n.children == nil {
		return spread * v.within(n.records, 1)
	}
	below := 0.0
	for _, c := range n.children {
		below += d.variance(c, j+1, v)
	}
	if take < of {
		spread *= v.between(n.children, j)
	} else {
		spread = 0
	}
	return spread + of/take*below
}

// between is S² of the totals of the children, which have sizes[i] rows each.
func (v Values) between(children []*node, depth int) float64 {
	sizes := make([]float64, len(children))
	for i, c := range children {
		sizes[i] = float64(c.rows())
	}
	if v.Assumed != nil {
		return v.betweenAssumed(sizes, depth)
	}
	// Each total lies in [Low·size, High·size]. About any middle m the squares add up
	// to no less than about the mean; the best m is between the ends.
	about := func(m float64) (sum float64) {
		for _, s := range sizes {
			a, b := v.Low*s-m, v.High*s-m
			sum += math.Max(a*a, b*b)
		}
		return sum
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range sizes {
		lo, hi = math.Min(lo, math.Min(v.Low*s, v.High*s)), math.Max(hi, math.Max(v.Low*s, v.High*s))
	}
	for range 100 { // convex in m
		a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
		if about(a) <= about(b) {
			hi = b
		} else {
			lo = a
		}
	}
	return about(lo+(hi-lo)/2) / float64(len(sizes)-1)
}

// betweenAssumed expects S² of totals of rows z = mean + (effect of the first-stage
// unit, variance ICC·SD²) + (a part of its own, variance (1−ICC)·SD²).
func (v Values) betweenAssumed(sizes []float64, depth int) float64 {
	a := v.Assumed
	effect, own := a.ICC*a.SD*a.SD, (1-a.ICC)*a.SD*a.SD
	common := math.Max(0, math.Max(v.Low*v.Low, v.High*v.High)-a.SD*a.SD)
	if a.KnownMean {
		common = a.Mean * a.Mean
	}
	mean, square := 0.0, 0.0
	for _, s := range sizes {
		mean += s / float64(len(sizes))
		square += s * s / float64(len(sizes))
	}
	apart := 0.0 // S² of the sizes
	for _, s := range sizes {
		apart += (s - mean) * (s - mean) / float64(len(sizes)-1)
	}
	if depth == 0 {
		return common*apart + effect*square + own*mean
	}
	return (common+effect)*apart + own*mean // all lie in one first-stage unit
}

// rows is the number of records below a unit.
func (n *node) rows() int64 {
	if n.children == nil {
		return n.records
	}
	var sum int64
	for _, c := range n.children {
		sum += c.rows()
	}
	return sum
}
