package residual

import (
	"math"
	"testing"
)

// upTo are all tables of between least and most of the attributes.
func upTo(n, least, most int) []Table {
	var out []Table
	var t Table
	var step func(from int)
	step = func(from int) {
		if len(t) >= least {
			out = append(out, append(Table(nil), t...))
		}
		for i := from; i < n && len(t) < most; i++ {
			t = append(t, Part{i, 1})
			step(i + 1)
			t = t[:len(t)-1]
		}
	}
	step(0)
	return out
}

func flat(sizes ...int) []Attribute {
	var out []Attribute
	for _, n := range sizes {
		out = append(out, Flat(n))
	}
	return out
}

func repeated(n, times int) []int {
	var out []int
	for range times {
		out = append(out, n)
	}
	return out
}

// cells are the weights that count every cell alike, and tables those that count every
// table alike.
func (w *Workload) cells() []float64 {
	var out []float64
	for _, t := range w.Tables {
		out = append(out, float64(w.Cells(t)))
	}
	return out
}

func (w *Workload) alike() []float64 {
	out := make([]float64, len(w.Tables))
	for i := range out {
		out[i] = 1
	}
	return out
}

func (w *Workload) total(sigma, weights []float64) float64 {
	sum := 0.0
	for i, v := range w.Variances(sigma) {
		sum += v * weights[i]
	}
	return sum
}

func (w *Workload) largest(sigma []float64) float64 {
	most := 0.0
	for _, v := range w.Variances(sigma) {
		most = math.Max(most, v)
	}
	return most
}

// spent returns the cost of the variances, which is 1.
func (w *Workload) spent(sigma []float64) float64 {
	sum := 0.0
	for b, p := range w.cost {
		if p > 0 {
			sum += p / sigma[b]
		}
	}
	return sum
}

func near(a, b, relative float64) bool { return math.Abs(a-b) <= relative*math.Abs(b) }

// The reference figures, at ρ = 1/2: checked against strategy matrices and the bound of
// singular values when they were computed.
func TestReferences(t *testing.T) {
	for _, c := range []struct {
		name                string
		w                   *Workload
		least, mean, atMost float64
	}{
		{"20 columns of 10 values, up to 3-way", NewWorkload(flat(repeated(10, 20)...), upTo(20, 0, 3), false), 839859903.1217, 724.51619963, 768.94139745},
		{"the same, exactly 3-way", NewWorkload(flat(repeated(10, 20)...), upTo(20, 3, 3), false), 807736840.1259, 708.54108783, 708.54108783},
		{"5 binary columns, exactly 2-way", NewWorkload(flat(repeated(2, 5)...), upTo(5, 2, 2), false), 134.1227766017, 3.3530694150, 3.3530694150},
		{"columns of 2, 3 and 4, all subsets", NewWorkload(flat(2, 3, 4), upTo(3, 0, 3), false), 136.4259028176, 2.2737650470, 3.2},
	} {
		cells := 0.0
		for _, n := range c.w.cells() {
			cells += n
		}
		sigma := c.w.Alike(c.w.cells())
		if got := c.w.total(sigma, c.w.cells()); !near(got, c.least, 1e-12) || !near(got/cells, c.mean, 1e-10) {
			t.Errorf("%s: every cell alike: %.4f and %.8f a cell, want %.4f and %.8f", c.name, got, got/cells, c.least, c.mean)
		}
		large, gap := c.w.LeastLargest(c.w.alike())
		if got := c.w.largest(large); !near(got, c.atMost, 1e-8) || gap > nearLeast {
			t.Errorf("%s: least largest: %.8f, want %.8f (gap %g)", c.name, got, c.atMost, gap)
		}
		for _, s := range [][]float64{sigma, large} {
			if got := c.w.spent(s); !near(got, 1, 1e-12) {
				t.Errorf("%s: %.15f of the budget is spent", c.name, got)
			}
		}
	}
	// Weighting every cell alike starves the total.
	w := NewWorkload(flat(repeated(10, 20)...), upTo(20, 0, 3), false)
	if v := w.Variances(w.Alike(w.cells()))[0]; math.Round(v) != 11792 {
		t.Errorf("every cell alike: the total has variance %v", v)
	}
	if v := w.Variances(w.Alike(w.alike()))[0]; math.Floor(v) != 922 {
		t.Errorf("every table alike: the total has variance %v", v)
	}
}

// Where weights of equal variances would be negative, steps reach the optimum too. They
// state a lower bound of what is possible, so how near they are is no matter of belief.
func TestLeastLargestBySteps(t *testing.T) {
	for name, w := range map[string]*Workload{
		"20 binary columns, up to 3-way": NewWorkload(flat(repeated(2, 20)...), upTo(20, 0, 3), false),
		"12 columns, up to 3-way":        NewWorkload(flat(2, 2, 2, 2, 3, 3, 4, 5, 7, 9, 12, 30), upTo(12, 0, 3), false),
		"exactly 2-way, of many sizes":   NewWorkload(flat(2, 3, 4, 7, 11, 20, 50), upTo(7, 2, 2), false),
		"a few tables":                   NewWorkload(flat(2, 3, 4, 5), []Table{{{0, 1}, {1, 1}}, {{1, 1}, {2, 1}}, {{3, 1}}}, false),
		"the total is public":            NewWorkload(flat(2, 3, 4, 5), upTo(4, 0, 2), true),
		"a column of one value":          NewWorkload(flat(1, 3, 4), upTo(3, 0, 2), false),
		"levels": NewWorkload([]Attribute{NewAttribute([]Level{{[]int{0, 3}}, {[]int{0, 2, 4, 9}}}), Flat(2)},
			[]Table{{}, {{0, 1}}, {{0, 2}}, {{1, 1}}, {{0, 1}, {1, 1}}, {{0, 2}, {1, 1}}}, false),
	} {
		sigma, gap := w.LeastLargest(w.alike())
		if gap > 1e-7 || !near(w.spent(sigma), 1, 1e-12) {
			t.Errorf("%s: within %g of the optimum, %v spent", name, gap, w.spent(sigma))
		}
		// Nothing that is tried nearby is better.
		for b := range sigma {
			for _, f := range []float64{0.99, 1.01} {
				other := append([]float64(nil), sigma...)
				other[b] *= f
				if w.largest(other)*w.spent(other) < w.largest(sigma)*(1-1e-6) && b < 40 {
					t.Errorf("%s: changing residual %d is better: %v < %v", name, b, w.largest(other), w.largest(sigma))
				}
			}
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	b.ReportMetric(50, "reference-ms")
	for range b.N {
		w := NewWorkload(flat(repeated(10, 20)...), upTo(20, 0, 3), false)
		w.LeastLargest(w.alike())
	}
}

func BenchmarkPlanHundred(b *testing.B) {
	b.ReportMetric(1300, "reference-ms")
	for range b.N {
		w := NewWorkload(flat(repeated(10, 100)...), upTo(100, 0, 3), false)
		w.LeastLargest(w.alike())
	}
}
