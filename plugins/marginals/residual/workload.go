package residual

import (
	"math"
	"slices"
)

// Part is an attribute of a table, at a level of at least 1.
type Part struct{ Attribute, Level int }

// Table is a set of attributes, in ascending order. The empty table is the total.
type Table []Part

// Key names a table in a map.
func (t Table) Key() string {
	var b []byte
	for _, p := range t {
		b = append(b, byte(p.Attribute), byte(p.Attribute>>8), byte(p.Level))
	}
	return string(b)
}

// Workload is a family of tables that are to be released, and what they are made of.
type Workload struct {
	Attributes []Attribute
	Tables     []Table
	// Residuals are all tables below those of the workload, each after those below it.
	Residuals []Table
	below     [][]share
	own       []int32 // the residual of a table itself, -1 where nothing is measured for it
	cost      []float64
}

// share is the amount that noise of variance 1 in a residual adds to the mean variance of a table.
type share struct {
	residual int32
	factor   float64
}

// NewWorkload finds the residuals of the tables. Free says that the total is public and need not be
// measured.
func NewWorkload(attributes []Attribute, tables []Table, free bool) *Workload {
	w := &Workload{Attributes: attributes, Tables: tables}
	at := map[string]int32{}
	var depth []int
	for _, t := range tables {
		w.each(t, func(r Table, _ float64) {
			key := r.Key()
			if _, have := at[key]; !have {
				at[key] = 0
				w.Residuals = append(w.Residuals, slices.Clone(r))
			}
		})
	}
	for _, r := range w.Residuals {
		d := 0
		for _, p := range r {
			d += p.Level
		}
		depth = append(depth, d)
	}
	order := make([]int, len(depth))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return depth[i] - depth[j] })
	sorted := make([]Table, len(order))
	for i, from := range order {
		sorted[i] = w.Residuals[from]
		at[sorted[i].Key()] = int32(i)
	}
	w.Residuals = sorted
	w.cost = make([]float64, len(sorted))
	for i, r := range sorted {
		w.cost[i] = 1
		for _, p := range r {
			w.cost[i] *= attributes[p.Attribute].cost(p.Level)
		}
		if free && len(r) == 0 {
			w.cost[i] = 0
		}
	}
	w.below, w.own = make([][]share, len(tables)), make([]int32, len(tables))
	for i, t := range tables {
		w.each(t, func(r Table, factor float64) {
			b := at[r.Key()]
			if w.own[i] = -1; w.cost[b] > 0 { // the table itself comes last
				w.below[i] = append(w.below[i], share{b, factor})
				w.own[i] = b
			}
		})
	}
	return w
}

// each visits the tables below t and then t itself, with the factor of the noise in their residuals.
func (w *Workload) each(t Table, visit func(r Table, factor float64)) {
	r := make(Table, 0, len(t))
	var step func(at int, factor float64)
	step = func(at int, factor float64) {
		if at == len(t) {
			visit(r, factor)
			return
		}
		p := t[at]
		mean := w.Attributes[p.Attribute].facts[p.Level-1].mean
		step(at+1, factor*mean[0])
		for l := 1; l <= p.Level; l++ {
			r = append(r, Part{p.Attribute, l})
			step(at+1, factor*mean[l])
			r = r[:len(r)-1]
		}
	}
	step(0, 1)
}

// Cells is the number of cells of a table.
func (w *Workload) Cells(t Table) int {
	n := 1
	for _, p := range t {
		if m := w.Attributes[p.Attribute].Nodes(p.Level); n > math.MaxInt32/m {
			return math.MaxInt32
		} else {
			n *= m
		}
	}
	return n
}

// Free is the number of numbers of a residual that are free: the others follow, because nodes with one parent add up to 0.
func (w *Workload) Free(t Table) float64 {
	n := 1.0
	for _, p := range t {
		a := w.Attributes[p.Attribute]
		n *= float64(a.Nodes(p.Level) - a.Nodes(p.Level-1))
	}
	return n
}

// Measured reports whether noise is added to a residual: it is neither public nor always 0.
func (w *Workload) Measured(residual int) bool { return w.cost[residual] > 0 }

// Variances are the mean variances of the cells of each table, for these variances of the
// residuals.
func (w *Workload) Variances(sigma []float64) []float64 {
	out := make([]float64, len(w.Tables))
	for i, below := range w.below {
		for _, s := range below {
			out[i] += sigma[s.residual] * s.factor
		}
	}
	return out
}
