package finish

import (
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// coordinate is an sdk.Coordinate whose value is number at of the sources.
type coordinate struct {
	sdk.Coordinate
	at          int
	root        *formula.Node
	low, high   float64 // of weighted values
	inverse     float64 // of the lattice
	least, most int64   // the whole numbers of low and high
	base        uint64  // the bits of a float that stands for least
}

// number is the weighted value of a row, held to its range: 0 where it is no number.
func (c *coordinate) number(x float64, weights []float64, row int) float64 {
	if x-x != 0 {
		return 0
	}
	x = between(x, c.Low, c.High)
	if weights != nil {
		x *= weights[row]
	}
	if x != x {
		return 0
	}
	return between(x, c.low, c.high)
}

// between holds x to a range. What is no number stays none.
func between(x, low, high float64) float64 {
	if x < low {
		return low
	}
	if x > high {
		return high
	}
	return x
}

// Floats between 2^44 and 2^45 are 2⁻⁸ apart: the bits of their middle plus a number of steps hold the whole steps above
// eight bits of a fraction.
const (
	middle   = 3 << 43
	fraction = 8 // bits
)

// bits are the bits of a float that stands for a number of steps of the lattice, and half a step.
func bits(x, inverse float64) uint64 { return math.Float64bits(x*inverse + (middle + 0.5)) }

// whole rounds a number to steps of the lattice, halves up. It never falls as the number grows.
func (c *coordinate) whole(x float64) int64 {
	return (int64(bits(x, c.inverse)) - int64(math.Float64bits(middle))) >> fraction
}

// start finds the ranges of whole numbers.
func (c *coordinate) start() {
	c.least, c.most = c.whole(c.low), c.whole(c.high)
	c.base = uint64(int64(math.Float64bits(middle)) + c.least<<fraction)
}

// above returns how much more than least a row adds that weighs 1 and has the value x.
func (c *coordinate) above(x float64) uint64 { return uint64(c.whole(c.number(x, nil, 0)) - c.least) }

// count adds the whole number of a constant to the sums of cells, once for each of n rows that all weigh 1.
func (c *coordinate) count(cells []int32, sums []int64, n int) {
	one := c.whole(c.number(c.root.Number, nil, 0))
	if cells == nil {
		sums[0] += one * int64(n)
		return
	}
	for _, cell := range cells[:n] {
		if cell >= 0 {
			sums[cell] += one
		}
	}
}

// add adds the whole numbers of rows that all weigh 1 to the sums of their cells.
//
// # Contract
//
// A row adds whole(number(x)), whatever x is. Proof: query.proof.md. // P39
func (c *coordinate) add(values []float64, cells []int32, sums []int64) {
	inverse, base, least, width := c.inverse, c.base, c.least, uint64(c.most-c.least)
	if cells == nil {
		sum := uint64(0)
		for _, x := range values {
			more := (bits(x, inverse) - base) >> fraction
			if more > width {
				more = c.above(x)
			}
			sum += more
		}
		sums[0] += int64(sum) + int64(len(values))*least
		return
	}
	values = values[:len(cells)]
	for i, cell := range cells {
		if cell >= 0 {
			more := (bits(values[i], inverse) - base) >> fraction
			if more > width {
				more = c.above(values[i])
			}
			sums[cell] += least + int64(more)
		}
	}
}

// norm holds vectors of whole numbers to an L2 norm.
type norm struct {
	limit   float64 // of the numbers
	inverse float64 // of the lattice
	whole   int64   // the limit in whole steps, rounded down
	out     []int64
}

// hold scales a vector down to the norm and rounds it toward zero.
//
// # Contract
//
// The squares of the result add up to at most whole². It is 0 where floating point leaves doubt.
// Proof: query.proof.md. // P39
func (n *norm) hold(row []float64) []int64 {
	square := 0.0
	for _, x := range row {
		square += x * x
	}
	scale := 1.0
	if length := math.Sqrt(square); length > n.limit {
		scale = n.limit / length
	}
	for range 8 {
		if n.rounded(row, scale) {
			return n.out
		}
		scale *= 1 - 0x1p-40
	}
	clear(n.out)
	return n.out
}

// rounded rounds a scaled vector toward zero, and reports whether it keeps to the norm.
func (n *norm) rounded(row []float64, scale float64) bool {
	sum := int64(0)
	for j, x := range row {
		steps := x * scale * n.inverse
		if !(math.Abs(steps) < 2*mostNorm) { // squares of small numbers underflowed
			return false
		}
		n.out[j] = int64(steps)
		sum += n.out[j] * n.out[j]
	}
	return sum <= n.whole*n.whole
}

// mostNorm bounds a norm in whole steps, so that the squares of sdk.MaxExpressions numbers below twice of it add up below 2^63.
const mostNorm = 1 << 26

// bound finds the whole numbers between which the coordinates of a row lie. Steps is the number of steps, a power of
// two, in which a range is cut whose lattice the host chooses.
func (q *query) bound(declared sdk.Query, weights [2]float64, steps int) error {
	if declared.Norm > 0 {
		q.norm = &norm{limit: declared.Norm * weights[1], out: make([]int64, len(q.coordinates))}
		q.row = make([]float64, len(q.coordinates))
		steps = min(steps, 25)
	}
	if q.weights = weights; steps < 1 {
		return errors.New("the sums of so many rows have no room")
	}
	for i := range q.coordinates {
		c := &q.coordinates[i]
		c.low, c.high = math.Min(c.Low*weights[0], c.Low*weights[1]), math.Max(c.High*weights[0], c.High*weights[1])
		size := math.Max(math.Abs(c.low), math.Abs(c.high))
		if q.norm != nil {
			size = q.norm.limit
		}
		if math.IsInf(2*size, 0) {
			return errors.New("the range is too wide")
		}
		if c.Lattice == 0 {
			_, e := math.Frexp(size) // 2^(e−1) ≤ size < 2^e
			c.Lattice = math.Ldexp(1, max(e-1-steps, -1000))
		}
		c.inverse = 1 / c.Lattice
		if !(size*c.inverse < 1<<42) || math.IsInf(c.inverse, 0) {
			return errors.New("the lattice is too fine for the range")
		}
		c.start()
	}
	if n := q.norm; n != nil {
		n.inverse = q.coordinates[0].inverse
		if n.whole = int64(n.limit * n.inverse); !(n.limit*n.inverse < mostNorm) {
			return errors.New("the lattice is too fine for the norm")
		}
	}
	return nil
}

// most is the largest magnitude that a row adds to a number.
func (q *query) most() int64 {
	m := int64(0)
	for i := range q.coordinates {
		m = max(m, -q.coordinates[i].least, q.coordinates[i].most)
	}
	if q.norm != nil {
		m = min(m, q.norm.whole)
	}
	return m
}

// fits reports whether so many rows, each counted so often, stay below 2^62.
func fits(most, times, rows int64) bool {
	x := new(big.Int).Mul(big.NewInt(most), big.NewInt(times))
	return x.Mul(x, big.NewInt(rows)).BitLen() <= 62
}

// reach bounds the vectors of rows in one group: what one adds, and what changes where another takes its place or none. A row may
// always vanish: nothing is gained by a range that excludes 0. Along says that the values of a column must be held to its bounds. // P24
func (q *query) reach() (r sdk.Reach, along bool) {
	r = sdk.Reach{Touch: len(q.coordinates), Parts: int(q.places) * len(q.coordinates)}
	for i := range q.coordinates {
		c := &q.coordinates[i]
		r.Arrive.Side(big.NewInt(max(-c.least, c.most)))
		r.Replace.Side(big.NewInt(max(c.most, 0) - min(c.least, 0)))
	}
	if n := q.norm; n != nil {
		// Σ|v| ≤ √(d·Σv²)
		d := big.NewInt(int64(r.Touch))
		ball := func(radius int64) sdk.Norms {
			s := big.NewInt(radius)
			s.Mul(s, s)
			return sdk.Norms{L1: new(big.Int).Add(new(big.Int).Sqrt(new(big.Int).Mul(d, s)), big.NewInt(1)), Square: s}
		}
		r.Arrive, r.Replace = smaller(r.Arrive, ball(n.whole)), smaller(r.Replace, ball(2*n.whole))
	}
	if q.along != nil && q.norm == nil {
		arrive, swap := q.narrow(q.along)
		for _, l := range [][2]*sdk.Norms{{&r.Arrive, arrive}, {&r.Replace, swap}} {
			if l[1] != nil {
				along = along || l[1].L1.Cmp(l[0].L1) < 0 || l[1].Square.Cmp(l[0].Square) < 0
				*l[0] = smaller(*l[0], *l[1])
			}
		}
	}
	r.Arrive.Square = smallest(r.Arrive.Square, new(big.Int).Mul(r.Arrive.L1, r.Arrive.L1))
	apart := sdk.Norms{L1: double(r.Arrive.L1), Square: double(r.Arrive.Square)} // of two rows in different cells
	twice := apart                                                               // of two rows that are never on both sides of 0
	if slices.ContainsFunc(q.coordinates, func(c coordinate) bool { return c.least < 0 && c.most > 0 }) {
		twice.Square = double(twice.Square)
	}
	if r.Replace = smaller(r.Replace, twice); q.places > 1 {
		r.Replace = sdk.Norms{L1: largest(r.Replace.L1, apart.L1), Square: largest(r.Replace.Square, apart.Square)}
	}
	return r, along
}

func double(x *big.Int) *big.Int { return new(big.Int).Lsh(x, 1) }

func smaller(a, b sdk.Norms) sdk.Norms {
	return sdk.Norms{L1: smallest(a.L1, b.L1), Square: smallest(a.Square, b.Square)}
}

func smallest(a, b *big.Int) *big.Int {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

func largest(a, b *big.Int) *big.Int {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// units bounds the rows of one unit. Rows counts those in one group, and each of them counts as many times as times says.
type units struct {
	sdk.Units
	times int64
	scale float64 // a sum times scale stands for the population
}

// unitsOf reads the public facts about units. Without a column of groups there is one.
func unitsOf(group sdk.Column, limit *sdk.Cap) units {
	u := units{Units: sdk.Units{Cells: max(1, int64(len(group.Domain))), Groups: 1, Rows: 1, Leaves: true}, times: limit.Each(), scale: 1}
	// Of the rows of a unit that pass, others may be kept: its groups then change though no column does. // P22
	u.Switches = u.Cells > 1 && (limit != nil || !group.Immutable)
	if limit != nil {
		u.Rows, u.Groups = limit.Rows, limit.Groups
		if len(group.Domain) == 0 {
			u.Groups = 1 // at most so many rows in all
		}
	}
	return u
}

// steps returns how often a range is cut in two by a lattice that the host chooses: noise then spans about a million
// steps, and the sums of all rows have room. It depends on how many rows each row counts as by the product with rows alone.
func (u units) steps(coordinates int, epsilon float64, rows int64) int {
	counts := float64(u.Rows) * float64(u.times)
	moves := float64(coordinates) * float64(u.Groups) * counts / epsilon
	room := 60 - int(math.Ceil(math.Log2(counts))+math.Ceil(math.Log2(float64(rows))))
	return min(max(20-int(math.Max(-1000, math.Min(1000, math.Floor(math.Log2(moves))))), 10), 40, room)
}

// counted are the units where a row that counts several times is several rows.
func (u units) counted() sdk.Units {
	u.Rows *= u.times
	return u.Units
}
