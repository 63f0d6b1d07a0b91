package sdk

import (
	"math"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
)

// Claim is the sensitivity of a vector: how far it moves between neighbours in the L1 and in the L2 norm, and
// how many of its numbers may differ.
type Claim struct {
	L1, L2      privacy.Sensitivity
	Coordinates int64
}

// Norms is a bound of a vector of whole numbers in both norms: L1, and the square of L2.
type Norms struct{ L1, Square *big.Int }

// Side adds a side to a box, which begins as the zero value.
func (n *Norms) Side(length *big.Int) {
	if n.L1 == nil {
		*n = Norms{new(big.Int), new(big.Int)}
	}
	n.L1, n.Square = new(big.Int).Add(n.L1, length), new(big.Int).Add(n.Square, times(length, length))
}

// Reach bounds the distance by which rows can move the numbers of a cell, in lattice steps.
type Reach struct {
	// Parts is the number of numbers in a cell, and Touch the number of them that one row can add to.
	Parts, Touch int
	// Arrive bounds the vector of one row, and Replace the difference of the vectors of two.
	Arrive, Replace Norms
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

// Claim returns how far the whole vector moves between neighbours, rounded up.
//
// # Contract
//
// Every row keeps to r. The rows of one unit lie in the cells as u says: under add-remove
// they come or go together, under replace-one any others take their place (P22). Proof: claim.proof.md.
func (r Reach) Claim(u Units) (c Claim) {
	k, rows := min(u.Groups, u.Cells), big.NewInt(u.Rows)
	// Rows change in o cells, come in k − o other cells and go in k − o more. The distance is linear
	// in o, so the worst o is one of the ends.
	least := k
	if u.Switches {
		least = max(0, 2*k-u.Cells)
	}
	swap := r.Replace
	if u.Leaves || u.Groups > 1 || u.Rows > 1 { // one of two rows may be missing
		swap = Norms{larger(swap.L1, r.Arrive.L1), larger(swap.Square, r.Arrive.Square)}
	}
	move := func(swap, arrive *big.Int) *big.Int {
		at := func(o int64) *big.Int {
			both := times(big.NewInt(o), swap)
			return both.Add(both, times(big.NewInt(2*(k-o)), arrive))
		}
		return larger(at(least), at(k))
	}
	c.L1.AddRemove, c.L1.ReplaceOne = up(times(times(big.NewInt(k), rows), r.Arrive.L1)), up(times(rows, move(swap.L1, r.Arrive.L1)))
	squared := times(rows, rows)
	c.L2.AddRemove = root(times(times(big.NewInt(k), squared), r.Arrive.Square))
	c.L2.ReplaceOne = root(times(squared, move(swap.Square, r.Arrive.Square)))
	parts := int64(r.Parts)
	touch := min(parts, int64(r.Touch)*min(u.Rows, parts))
	if c.Coordinates = k * min(parts, 2*touch); u.Switches {
		c.Coordinates = min(2*k*touch, u.Cells*parts)
	}
	return c
}

func times(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

func larger(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// up is x as a float64, rounded up (P17). It is at least 1, because no event describes a query that
// nothing moves.
func up(x *big.Int) float64 {
	f, _ := new(big.Float).SetPrec(53).SetMode(big.ToPositiveInf).SetInt(larger(x, big.NewInt(1))).Float64()
	return f
}

// root is the square root of x, rounded up; at least 1.
func root(x *big.Int) float64 {
	x = larger(x, big.NewInt(1))
	f, _ := new(big.Float).SetPrec(400).Sqrt(new(big.Float).SetPrec(400).SetInt(x)).Float64()
	square := func(f float64) *big.Rat { r := new(big.Rat).SetFloat64(f); return r.Mul(r, r) }
	for square(f).Cmp(new(big.Rat).SetInt(x)) < 0 {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}
