package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// column is a table of one column.
type column struct {
	name         string
	values       []float64 // ascending
	lower, upper float64
	step         float64 // a public fact; 0 where there is none
}

// reference is a published method: quantiles of the ranks at ε.
type reference func(c *column, ranks []float64, epsilon float64, rng *rand.Rand) []float64

// spread adds a uniform part of the public step to every value, so that equal values can be
// told apart.
func (c *column) spread(rng *rand.Rand) []float64 {
	out := slices.Clone(c.values)
	if c.step > 0 {
		for i := range out {
			out[i] += c.step * rng.Float64()
		}
		slices.Sort(out)
	}
	return out
}

// read undoes spread.
func (c *column) read(x float64) float64 {
	if c.step > 0 {
		x = math.Round(math.Floor(x/c.step+1e-9)) * c.step
	}
	return x
}

// selected draws a point of [lo, hi] with density ∝ e^(−rate·|values below − target|), where
// the values are ascending and lie between.
func selected(values []float64, lo, hi, target, rate float64, rng *rand.Rand) float64 {
	ends := func(i int) (from, to float64) { // of the points with i values below
		from, to = lo, hi
		if i > 0 {
			from = values[i-1]
		}
		if i < len(values) {
			to = values[i]
		}
		return from, to
	}
	middle := min(len(values), max(0, int(math.Round(target))))
	reach := int(100/rate) + 1 // beyond, no gap is wide enough to make up for e^−100
	first, last := max(0, middle-reach), min(len(values), middle+reach)
	sums := make([]float64, 0, last-first+1)
	total, fall := 0.0, math.Exp(-rate)
	weight := math.Exp(-rate * (math.Abs(float64(first)-target) - math.Abs(float64(middle)-target)))
	for i := first; i <= last; i++ {
		from, to := ends(i)
		total += math.Max(0, to-from) * weight
		sums = append(sums, total)
		switch {
		case float64(i+1) <= target:
			weight /= fall
		case float64(i) >= target:
			weight *= fall
		default:
			weight = math.Exp(-rate * (math.Abs(float64(i+1)-target) - math.Abs(float64(middle)-target)))
		}
	}
	if !(total > 0) {
		return lo + (hi-lo)*rng.Float64()
	}
	from, to := ends(first + min(len(sums)-1, sort.SearchFloat64s(sums, total*rng.Float64())))
	return from + math.Max(0, to-from)*rng.Float64()
}

// exponential is the exponential mechanism at ε/m a rank; the answers are sorted.
func exponential(c *column, ranks []float64, epsilon float64, rng *rand.Rand) []float64 {
	values := c.spread(rng)
	out := make([]float64, len(ranks))
	for i, p := range ranks {
		rate := epsilon / float64(len(ranks)) / (2 * math.Max(p, 1-p))
		out[i] = c.read(selected(values, c.lower, c.upper+c.step, p*float64(len(values)), rate, rng))
	}
	slices.Sort(out)
	return out
}

// approximate is the recursion of Kaplan, Schnapp and Stemmer (2022) with ε/depth a level
// and sensitivity max(p, 1 − p).
func approximate(c *column, ranks []float64, epsilon float64, rng *rand.Rand) []float64 {
	depth := math.Ceil(math.Log2(float64(len(ranks) + 1)))
	out := make([]float64, len(ranks))
	var cut func(values []float64, from, to int, lo, hi, low, high float64)
	cut = func(values []float64, from, to int, lo, hi, low, high float64) {
		if from >= to {
			return
		}
		mid := (from + to) / 2
		p := (ranks[mid] - low) / (high - low)
		x := selected(values, lo, hi, p*float64(len(values)), epsilon/depth/(2*math.Max(p, 1-p)), rng)
		out[mid] = c.read(x)
		at := sort.SearchFloat64s(values, x)
		cut(values[:at], from, mid, lo, x, low, ranks[mid])
		cut(values[at:], mid+1, to, x, hi, ranks[mid], high)
	}
	cut(c.spread(rng), 0, len(ranks), c.lower, c.upper+c.step, 0, 1)
	return out
}

// The defaults of the tree of Google's library.
const (
	treeHeight = 4
	branching  = 16
	dropBelow  = 0.0075 // share of a node's total below which a child is passed over
)

// googleTree is Google's quantile tree: Laplace noise on the counts of 16 children a node on
// four levels; for each rank the walk from the root follows the noisy counts and interpolates
// in the leaf.
func googleTree(c *column, ranks []float64, epsilon float64, rng *rand.Rand) []float64 {
	values, top := c.spread(rng), c.upper+c.step
	leaves := math.Pow(branching, treeHeight)
	at := func(x float64) int { return int(math.Min(leaves-1, (x-c.lower)/(top-c.lower)*leaves)) }
	counts := make([]map[int]float64, treeHeight+1)
	for k := range counts {
		counts[k] = map[int]float64{}
	}
	for _, x := range values {
		for k, leaf := treeHeight, at(x); k > 0; k, leaf = k-1, leaf/branching {
			counts[k][leaf]++
		}
	}
	noisy := make([]map[int]float64, treeHeight+1)
	for k := range noisy {
		noisy[k] = map[int]float64{}
	}
	count := func(k, node int) float64 { // noise is drawn once
		if _, ok := noisy[k][node]; !ok {
			noisy[k][node] = math.Max(0, counts[k][node]+treeHeight/epsilon*(rng.ExpFloat64()-rng.ExpFloat64()))
		}
		return noisy[k][node]
	}
	out := make([]float64, len(ranks))
	for i, p := range ranks {
		node, left, right := 0, 0.0, 1.0
		for k := 1; k <= treeHeight; k++ {
			total := 0.0
			for j := range branching {
				total += count(k, node*branching+j)
			}
			kept := 0.0
			for j := range branching {
				if n := count(k, node*branching+j); n >= dropBelow*total {
					kept += n
				}
			}
			if total <= 0 || kept <= 0 {
				break
			}
			seen, width := 0.0, (right-left)/branching
			for j := range branching {
				n := count(k, node*branching+j)
				if n < dropBelow*total {
					continue
				}
				if seen+n >= p*kept {
					p, node = (p*kept-seen)/n, node*branching+j
					left, right = left+width*float64(j), left+width*float64(j+1)
					break
				}
				seen += n
			}
		}
		out[i] = c.read(c.lower + (top-c.lower)*(left+(right-left)*math.Min(1, math.Max(0, p))))
	}
	slices.Sort(out)
	return out
}
