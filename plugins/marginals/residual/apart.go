package residual

import (
	"fmt"
	"math"
	"math/big"
)

// Cost is the cost of a residual at noise of variance 1: p in the proof.
func (w *Workload) Cost(residual int) float64 { return w.cost[residual] }

// Unit is approximately the factor of the contrasts of a residual.
func (w *Workload) Unit(residual int) float64 {
	unit := 1.0
	for _, p := range w.Residuals[residual] {
		unit *= w.Attributes[p.Attribute].facts[p.Level-1].unit
	}
	return unit
}

// Norms returns the largest squared L2 norm and the largest L1 norm of what one record adds to the
// contrasts of a residual.
//
// # Contract
//
// The contrasts are those of Contrast, for any record. Proof: residual.proof.md.
func (w *Workload) Norms(residual int) (square, side *big.Int) {
	square, side = big.NewInt(1), big.NewInt(1)
	for _, p := range w.Residuals[residual] {
		f := w.Attributes[p.Attribute].facts[p.Level-1]
		square.Mul(square, big.NewInt(int64(f.square))) // whole, and below 2^53
		side.Mul(side, big.NewInt(f.side))
	}
	return square, side
}

// mostStates bounds the work of Apart.
const mostStates = 1 << 22

// Apart bounds the squared L2 distance between what two records add to all residuals, where
// one record adds at most squares[i] to residual i and come to all of them.
//
// # Contract
//
// squares are the squared norms of Norms, each times the square of a public factor of its
// residual, as float64; come is their exact sum. Proof: residual.proof.md.
func (w *Workload) Apart(squares []float64, come *big.Int) *big.Int {
	against := w.simple(squares)
	for _, together := range []bool{true, false} {
		if x, ok := w.against(squares, together); ok {
			against = math.Min(against, x)
		}
	}
	sum := 0.0
	for _, s := range squares {
		sum += s
	}
	against += 1e-9 * sum // more than all roundings (P17)
	more, _ := new(big.Float).SetFloat64(math.Ceil(2 * against)).Int(nil)
	out := new(big.Int).Lsh(come, 1)
	if out.Add(out, more); out.Cmp(come) < 0 {
		out.Set(come) // against is then rounding alone
	}
	return out
}

// simple bounds −Σ s·Π t: a product is negative only with a factor that is.
func (w *Workload) simple(squares []float64) float64 {
	sum := 0.0
	for i, r := range w.Residuals {
		if len(r) == 0 {
			sum -= squares[i]
			continue
		}
		worst := 0.0
		for _, p := range r {
			worst = math.Max(worst, w.Attributes[p.Attribute].facts[p.Level-1].against)
		}
		sum += squares[i] * worst
	}
	return sum
}

// class is a set of flat attributes of one size, or a single attribute. A pair of records is in one
// state of each class: how many of the flat attributes differ, or how the single one differs.
type class struct {
	size   int         // attributes
	values [][]float64 // of a state: the sum of Π t over the parts that a residual may have
}

// classes groups the attributes that look alike, or puts each in a class of its own.
func (w *Workload) classes(together bool) (classes []class, classOf []int) {
	at := map[int]int{}
	for _, a := range w.Attributes {
		n := a.Nodes(1)
		if c, have := at[n]; have && together && len(a.Levels) == 1 {
			classes[c].size++
			classOf = append(classOf, c)
			continue
		}
		if len(a.Levels) == 1 {
			at[n] = len(classes)
		}
		classOf = append(classOf, len(classes))
		classes = append(classes, class{size: 1})
	}
	for i, a := range w.Attributes {
		c := &classes[classOf[i]]
		if c.values != nil {
			continue
		}
		if len(a.Levels) == 1 {
			c.values = alike(c.size, a.facts[0].against)
			continue
		}
		same := make([]float64, len(a.Levels)+1)
		for l := range same {
			same[l] = 1
		}
		c.values = append(c.values, same)
		for l, f := range a.facts { // alike above level l+1, where they part
			for _, t := range []float64{0, -f.against} {
				state := make([]float64, len(same))
				copy(state, same[:l+1])
				state[l+1] = t
				c.values = append(c.values, state)
			}
		}
	}
	return classes, classOf
}

// alike returns the values of a class of flat attributes. Where d of them differ, each with the
// factor −u, value k is the sum of the products over all sets of k attributes.
func alike(size int, u float64) [][]float64 {
	var values [][]float64
	for d := range size + 1 {
		state := make([]float64, size+1)
		for k := range state {
			for a := max(0, k-(size-d)); a <= min(k, d); a++ {
				state[k] += choose(d, a) * choose(size-d, k-a) * math.Pow(-u, float64(a))
			}
		}
		values = append(values, state)
	}
	return values
}

func choose(n, k int) float64 {
	out := 1.0
	for i := range k {
		out = out * float64(n-i) / float64(i+1)
	}
	return math.Round(out)
}

// against is the largest −Σ s·Π t over all states of two records. It fails if some residuals of a
// kind are missing, or if there are too many states. Together puts flat attributes of one size into
// one class.
func (w *Workload) against(squares []float64, together bool) (float64, bool) {
	classes, classOf := w.classes(together)
	type kind struct {
		parts            []int
		sum, least, most float64
		count            float64
	}
	kinds := map[string]*kind{}
	var all []*kind
	for i, r := range w.Residuals {
		if squares[i] == 0 {
			continue
		}
		parts := make([]int, len(classes))
		for _, p := range r {
			if c := classOf[p.Attribute]; len(w.Attributes[p.Attribute].Levels) == 1 {
				parts[c]++
			} else {
				parts[c] = p.Level
			}
		}
		key := fmt.Sprint(parts)
		k := kinds[key]
		if k == nil {
			k = &kind{parts: parts, least: squares[i], most: squares[i]}
			kinds[key], all = k, append(all, k)
		}
		k.sum, k.count = k.sum+squares[i], k.count+1
		k.least, k.most = math.Min(k.least, squares[i]), math.Max(k.most, squares[i])
	}
	slack := 0.0
	for _, k := range all {
		there := 1.0
		for c, n := range k.parts {
			if classes[c].size > 1 {
				there *= choose(classes[c].size, n)
			}
		}
		if k.count != there {
			return 0, false
		}
		slack += k.count * (k.most - k.least)
	}
	states := 1
	for _, c := range classes {
		if states *= len(c.values); states > mostStates {
			return 0, false
		}
	}
	if states*len(all) > mostStates {
		return 0, false
	}
	worst := math.Inf(-1)
	for state := range states {
		sum := 0.0
		for _, k := range all {
			product, rest := k.sum/k.count, state
			for c, n := range k.parts {
				product *= classes[c].values[rest%len(classes[c].values)][n]
				rest /= len(classes[c].values)
			}
			sum -= product
		}
		worst = math.Max(worst, sum)
	}
	return worst + slack, true
}
