package series

import (
	"math"
	"math/big"
	"slices"
	"strings"
)

// Pure returns the whole number c for which the whole series costs ε = Δ·c/b.
//
// # Contract
//
// Each run adds fresh discrete Laplace noise of scale b to each coordinate of what it measures,
// and Δ bounds the L1 norm by which one unit changes the vector of one period. The rest is as for
// Charge, and slices may change between runs. Proof: series.proof.md. // P31
func (m Matrix) Pure(u Units) int64 { return pure(m.rows, m.Periods(), u) }

// pure returns the charge in ε of a matrix with n columns and any rows.
func pure(rows [][]int64, n int, u Units) int64 {
	columns := make([]int64, n)
	for _, row := range rows {
		for s, c := range row {
			columns[s] += max(c, -c)
		}
	}
	k, apart := u.within(n)
	return pick(columns, k, apart)
}

// PureColumn returns what Pure returns for a unit that has rows in period s only.
//
// # Contract
//
// As for Pure, for a unit whose only period is s. Proof: series.proof.md. // P31
func (m Matrix) PureColumn(s int) (c int64) {
	for t := s; t < len(m.rows); t++ {
		c += max(m.rows[t][s], -m.rows[t][s])
	}
	return c
}

// summed returns candidates for Laplace noise: each run measures its own period, and the last
// run of some stretches measures the whole stretch instead. The stretches are rows that are
// published, of one kind or of all kinds so far, or blocks of equal length. A unit is then in few
// measurements, and long sums are made of few.
func (q *Question) summed() (all []made) {
	alone := func() [][]int64 { return Independent(q.Periods).rows }
	add := func(name string, rows [][]int64) {
		if m, err := NewMatrix(rows); err == nil {
			all = append(all, made{name, m.dense()})
		}
	}
	so, kind := alone(), ""
	one := alone()
	for i, r := range q.Rows {
		if r.Kind != kind {
			kind, one = r.Kind, alone()
		}
		row := make([]int64, r.Period+1)
		for _, t := range r.Terms {
			row[t.Period] += t.Factor
		}
		if row[r.Period] > 0 {
			one[r.Period], so[r.Period] = row, row
		}
		if i+1 == len(q.Rows) || q.Rows[i+1].Kind != kind {
			add(Blocks, one)
			add(Blocks, append([][]int64(nil), so...))
		}
	}
	for width := 2; width <= q.Periods/2; width = max(width+1, width*5/4) {
		rows := alone()
		for t := width - 1; t < q.Periods; t += width {
			for s := t - width + 1; s < t; s++ {
				rows[t][s] = 1
			}
		}
		add(Blocks, rows)
	}
	return all
}

// Half returns half of the interval that holds the noise of the figure in so many of 100 cases,
// where each run adds Laplace noise of standard deviation 1.
//
// It solves P(|X| ≤ x) = (2/π)·∫ sin(ux)/u·φ(u) du, φ(u) = Π 1/(1 + f²u²/2) the characteristic
// function of the sum X of the runs' noise, each with its factor f.
func (e Estimate) Half(level float64) float64 {
	const points, reach = 4000, 120.0
	var factors []float64
	size := 0.0
	for _, f := range e.Factors {
		x, _ := new(big.Rat).SetFrac(f, e.Over).Float64()
		factors, size = append(factors, x), math.Hypot(size, x)
	}
	if size == 0 {
		return 0
	}
	step := reach / points
	var weights [points]float64 // of sin(ux), at the middle of each step
	for i := range weights {
		u := (float64(i) + 0.5) * step
		w := 2 / math.Pi * step / u
		for _, f := range factors {
			w /= 1 + f*f*u*u/(2*size*size)
		}
		weights[i] = w
	}
	low, high := 0.0, 20.0
	for range 40 {
		x, within := (low+high)/2, 0.0
		for i, w := range weights {
			within += w * math.Sin((float64(i)+0.5)*step*x)
		}
		if within < level/100 {
			low = x
		} else {
			high = x
		}
	}
	return size * high
}

// Key is the same for figures whose noise has the same law.
func (e Estimate) Key() string {
	var sizes []string
	for _, f := range e.Factors {
		if f.Sign() != 0 {
			sizes = append(sizes, new(big.Int).Abs(f).String())
		}
	}
	slices.Sort(sizes)
	return strings.Join(sizes, " ") + " / " + e.Over.String()
}

// Step returns how far apart two values of the figure's noise are, where that of runs is whole.
func (e Estimate) Step() float64 {
	all := new(big.Int)
	for _, f := range e.Factors {
		all.GCD(nil, nil, all, new(big.Int).Abs(f))
	}
	step, _ := new(big.Rat).SetFrac(all, e.Over).Float64()
	return step
}
