package series

import (
	"errors"
	"math"
	"math/big"
	"slices"
)

// An Estimate is public arithmetic that makes a published figure of the measurements of runs
// 0, 1, …: Σ Factors[t]·y_t / Over, without bias. Over is positive.
type Estimate struct {
	Factors []*big.Int
	Over    *big.Int
}

// Decode returns the estimate of a row. It has a factor for each run up to the row's period.
//
// The matrix is triangular, so nothing else than this estimate is unbiased on those runs.
func (m Matrix) Decode(r Row) (Estimate, error) {
	n := 0
	for _, t := range r.Terms {
		if t.Period < 0 || t.Period >= m.Periods() {
			return Estimate{}, errors.New("a row needs a period that the series does not have")
		}
		n = max(n, t.Period+1)
	}
	// Solve vC = w from the last period to the first. rest[s] holds, over the common
	// denominator `over`, what of w is not yet measured by the runs after s.
	over := big.NewInt(1)
	rest := make([]*big.Int, n)
	for s := range rest {
		rest[s] = new(big.Int)
	}
	for _, t := range r.Terms {
		rest[t.Period].Add(rest[t.Period], big.NewInt(t.Factor))
	}
	factors := make([]*big.Int, n)
	var c, p, common big.Int
	for t := n - 1; t >= 0; t-- {
		v := rest[t]
		if v.Sign() != 0 {
			own := big.NewInt(m.rows[t][t])
			common.GCD(nil, nil, p.Abs(v), own)
			v.Quo(v, &common)
			if own.Quo(own, &common).Cmp(one) != 0 {
				over.Mul(over, own)
				for _, x := range slices.Concat(rest[:t], factors[t+1:]) {
					x.Mul(x, own)
				}
			}
		}
		factors[t] = v
		for s := range t {
			if f := m.rows[t][s]; f != 0 {
				rest[s].Sub(rest[s], p.Mul(v, c.SetInt64(f)))
			}
		}
	}
	return Estimate{Factors: factors, Over: over}, nil
}

// Noise returns the standard deviation of a row's noise in units of σ. It is that of the row's
// estimate in floating-point numbers, for plans, which ask for all rows.
func (m Matrix) Noise(r Row) float64 {
	rest := make([]float64, m.Periods())
	for _, t := range r.Terms {
		rest[t.Period] += float64(t.Factor)
	}
	sum := 0.0
	for t := m.Periods() - 1; t >= 0; t-- {
		factor := rest[t] / float64(m.rows[t][t])
		for s, c := range m.rows[t] {
			rest[s] -= factor * float64(c)
		}
		sum += factor * factor
	}
	return math.Sqrt(sum)
}

var one = big.NewInt(1)

// Value returns the figure, exactly, from the measurements of runs 0, 1, …
func (e Estimate) Value(measured []*big.Int) *big.Rat {
	sum, p := new(big.Int), new(big.Int)
	for t, f := range e.Factors {
		sum.Add(sum, p.Mul(f, measured[t]))
	}
	return new(big.Rat).SetFrac(sum, e.Over)
}

// Variance returns the variance of the figure's noise in units of σ², where each run's noise
// has variance σ².
func (e Estimate) Variance() *big.Rat { return Covariance(e, e) }

// Deviation returns the standard deviation of the figure's noise.
func (e Estimate) Deviation(sigma float64) float64 {
	v, _ := e.Variance().Float64()
	return sigma * math.Sqrt(v)
}

// Covariance returns the covariance of two figures' noise in units of σ².
//
// Figures of different runs share the noise of the runs that both read.
func Covariance(a, b Estimate) *big.Rat {
	sum, p := new(big.Int), new(big.Int)
	for t := range min(len(a.Factors), len(b.Factors)) {
		sum.Add(sum, p.Mul(a.Factors[t], b.Factors[t]))
	}
	return new(big.Rat).SetFrac(sum, p.Mul(a.Over, b.Over))
}
