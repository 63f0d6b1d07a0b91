package linear

import (
	"math"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
)

// Reach bounds the distance by which rows can move the numbers of a cell, in lattice steps.
type Reach struct {
	// Parts is the number of numbers in a cell, and Touch the number of them that one row can add to.
	Parts, Touch int
	// Arrive bounds the vector of one row, and Replace the difference of the vectors of two.
	Arrive, Replace Norms
}

// Norms is a bound in both norms: L1, and the square of L2.
type Norms struct{ L1, Square *big.Int }

func norms(l1, square *big.Int) Norms { return Norms{L1: l1, Square: square} }

func whole(x int64) *big.Int { return big.NewInt(x) }

func times(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

func plus(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }

func larger(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// Scalar is the reach of one number between low and high.
//
// # Contract
//
// A row adds a whole number v with low ≤ v ≤ high.
func Scalar(low, high int64) Reach { return Box([2]int64{low, high}) }

// Box is the reach of several numbers, each between its own low and high.
//
// # Contract
//
// A row adds a whole number to each part i that lies in ranges[i].
func Box(ranges ...[2]int64) Reach {
	r := Reach{Parts: len(ranges), Touch: len(ranges), Arrive: zero(), Replace: zero()}
	for _, b := range ranges {
		low, high := whole(b[0]), whole(b[1])
		r.Arrive.side(larger(new(big.Int).Abs(low), new(big.Int).Abs(high)))
		r.Replace.side(new(big.Int).Sub(high, low))
	}
	return r
}

func zero() Norms { return norms(new(big.Int), new(big.Int)) }

// side adds a side to a box.
func (n *Norms) side(length *big.Int) {
	n.L1, n.Square = plus(n.L1, length), plus(n.Square, times(length, length))
}

// Simplex is the reach of parts that share a total.
//
// # Contract
//
// A row adds whole numbers of at least 0 that add up to at most total, to at most touch of
// the parts.
func Simplex(parts, touch int, total int64) Reach {
	t := whole(total)
	one := norms(t, times(t, t))
	r := Reach{Parts: parts, Touch: touch, Arrive: one, Replace: one}
	if parts > 1 { // from one corner to another
		r.Replace = norms(times(whole(2), t), times(whole(2), one.Square))
	}
	return r
}

// Beside is the reach of a number next to a constant.
//
// # Contract
//
// A row adds a whole number t with −half ≤ t ≤ half to the first part and exactly one to
// the second.
func Beside(half, one int64) Reach {
	h, c := whole(half), whole(one)
	square := func(x *big.Int) *big.Int { return times(x, x) }
	return Reach{
		Parts: 2, Touch: 2,
		Arrive:  norms(plus(h, c), plus(square(h), square(c))),
		Replace: norms(times(whole(2), h), times(whole(4), square(h))),
	}
}

// Squared is the reach of a number next to its square.
//
// # Contract
//
// A row adds a whole number v with low ≤ v ≤ high to the first part and ⌊v²/d⌋ to the
// second, where d ≥ max(|low|, |high|).
func Squared(low, high, d int64) Reach {
	m := larger(new(big.Int).Abs(whole(low)), new(big.Int).Abs(whole(high)))
	w, by := new(big.Int).Sub(whole(high), whole(low)), whole(d)
	top := new(big.Int).Div(times(m, m), by)
	over := func(a, b *big.Int) *big.Int { // a/b rounded up
		return new(big.Int).Div(plus(a, new(big.Int).Sub(b, whole(1))), b)
	}
	// Two rows whose numbers are x apart move the square by at most x(2m − x)/d.
	most := func(x *big.Int) *big.Int { return over(times(x, new(big.Int).Sub(times(whole(2), m), x)), by) }
	l1 := plus(w, most(w))
	if twice := plus(by, times(whole(2), m)); times(whole(2), w).Cmp(twice) > 0 { // the worst x lies below w
		l1 = larger(l1, over(times(twice, twice), times(whole(4), by)))
	}
	square := plus(times(w, w), times(most(w), most(w)))
	square = plus(square, plus(times(whole(2), over(times(m, m), by)), whole(1)))
	return Reach{
		Parts: 2, Touch: 2,
		Arrive:  norms(plus(m, top), plus(times(m, m), times(top, top))),
		Replace: norms(l1, square),
	}
}

// Beneath is the reach of the parts of two vectors side by side.
//
// # Contract
//
// A row adds a vector that keeps to a to the first parts, and one that keeps to b to those
// behind them.
func Beneath(a, b Reach) Reach {
	both := func(x, y Norms) Norms { return norms(plus(x.L1, y.L1), plus(x.Square, y.Square)) }
	return Reach{Parts: a.Parts + b.Parts, Touch: a.Touch + b.Touch, Arrive: both(a.Arrive, b.Arrive), Replace: both(a.Replace, b.Replace)}
}

// Single is the reach of a number in one of several parts.
//
// # Contract
//
// A row adds a whole number v with |v| ≤ most to at most one of the parts.
func Single(parts int, most int64) Reach {
	m := whole(most)
	return Reach{Parts: parts, Touch: 1, Arrive: norms(m, times(m, m)), Replace: norms(times(whole(2), m), times(whole(4), times(m, m)))}
}

// swap bounds the difference of the vectors of two rows, where one row may be missing.
func (r Reach) swap() Norms {
	return norms(larger(r.Replace.L1, r.Arrive.L1), larger(r.Replace.Square, r.Arrive.Square))
}

// Units bounds the spread of the rows of one unit over the cells.
type Units struct {
	// Cells is the number of cells. A unit has rows in at most Groups of them and at
	// most Rows in each; both are 1 where a row is a unit.
	Cells, Groups, Rows int64
	// Switches says that a replaced unit may have rows in other cells than before.
	Switches bool
	// Leaves says that a row may be in no cell: it is filtered out, or its value is missing.
	Leaves bool
}

// Sensitivity returns how far the whole vector moves between neighbours in the L1 and in
// the L2 norm, rounded up, and how many of its numbers may differ.
//
// # Contract
//
// Every row keeps to r. The rows of one unit lie in the cells as u says: under add-remove
// they come or go together, under replace-one any others take their place (P22).
func (r Reach) Sensitivity(u Units) (l1, l2 privacy.Sensitivity, coordinates int64) {
	k, rows := min(u.Groups, u.Cells), whole(u.Rows)
	// Rows change in o cells, come in k − o other cells and go in k − o more. The distance is linear
	// in o, so the worst o is one of the ends.
	least := k
	if u.Switches {
		least = max(0, 2*k-u.Cells)
	}
	swap := r.swap()
	if !u.Leaves && u.Groups == 1 && u.Rows == 1 {
		swap = r.Replace
	}
	move := func(pick func(Norms) *big.Int) *big.Int {
		at := func(o int64) *big.Int {
			return plus(times(whole(o), pick(swap)), times(whole(2*(k-o)), pick(r.Arrive)))
		}
		return larger(at(least), at(k))
	}
	sides, squares := func(n Norms) *big.Int { return n.L1 }, func(n Norms) *big.Int { return n.Square }
	l1 = privacy.Sensitivity{AddRemove: up(times(times(whole(k), rows), r.Arrive.L1)), ReplaceOne: up(times(rows, move(sides)))}
	l2 = privacy.Sensitivity{
		AddRemove:  root(times(times(whole(k), times(rows, rows)), r.Arrive.Square)),
		ReplaceOne: root(times(times(rows, rows), move(squares))),
	}
	parts, touch := int64(r.Parts), min(int64(r.Parts), u.Rows*int64(r.Touch))
	coordinates = k * min(parts, 2*touch)
	if u.Switches {
		coordinates = min(2*k*touch, u.Cells*parts)
	}
	return l1, l2, coordinates
}

// up is x as a float64, rounded up (P17). It is at least 1, because no event describes a query that
// nothing moves.
func up(x *big.Int) float64 {
	f, _ := new(big.Float).SetPrec(53).SetMode(big.ToPositiveInf).SetInt(larger(x, whole(1))).Float64()
	return f
}

// root is the square root of x, rounded up; at least 1.
func root(x *big.Int) float64 {
	if x.Sign() == 0 {
		return 1
	}
	s := new(big.Float).SetPrec(400).Sqrt(new(big.Float).SetPrec(400).SetInt(x))
	f, accuracy := s.Float64()
	if accuracy == big.Below ||
		new(big.Float).SetPrec(400).Mul(big.NewFloat(f).SetPrec(400), big.NewFloat(f)).Cmp(new(big.Float).SetPrec(400).SetInt(x)) < 0 {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}
