package residual

import "math"

// Level is one level of an attribute. First[u] is the first of its nodes below node u of the
// level above; the last element is the number of nodes.
type Level struct{ First []int }

// Nodes is the number of nodes of the level.
func (l Level) Nodes() int { return l.First[len(l.First)-1] }

// Attribute is a column as a tree, from the coarsest level to the finest. Above the first
// level is a root, which is level 0.
type Attribute struct {
	Levels []Level
	facts  []facts
}

// Flat is an attribute of n values without a hierarchy.
func Flat(n int) Attribute { return NewAttribute([]Level{{First: []int{0, n}}}) }

// NewAttribute is an attribute with these levels.
func NewAttribute(levels []Level) Attribute {
	a := Attribute{Levels: levels}
	for l := range levels {
		a.facts = append(a.facts, a.factsOf(l+1))
	}
	return a
}

// Nodes is the number of nodes of a level.
func (a Attribute) Nodes(level int) int {
	if level == 0 {
		return 1
	}
	return a.Levels[level-1].Nodes()
}

// facts holds the cost of a level and the spread of its noise to the levels below it.
type facts struct {
	// scales holds a whole number for each node of the level above: the contrasts among m
	// children are scale·(m·x − Σ x), and scale·m is about unit for all of them.
	scales []int64
	unit   float64
	// square is the largest squared norm of the contrasts of one record.
	square float64
	// side is the largest L1 norm of the contrasts of one record. Two records that part at
	// this level have a product of at least −against·square.
	side    int64
	against float64
	// even says that all nodes above have as many children.
	even bool
	// share[j][x] is the variance that noise of variance 1 in the residual of level j
	// causes in node x of this level, and mean[j] its mean over the nodes.
	share [][]float64
	mean  []float64
}

// mostUnit bounds the common unit of contrasts among different numbers of children: it has
// many divisors, so that most quotients are whole.
const mostUnit = 10080

func (a Attribute) factsOf(level int) facts {
	first := a.Levels[level-1].First
	f := facts{even: true}
	unit, largest := 1, 1
	for u := range len(first) - 1 {
		m := max(1, first[u+1]-first[u])
		largest = max(largest, m)
		f.even = f.even && m == first[1]-first[0]
		if unit < mostUnit {
			unit *= m / gcd(unit, m)
		}
	}
	if unit > mostUnit {
		unit = max(mostUnit, largest)
	}
	f.unit = float64(unit)
	for u := range len(first) - 1 {
		m := float64(max(1, first[u+1]-first[u]))
		scale := math.Max(1, math.Round(f.unit/m))
		f.scales = append(f.scales, int64(scale))
		f.square = math.Max(f.square, scale*scale*m*(m-1))
		f.side = max(f.side, int64(2*scale*(m-1)))
		if m > 1 {
			f.against = math.Max(f.against, scale*scale*m)
		}
	}
	f.against /= math.Max(1, f.square)
	f.share = make([][]float64, level+1)
	for j := range f.share {
		f.share[j] = make([]float64, a.Nodes(level))
	}
	for u := range len(first) - 1 {
		m := float64(first[u+1] - first[u])
		for x := first[u]; x < first[u+1]; x++ {
			if level == 1 {
				f.share[0][x] = 1 / (m * m)
			}
			for j := range level {
				if level > 1 {
					f.share[j][x] = a.facts[level-2].share[j][u] / (m * m)
				}
			}
			noise := f.unit / (float64(f.scales[u]) * m)
			f.share[level][x] = (m - 1) / m * noise * noise
		}
	}
	for _, share := range f.share {
		sum := 0.0
		for _, s := range share {
			sum += s
		}
		f.mean = append(f.mean, sum/float64(len(share)))
	}
	return f
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// cost is the cost of the residual of a level at noise of variance 1: p in the proof.
func (a Attribute) cost(level int) float64 {
	f := a.facts[level-1]
	return f.square / (f.unit * f.unit)
}
