package residual

import (
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// tiny are workloads on domains that fit a matrix.
func tiny() map[string]*Workload {
	tree := NewAttribute([]Level{{[]int{0, 2}}, {[]int{0, 1, 4}}})
	even := NewAttribute([]Level{{[]int{0, 2}}, {[]int{0, 3, 6}}})
	six := NewAttribute([]Level{{[]int{0, 1}}, {[]int{0, 2}}, {[]int{0, 1, 3}}, {[]int{0, 2, 3, 4}}, {[]int{0, 1, 3, 4, 6}}, {[]int{0, 1, 2, 3, 6, 7, 8}}})
	levels := func(most ...int) []Table { // all tables of up to these levels
		out := []Table{nil}
		for a, n := range most {
			for _, t := range append([]Table(nil), out...) {
				for l := 1; l <= n; l++ {
					out = append(out, append(append(Table(nil), t...), Part{a, l}))
				}
			}
		}
		return out
	}
	return map[string]*Workload{
		"2":             NewWorkload(flat(2), upTo(1, 0, 1), false),
		"5":             NewWorkload(flat(5), upTo(1, 1, 1), false),
		"2x2":           NewWorkload(flat(2, 2), upTo(2, 0, 2), false),
		"2x3, 1-way":    NewWorkload(flat(2, 3), upTo(2, 1, 1), false),
		"2x3x4":         NewWorkload(flat(2, 3, 4), upTo(3, 0, 3), false),
		"2x3x4, 2-way":  NewWorkload(flat(2, 3, 4), upTo(3, 2, 2), false),
		"2^5, 2-way":    NewWorkload(flat(2, 2, 2, 2, 2), upTo(5, 2, 2), false),
		"3x3x3, to 2":   NewWorkload(flat(3, 3, 3), upTo(3, 0, 2), false),
		"1x4x2":         NewWorkload(flat(1, 4, 2), upTo(3, 0, 3), false),
		"two tables":    NewWorkload(flat(2, 3, 4), []Table{{{0, 1}, {2, 1}}, {{1, 1}}}, false),
		"tree":          NewWorkload([]Attribute{tree, Flat(2)}, levels(2, 1), false),
		"even tree":     NewWorkload([]Attribute{even, Flat(3)}, levels(2, 1), false),
		"six levels":    NewWorkload([]Attribute{six, Flat(2)}, levels(6, 1), false),
		"two trees":     NewWorkload([]Attribute{tree, even}, levels(2, 2), false),
		"tree, by leaf": NewWorkload([]Attribute{tree, even}, []Table{{{0, 2}, {1, 1}}}, false),
	}
}

// all is the table of all attributes at their finest levels.
func (w *Workload) all() (t Table) {
	for i, a := range w.Attributes {
		t = append(t, Part{i, len(a.Levels)})
	}
	return t
}

// one is the table of all attributes with one record.
func (w *Workload) one(record int) []int64 {
	x := make([]int64, w.Cells(w.all()))
	x[record] = 1
	return x
}

// strategy is the matrix of all contrasts, those of each residual over the standard
// deviation of their noise.
func (w *Workload) strategy(sigma []float64) *mat.Dense {
	n := w.Cells(w.all())
	var rows [][]float64
	for b, r := range w.Residuals {
		if !w.Measured(b) {
			continue
		}
		from := len(rows)
		for range w.Cells(r) {
			rows = append(rows, make([]float64, n))
		}
		for record := range n {
			counts := append([]int64(nil), Fold(w, w.all(), r, w.one(record))...)
			w.Contrast(r, counts)
			for i, c := range counts {
				rows[from+i][record] = float64(c) / (math.Sqrt(sigma[b]) * w.Unit(b))
			}
		}
	}
	m := mat.NewDense(len(rows), n, nil)
	for i, r := range rows {
		m.SetRow(i, r)
	}
	return m
}

// pseudo is the pseudo-inverse of a symmetric matrix.
func pseudo(m *mat.Dense) *mat.Dense {
	n, _ := m.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			s.SetSym(i, j, m.At(i, j))
		}
	}
	var e mat.EigenSym
	e.Factorize(s, true)
	var v mat.Dense
	e.VectorsTo(&v)
	values := e.Values(nil)
	var scaled mat.Dense
	scaled.Apply(func(_, j int, x float64) float64 {
		if values[j] < 1e-10*values[n-1] {
			return 0
		}
		return x / values[j]
	}, &v)
	var out mat.Dense
	out.Mul(&scaled, v.T())
	return &out
}

// The matrices know nothing of residuals: the variance of a cell is that of the best
// unbiased estimate from all noisy contrasts, and what a record costs is the square of its
// column. No Gaussian mechanism can have a smaller sum of variances than the bound of the
// singular values (Li and Miklau 2013), and where all attributes are flat it is met.
func TestStrategyMatrices(t *testing.T) {
	for name, w := range tiny() {
		sigma := w.Alike(w.cells())
		m := w.strategy(sigma)
		var gram mat.Dense
		gram.Mul(m.T(), m)
		cost := 0.0
		for i := range gram.RawMatrix().Rows {
			cost = math.Max(cost, gram.At(i, i))
		}
		uneven := name == "tree" || name == "two trees" || name == "six levels" || name == "tree, by leaf"
		if cost > 1+1e-12 || !uneven && cost < 1-1e-12 {
			t.Errorf("%s: a record costs %.15f", name, cost)
		}
		inverse := pseudo(&gram)
		n := w.Cells(w.all())
		var work [][]float64 // the cells of all tables
		total, largest := 0.0, 0.0
		for _, table := range w.Tables {
			noise := map[string]float64{}
			for b, r := range w.Residuals {
				if w.Measured(b) {
					noise[r.Key()] = sigma[b]
				}
			}
			got := w.Variance(table, func(r Table) float64 { return noise[r.Key()] })
			cells := make([]*mat.VecDense, w.Cells(table))
			for c := range cells {
				cells[c] = mat.NewVecDense(n, nil)
			}
			for record := range n {
				for c, x := range Fold(w, w.all(), table, w.one(record)) {
					cells[c].SetVec(record, float64(x))
				}
			}
			for c, row := range cells {
				want := mat.Inner(row, inverse, row)
				if v := got[c%len(got)]; math.Abs(v-want) > 2e-13*want {
					t.Errorf("%s: variance %.15g of a cell, by matrices %.15g", name, v, want)
				}
				total, largest = total+want, math.Max(largest, want)
				work = append(work, row.RawVector().Data)
			}
		}
		if uneven {
			continue
		}
		matrix := mat.NewDense(len(work), n, nil)
		for i, r := range work {
			matrix.SetRow(i, r)
		}
		var svd mat.SVD
		svd.Factorize(matrix, mat.SVDNone)
		bound := 0.0
		for _, s := range svd.Values(nil) {
			bound += s
		}
		if bound *= bound / float64(n); math.Abs(total-bound) > 1e-12*bound {
			t.Errorf("%s: the variances add up to %.15g, the bound is %.15g", name, total, bound)
		}
	}
}

// By enumeration of all pairs of records: what one adds is Norms exactly, and two are no
// further apart than Apart, which the worst pair attains where all attributes are flat.
func TestNormsByEnumeration(t *testing.T) {
	for name, w := range tiny() {
		n := w.Cells(w.all())
		vectors, squares := make([][]int64, n), make([]float64, len(w.Residuals))
		sum := new(big.Int)
		for b, r := range w.Residuals {
			if !w.Measured(b) {
				continue
			}
			factor := int64(b%3+1) << 20
			square, side := w.Norms(b)
			most, longest := new(big.Int), new(big.Int)
			for record := range n {
				counts := append([]int64(nil), Fold(w, w.all(), r, w.one(record))...)
				w.Contrast(r, counts)
				own, long := new(big.Int), new(big.Int)
				for _, c := range counts {
					own.Add(own, new(big.Int).Mul(big.NewInt(c), big.NewInt(c)))
					long.Add(long, new(big.Int).Abs(big.NewInt(c)))
					vectors[record] = append(vectors[record], c*factor)
				}
				if own.Cmp(most) > 0 {
					most = own
				}
				if long.Cmp(longest) > 0 {
					longest = long
				}
			}
			if most.Cmp(square) != 0 || longest.Cmp(side) > 0 {
				t.Errorf("%s: residual %d has norms %v and %v, stated %v and %v", name, b, most, longest, square, side)
			}
			square.Mul(square, big.NewInt(factor*factor))
			sum.Add(sum, square)
			squares[b], _ = new(big.Float).SetInt(square).Float64()
		}
		worst := new(big.Int)
		for i := range vectors {
			for j := range i {
				apart := new(big.Int)
				for k, x := range vectors[i] {
					d := big.NewInt(x - vectors[j][k])
					apart.Add(apart, d.Mul(d, d))
				}
				if apart.Cmp(worst) > 0 {
					worst = apart
				}
			}
		}
		stated := w.Apart(squares, sum)
		ratio, _ := new(big.Rat).SetFrac(worst, stated).Float64()
		isFlat := true
		for _, a := range w.Attributes {
			isFlat = isFlat && len(a.Levels) == 1
		}
		if ratio > 1 || isFlat && ratio < 1-1e-8 || ratio < 0.5 {
			t.Errorf("%s: the worst pair is %v of what is stated", name, ratio)
		}
		// Twins: the norm of one record alone, and a residual left out of the charge.
		if name != "2" && worst.Cmp(sum) <= 0 {
			t.Errorf("%s: two records are no further apart than one is from none", name)
		}
		if simple := w.simple(squares); worst.Cmp(ceilInt(2*(simple+floatOf(sum)))) > 0 {
			t.Errorf("%s: the simple bound does not hold", name)
		}
	}
}

func ceilInt(x float64) *big.Int {
	i, _ := big.NewFloat(math.Ceil(x * (1 + 1e-12))).Int(nil)
	return i
}

func floatOf(x *big.Int) float64 {
	f, _ := new(big.Float).SetInt(x).Float64()
	return f
}

// Classes of like attributes give the same as each attribute alone.
func TestApartOfManyColumns(t *testing.T) {
	for _, sizes := range [][]int{{2, 2, 2, 3, 3}, {4, 4, 4, 4}, {2, 3, 4, 5}} {
		w := NewWorkload(flat(sizes...), upTo(len(sizes), 0, 3), false)
		squares, sum := make([]float64, len(w.Residuals)), new(big.Int)
		for b := range squares {
			square, _ := w.Norms(b)
			sum.Add(sum, square)
			squares[b] = floatOf(square)
		}
		together, ok := w.against(squares, true)
		alone, fine := w.against(squares, false)
		if !ok || !fine || math.Abs(together-alone) > 1e-9*floatOf(sum) {
			t.Errorf("%v: %v together (%v), %v alone (%v)", sizes, together, ok, alone, fine)
		}
		squares[len(squares)-1] *= 4 // one of its kind alone: the classes must notice
		together, ok = w.against(squares, true)
		if alone, _ = w.against(squares, false); ok && together < alone {
			t.Errorf("%v: classes hide a residual", sizes)
		}
	}
	big20 := NewWorkload(flat(repeated(10, 20)...), upTo(20, 0, 3), false)
	squares := make([]float64, len(big20.Residuals))
	sum := 0.0
	for b := range squares {
		squares[b] = 1
		sum++
	}
	if got, ok := big20.against(squares, true); !ok || got > big20.simple(squares) {
		t.Errorf("20 columns: %v (%v), the simple bound is %v", got, ok, big20.simple(squares))
	}
}
