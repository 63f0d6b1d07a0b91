package series

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// banded returns a lower triangular matrix with columns of norm 1 and as many diagonals as
// `bands` for which the rows of w have small errors. Columns that are so far apart have no
// run in common: a unit with k periods that far apart costs k times one period, not more.
//
// The search goes downhill from the square root, and ends after a fixed amount of work. The
// largest error is approached by means of higher and higher powers.
func banded(w *mat.Dense, goal Goal, bands int) *mat.Dense {
	count, n := w.Dims()
	powers := []float64{1}
	if goal == Worst {
		powers = []float64{2, 8, 32}
	}
	tries := max(2, min(150, 500_000_000/((n+count)*n*n*len(powers))))
	x := pack(toeplitz(n, bands), bands)
	best, least := unpack(x, n, bands), math.Inf(1)
	for _, power := range powers {
		var at, slope []float64
		value := func(x []float64) (f float64) {
			f, slope = powerMean(w, x, bands, power)
			at = slices.Clone(x)
			return f
		}
		problem := optimize.Problem{Func: value, Grad: func(grad, x []float64) {
			if !slices.Equal(at, x) {
				value(x)
			}
			copy(grad, slope)
		}}
		limits := optimize.Settings{FuncEvaluations: tries, Converger: &optimize.FunctionConverge{Relative: 1e-4, Iterations: 4}}
		// An error says that the search cannot go on. What it has found so far is as good
		// as any other matrix.
		result, _ := optimize.Minimize(problem, x, &limits, &optimize.LBFGS{})
		if result == nil || len(result.X) != len(x) || floats.HasNaN(result.X) {
			break
		}
		x = result.X
		c := unpack(x, n, bands)
		if e := goal.of(squares(w, c)); e < least {
			least, best = e, c
		}
	}
	return best
}

// pack lists the entries of a banded matrix, column by column.
func pack(c *mat.Dense, bands int) (x []float64) {
	n, _ := c.Dims()
	for s := range n {
		for t := s; t < min(s+bands, n); t++ {
			x = append(x, c.At(t, s))
		}
	}
	return x
}

// unpack is the inverse of pack, and gives each column the norm 1.
func unpack(x []float64, n, bands int) *mat.Dense {
	c := mat.NewDense(n, n, nil)
	for s := range n {
		column := x[:min(bands, n-s)]
		x = x[len(column):]
		norm := floats.Norm(column, 2)
		for i, v := range column {
			c.Set(s+i, s, v/norm)
		}
	}
	return c
}

// powerMean returns (Σ e^p / rows)^(1/p) for the squared errors e of the rows of w with the
// matrix that x packs, and its slope at x.
func powerMean(w *mat.Dense, x []float64, bands int, p float64) (mean float64, slope []float64) {
	count, n := w.Dims()
	c := unpack(x, n, bands)
	lower := mat.NewTriDense(n, mat.Lower, slices.Clone(c.RawMatrix().Data))
	var inverse mat.TriDense
	if inverse.InverseTri(lower) != nil {
		return math.Inf(1), make([]float64, len(x))
	}
	var b mat.Dense // W·C⁻¹
	b.Mul(w, &inverse)
	errs := make([]float64, count)
	for r := range errs {
		errs[r] = floats.Dot(b.RawRowView(r), b.RawRowView(r))
	}
	most := floats.Max(errs)
	for _, e := range errs {
		mean += math.Pow(e/most, p) / float64(count)
	}
	mean = most * math.Pow(mean, 1/p)
	// With S the diagonal of the mean's slopes in e, the slope in C is −2·BᵀSB·C⁻ᵀ.
	for r, e := range errs {
		floats.Scale(math.Sqrt(math.Pow(e/mean, p-1)/float64(count)), b.RawRowView(r))
	}
	var bb, g mat.Dense
	bb.Mul(b.T(), &b)
	g.Mul(&bb, inverse.T())
	slope = make([]float64, 0, len(x))
	for s := range n {
		column := x[:min(bands, n-s)]
		x = x[len(column):]
		norm, along := floats.Norm(column, 2), 0.0
		for i := range column {
			along += g.At(s+i, s) * c.At(s+i, s)
		}
		for i := range column {
			slope = append(slope, -2*(g.At(s+i, s)-along*c.At(s+i, s))/norm)
		}
	}
	return mean, slope
}
