package series

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// enough is the ratio to a lower bound of every matrix's mean square at which the search stops, and
// trace the share of the mean square that is added so that each period is measured a little.
const (
	enough = 1.002
	trace  = 1e-9
)

// optimum returns a lower triangular matrix of real numbers whose columns have norm 1 and
// for which the rows of w have errors as small as with any such matrix, nearly: the mean of
// their squares, or the largest of them.
//
// The mean square tr(V·X⁻¹), V = WᵀW, is convex in the Gram matrix X, whose diagonal is 1.
// Its minimum is X = D^{−½}·R·D^{−½} with R = (D^½·V·D^½)^½, for the diagonal matrix D that
// is the diagonal of R. For the worst row, the rows' shares in V grow with their errors, as
// in a game of two players. Each step bounds from below what any matrix reaches, so the
// search knows when it is near enough.
func optimum(w *mat.Dense, goal Goal) *mat.Dense {
	count, n := w.Dims()
	share := make([]float64, count)
	for r := range share {
		share[r] = 1 / float64(count)
	}
	u := make([]float64, n)
	for i := range u {
		u[i] = 1
	}
	v := mixed(w, share)
	var best *mat.Dense
	least, floor := math.Inf(1), 0.0
	for range steps(n) {
		root, ok := rootOf(v, u)
		if !ok {
			break
		}
		tr, all := mat.Trace(root), 0.0
		for _, x := range u {
			all += x
		}
		floor = max(floor, tr*tr/all)
		c, ok := factor(root)
		if !ok {
			break
		}
		errs := squares(w, c)
		reached := goal.of(errs)
		if reached < least {
			least, best = reached, c
		}
		if least <= floor*enough {
			break
		}
		for i := range u {
			u[i] = root.At(i, i)
		}
		if goal == Worst {
			all := 0.0
			for r, e := range errs {
				share[r] *= e
				all += share[r]
			}
			for r := range share {
				share[r] /= all
			}
			v = mixed(w, share)
		}
	}
	return best
}

// steps returns how many steps the search may take for n periods.
func steps(n int) int { return max(10, min(200, 400_000_000/(n*n*n))) }

// mixed returns WᵀDW for the shares D of the rows, and a trace of the identity.
func mixed(w *mat.Dense, share []float64) *mat.SymDense {
	count, n := w.Dims()
	scaled := mat.NewDense(count, n, nil)
	for r := range count {
		for s := range n {
			scaled.Set(r, s, w.At(r, s)*math.Sqrt(share[r]))
		}
	}
	v := mat.NewSymDense(n, nil)
	v.SymOuterK(1, scaled.T())
	more := trace * mat.Trace(v) / float64(n)
	for i := range n {
		v.SetSym(i, i, v.At(i, i)+more)
	}
	return v
}

// rootOf returns (D^½·V·D^½)^½.
func rootOf(v *mat.SymDense, u []float64) (*mat.SymDense, bool) {
	n := len(u)
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			a.SetSym(i, j, v.At(i, j)*math.Sqrt(u[i]*u[j]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(a, true) {
		return nil, false
	}
	var q mat.Dense
	eigen.VectorsTo(&q)
	for j, x := range eigen.Values(nil) {
		f := math.Sqrt(math.Sqrt(max(x, 0)))
		for i := range n {
			q.Set(i, j, q.At(i, j)*f)
		}
	}
	root := mat.NewSymDense(n, nil)
	root.SymOuterK(1, &q)
	return root, true
}

// factor returns the lower triangular C with CᵀC = X, X scaled to the diagonal 1: a Cholesky
// factor of the matrix turned upside down, turned back.
func factor(x *mat.SymDense) (*mat.Dense, bool) {
	n := x.SymmetricDim()
	turned := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			turned.SetSym(n-1-i, n-1-j, x.At(i, j)/math.Sqrt(x.At(i, i)*x.At(j, j)))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(turned) {
		return nil, false
	}
	var l mat.TriDense
	chol.LTo(&l)
	c := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range i + 1 {
			c.Set(n-1-j, n-1-i, l.At(i, j))
		}
	}
	return c, true
}

// squares returns the square of the norm of each row of W·C⁻¹.
func squares(w, c *mat.Dense) []float64 {
	count, n := w.Dims()
	b := mat.DenseCopyOf(w)
	errs := make([]float64, count)
	for r := range count {
		row := b.RawRowView(r)
		for t := n - 1; t >= 0; t-- {
			if row[t] == 0 {
				continue
			}
			cs := c.RawRowView(t)
			x := row[t] / cs[t]
			errs[r] += x * x
			for s := range t {
				row[s] -= x * cs[s]
			}
		}
	}
	return errs
}
