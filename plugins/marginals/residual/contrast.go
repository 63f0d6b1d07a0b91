package residual

// Contrast turns the counts of a table into its contrasts, in place: along every attribute,
// each node becomes scale·(m·count − the sum of the counts of the m nodes with its parent).
func (w *Workload) Contrast(t Table, counts []int64) {
	families(w, t, counts, func(children [][]int64, sums []int64, scale int64) {
		m := int64(len(children))
		for _, child := range children {
			for i, x := range child {
				child[i] = scale * (m*x - sums[i])
			}
		}
	})
}

// Centre turns noisy contrasts into a residual in counts, in place: it takes off what the
// noise added to the sums over the nodes with one parent, and divides by scale·m.
func (w *Workload) Centre(t Table, values []float64) {
	families(w, t, values, func(children [][]float64, sums []float64, scale int64) {
		m := float64(len(children))
		for _, child := range children {
			for i, x := range child {
				child[i] = (x - sums[i]/m) / (float64(scale) * m)
			}
		}
	})
}

// Residual turns the numbers of a table into its residual, in place: along every attribute,
// it takes off the mean of the nodes with one parent.
func (w *Workload) Residual(t Table, values []float64) {
	families(w, t, values, func(children [][]float64, sums []float64, _ int64) {
		m := float64(len(children))
		for _, child := range children {
			for i, x := range child {
				child[i] = x - sums[i]/m
			}
		}
	})
}

// families visits, along one attribute of a table after another, the nodes with one parent,
// with their sums. The cells of a node lie side by side.
func families[T int64 | float64](w *Workload, t Table, values []T, visit func(children [][]T, sums []T, scale int64)) {
	inner := len(values)
	for _, p := range t {
		a := w.Attributes[p.Attribute]
		first, nodes := a.Levels[p.Level-1].First, a.Nodes(p.Level)
		block := inner
		inner /= nodes
		sums := make([]T, inner)
		var children [][]T
		for at := 0; at < len(values); at += block {
			for u, scale := range a.facts[p.Level-1].scales {
				clear(sums)
				children = children[:0]
				for x := first[u]; x < first[u+1]; x++ {
					child := values[at+x*inner:][:inner]
					for i, y := range child {
						sums[i] += y
					}
					children = append(children, child)
				}
				visit(children, sums, scale)
			}
		}
	}
}

// Sum adds up the residuals below a table: each node gets an equal part of what its parent
// has, and its own residual. residual gives the values of a table below, nil for zeros.
func (w *Workload) Sum(t Table, residual func(Table) []float64) []float64 {
	below := make(Table, 0, len(t))
	var build func(at, outer int) []float64
	build = func(at, outer int) []float64 {
		if at == len(t) {
			r := residual(below)
			if r == nil {
				r = make([]float64, outer)
			}
			return r
		}
		inner := w.Cells(t[at+1:])
		a := w.Attributes[t[at].Attribute]
		sum := build(at+1, outer)
		for l := 1; l <= t[at].Level; l++ {
			below = append(below, Part{t[at].Attribute, l})
			more := build(at+1, outer*a.Nodes(l))
			below = below[:len(below)-1]
			sum = spread(sum, more, a.Levels[l-1].First, outer, inner)
		}
		return sum
	}
	return build(0, 1)
}

// spread hands the values of nodes down to their children in equal parts, and adds more.
func spread(sum, more []float64, first []int, outer, inner int) []float64 {
	out := make([]float64, len(more))
	nodes, above := first[len(first)-1], len(first)-1
	for o := range outer {
		for u := range above {
			part := 1 / float64(first[u+1]-first[u])
			from := sum[(o*above+u)*inner:][:inner]
			for x := first[u]; x < first[u+1]; x++ {
				at := (o*nodes + x) * inner
				to, plus := out[at:at+inner], more[at:at+inner]
				for i := range to {
					to[i] = from[i]*part + plus[i]
				}
			}
		}
	}
	return out
}

// Variance are the variances of the cells of a table, for the variance of the noise in each
// residual below it: one value where all cells have the same.
func (w *Workload) Variance(t Table, noise func(Table) float64) []float64 {
	n, even := 1, true
	for _, p := range t {
		for l := range p.Level {
			even = even && w.Attributes[p.Attribute].facts[l].even
		}
	}
	if !even {
		n = w.Cells(t)
	}
	out := make([]float64, n)
	below := make(Table, 0, len(t))
	var step func(at int, factors [][]float64)
	step = func(at int, factors [][]float64) {
		if at < len(t) {
			for l, share := range w.Attributes[t[at].Attribute].facts[t[at].Level-1].share {
				if l > 0 {
					below = append(below, Part{t[at].Attribute, l})
				}
				step(at+1, append(factors, share))
				if l > 0 {
					below = below[:len(below)-1]
				}
			}
			return
		}
		v := noise(below)
		for cell := range out {
			x, rest := v, cell
			for i := len(factors) - 1; i >= 0; i-- {
				x *= factors[i][rest%len(factors[i])]
				rest /= len(factors[i])
			}
			out[cell] += x
		}
	}
	step(0, nil)
	return out
}

// Fold adds up the numbers of a table to those of one below it. It may return counts itself.
func Fold[T int64 | float64](w *Workload, from, to Table, counts []T) []T {
	outer := 1
	for _, p := range from {
		level := 0
		if len(to) > 0 && to[0].Attribute == p.Attribute {
			level, to = to[0].Level, to[1:]
		}
		for l := p.Level; l > level; l-- {
			counts = fold(counts, w.Attributes[p.Attribute].Levels[l-1].First, outer)
		}
		outer *= w.Attributes[p.Attribute].Nodes(level)
	}
	return counts
}

// fold adds up the children of each node.
func fold[T int64 | float64](counts []T, first []int, outer int) []T {
	nodes, above := first[len(first)-1], len(first)-1
	inner := len(counts) / outer / nodes
	out := make([]T, outer*above*inner)
	for o := range outer {
		for u := range above {
			to := out[(o*above+u)*inner:][:inner]
			for x := first[u]; x < first[u+1]; x++ {
				for i, c := range counts[(o*nodes+x)*inner:][:inner] {
					to[i] += c
				}
			}
		}
	}
	return out
}
