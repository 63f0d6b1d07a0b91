package regression

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/dprelease/dprelease/plugins/features"
	"github.com/dprelease/dprelease/plugins/linear"
)

// fit holds the results that follow from the noisy sums. It is post-processing: nothing here sees
// the table.
type fit struct {
	coefficients  []float64 // in the columns' own units, the intercept first
	noiseErrors   []float64 // standard errors from the noise alone
	errors        []float64 // standard errors from the noise and the scatter of the rows
	rows          float64   // the number of rows, or its noisy estimate
	residual      float64   // the scatter around the line
	residualError float64
	explained     float64 // R²
	weak          int     // directions that the noise hides
	none          bool    // the noise hides whether there are any rows
}

// equations are the noisy sums as matrices.
type equations struct {
	products *mat.SymDense // of the intercept and the coordinates with each other
	target   *mat.VecDense // of these with the target
	squares  float64       // of the target with itself
	rows     float64
}

func (l *layout) equations(total []int64) equations {
	p := l.sums.size - 1
	e := equations{products: mat.NewSymDense(p, nil), target: mat.NewVecDense(p, nil), rows: l.rows}
	at := func(i, j int) float64 {
		if k := l.sums.place[i*l.sums.size+j]; k >= 0 {
			return float64(total[k]) / steps
		}
		switch {
		case i == 0:
			return l.rows // the product 1·1 of every row
		case i == j:
			return float64(total[l.sums.place[j]]) / steps // an indicator is its square
		}
		return 0 // two indicators of one category
	}
	for i := range p {
		for j := i; j < p; j++ {
			e.products.SetSym(i, j, at(i, j))
		}
		e.target.SetVec(i, at(i, p))
	}
	e.squares, e.rows = at(p, p), at(0, 0)
	return e
}

// solve returns the ridge or least-squares fit of the noisy equations.
//
// Noise can turn eigenvalues of the matrix small or negative. Those that noise alone
// can make, up to twice its standard deviation times the root of the size, are raised
// to that figure. A direction that was raised is weak: what the table says about it is
// hidden.
func (l *layout) solve(total []int64, n linear.Noise) (f fit) {
	e := l.equations(total)
	p, sd := e.target.Len(), unit(n)
	ridged := mat.NewSymDense(p, nil)
	ridged.CopySym(e.products)
	for j := 1; j < p; j++ {
		ridged.SetSym(j, j, ridged.At(j, j)+l.params.Ridge*math.Max(1, e.rows))
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(ridged, true) { // a symmetric matrix of finite numbers always can
		zeros := make([]float64, p)
		return fit{coefficients: zeros, noiseErrors: zeros, errors: zeros, weak: p, none: true}
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	floor := 2 * sd * math.Sqrt(float64(p))
	weak := make([]bool, p)
	inverse := mat.NewDiagDense(p, nil)
	for k, x := range eigen.Values(nil) {
		if weak[k] = x < floor; weak[k] {
			x = floor
			f.weak++
		}
		inverse.SetDiag(k, 1/x)
	}
	var solver, half mat.Dense
	half.Mul(&axes, inverse)
	solver.Mul(&half, axes.T())
	var w mat.VecDense
	w.MulVec(&solver, e.target)

	// The residual sum of squares and how far noise moves it.
	var aw mat.VecDense
	aw.MulVec(e.products, &w)
	rss := e.squares - 2*mat.Dot(&w, e.target) + mat.Dot(&w, &aw)
	pull, rssNoise := l.noiseIn(w.RawVector().Data)
	rssNoise *= sd
	degrees := math.Max(1, e.rows-float64(p))
	variance := math.Max(rss, rssNoise) / degrees
	f.rows, f.none = e.rows*l.weight, l.sums.count && n.Hides(e.rows, sd)
	f.residual = l.target.Half * math.Sqrt(variance)
	f.residualError = l.target.Half * rssNoise / degrees / (2 * math.Sqrt(variance))
	if spread := e.squares - e.target.AtVec(0)*e.target.AtVec(0)/math.Max(1, e.rows); spread > 0 {
		f.explained = math.Max(0, math.Min(1, 1-rss/spread))
	}

	// The covariances of the scaled coefficients, then in the columns' units.
	var noise, scatter mat.Dense
	noise.Product(&solver, pull, &solver)
	noise.Scale(sd*sd, &noise)
	for k := range p {
		if weak[k] { // unknown by as much as a whole range of the target
			axis := axes.ColView(k)
			var unknown mat.Dense
			unknown.Outer(1, axis, axis)
			noise.Add(&noise, &unknown)
		}
	}
	scatter.Scale(variance, &solver)
	scatter.Add(&scatter, &noise)
	f.coefficients = l.units(w.RawVector().Data)
	f.coefficients[0] = features.Finite(f.coefficients[0] + l.target.Middle)
	f.noiseErrors, f.errors = l.standardErrors(&noise), l.standardErrors(&scatter)
	return f
}

// units turns scaled coefficients into the columns' own units. It does not add the middle
// of the target.
func (l *layout) units(w []float64) []float64 {
	scaled := make([]float64, len(w))
	for j, x := range w {
		scaled[j] = features.Finite(x * l.target.Half)
	}
	return l.set.Unscale(scaled)
}

// standardErrors are the roots of the diagonal of a covariance of scaled coefficients
// that is carried over to the columns' own units.
func (l *layout) standardErrors(covariance *mat.Dense) []float64 {
	p, _ := covariance.Dims()
	// The linear map, column by column.
	units := mat.NewDense(p, p, nil)
	for j := range p {
		one := make([]float64, p)
		one[j] = 1
		units.SetCol(j, l.set.Unscale(one))
	}
	out := make([]float64, p)
	for i := range out {
		row := units.RowView(i)
		out[i] = features.Finite(l.target.Half * math.Sqrt(math.Max(0, mat.Inner(row, covariance, row))))
	}
	return out
}

// noiseIn follows noise of standard deviation 1 in every released sum to first order.
// Pull is the covariance of what it adds to the right-hand side of the equations at
// the solution w, and residual the standard deviation of what it adds to the residual
// sum of squares.
func (l *layout) noiseIn(w []float64) (pull *mat.SymDense, residual float64) {
	p := len(w)
	pull = mat.NewSymDense(p, nil)
	squares := 1.0 // the target's own square
	move := make([]float64, p)
	for i := range p {
		for j := i; j <= p; j++ {
			if l.sums.place[i*l.sums.size+j] < 0 {
				continue
			}
			touched := []int{i, j}
			clear(move)
			var rss float64
			switch {
			case j == p:
				touched = touched[:1]
				move[i], rss = 1, -2*w[i]
			case i == j:
				touched = touched[:1]
				move[i], rss = -w[i], w[i]*w[i]
			default:
				move[i], move[j], rss = -w[j], -w[i], 2*w[i]*w[j]
				if i == 0 && l.indicator(j) { // the sum is that of its squares, too
					move[j] -= w[j]
					rss += w[j] * w[j]
				}
			}
			squares += rss * rss
			for _, a := range touched {
				for _, b := range touched {
					if a <= b {
						pull.SetSym(a, b, pull.At(a, b)+move[a]*move[b])
					}
				}
			}
		}
	}
	return pull, math.Sqrt(squares)
}

// indicator reports whether coordinate j of a row is a category's 0 or 1.
func (l *layout) indicator(j int) bool { return l.sums.place[j*l.sums.size+j] < 0 }
