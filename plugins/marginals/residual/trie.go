package residual

// Trie holds the residuals of a workload by the levels of one attribute after another, so that the
// margins of a table that they all lie below share the work.
type Trie struct {
	w     *Workload
	table Table
	root  *branch
}

// branch holds the residuals that have the same levels so far. A level of 0 leaves an attribute out.
type branch struct {
	residual int // below the last attribute
	next     []*branch
}

// NewTrie makes a trie for a table that all residuals lie below.
func NewTrie(w *Workload, table Table) *Trie {
	t := &Trie{w: w, table: table, root: &branch{}}
	for i, r := range w.Residuals {
		b := t.root
		for _, p := range table {
			level := 0
			if len(r) > 0 && r[0].Attribute == p.Attribute {
				level, r = r[0].Level, r[1:]
			}
			if b.next == nil {
				b.next = make([]*branch, p.Level+1)
			}
			if b.next[level] == nil {
				b.next[level] = &branch{}
			}
			b = b.next[level]
		}
		b.residual = i
	}
	return t
}

// Fold visits each residual with the margin of the table that has these numbers. Visit may change
// a margin, unless it is the table itself.
func (t *Trie) Fold(numbers []float64, visit func(residual int, margin []float64)) {
	t.fold(t.root, 0, 1, numbers, visit)
}

func (t *Trie) fold(b *branch, at, outer int, numbers []float64, visit func(int, []float64)) {
	if at == len(t.table) {
		visit(b.residual, numbers)
		return
	}
	a := t.w.Attributes[t.table[at].Attribute]
	for level := t.table[at].Level; ; level-- {
		if next := b.next[level]; next != nil {
			t.fold(next, at+1, outer*a.Nodes(level), numbers, visit)
		}
		if level == 0 {
			return
		}
		numbers = fold(numbers, a.Levels[level-1].First, outer)
	}
}

// Lift returns for each cell of the table the sum of the values of the cells that it lies in, over
// all residuals. It is the transpose of Fold.
func (t *Trie) Lift(values [][]float64) []float64 { return t.lift(t.root, 0, 1, values) }

func (t *Trie) lift(b *branch, at, outer int, values [][]float64) (sum []float64) {
	if at == len(t.table) {
		return values[b.residual]
	}
	a, inner := t.w.Attributes[t.table[at].Attribute], t.w.Cells(t.table[at+1:])
	for level, next := range b.next {
		if level > 0 && sum != nil {
			sum = hand(sum, a.Levels[level-1].First, outer, inner)
		}
		if next == nil {
			continue
		}
		more := t.lift(next, at+1, outer*a.Nodes(level), values)
		if sum == nil {
			sum = more
			continue
		}
		for i, x := range more {
			sum[i] += x
		}
	}
	return sum
}

// hand gives each child what its parent has.
func hand(values []float64, first []int, outer, inner int) []float64 {
	nodes, above := first[len(first)-1], len(first)-1
	out := make([]float64, 0, outer*nodes*inner)
	for o := range outer {
		for u := range above {
			for range first[u+1] - first[u] {
				out = append(out, values[(o*above+u)*inner:][:inner]...)
			}
		}
	}
	return out
}
