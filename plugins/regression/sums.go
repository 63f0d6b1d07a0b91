package regression

import (
	"math"
	"math/big"

	"github.com/dprelease/dprelease/plugins/features"
	"github.com/dprelease/dprelease/plugins/sdk"
)

const (
	// steps is the number of lattice steps in a product of 1.
	steps = 1 << 30
	// rounding bounds what one product is off after rounding, in lattice steps: half a
	// step, and less than a thousandth for the float64 products before it.
	rounding = 0.501
	// maxRows keeps every sum below 2^62: a product has at most 2^30 steps.
	maxRows = 1 << 32
)

// sums lists the products that are added up. A row is a vector v of size numbers: 1 for
// the intercept, the coordinates of the features, the target. The sum of v[i]·v[j] is
// released for i ≤ j, except where it is known or another sum already holds it.
type sums struct {
	size  int
	place []int // of the pair (i, j), i ≤ j, at i·size + j; -1 where it is left out
	n     int   // how many are released
	slots int   // P: the intercept, the features, the target
	kinds int   // K: how many features are categories
	count bool  // the first sum, of 1·1, is released
}

// newSums leaves out: 1·1 where the number of rows is public; the square of an
// indicator, which is its product with 1; the product of two indicators of one
// category, which is 0.
func newSums(set features.Set, rowsKnown bool) sums {
	s := sums{size: set.Width + 2, slots: len(set.Features) + 2, count: !rowsKnown}
	group := make([]int, s.size) // 0 for numbers, else the number of the category
	for _, f := range set.Features {
		if f.Column.Type == sdk.Category {
			s.kinds++
			for j := range f.Width {
				group[1+f.First+j] = s.kinds
			}
		}
	}
	s.place = make([]int, s.size*s.size)
	for i := range s.size {
		for j := range s.size {
			at := &s.place[i*s.size+j]
			switch {
			case j < i, group[i] > 0 && group[i] == group[j], i == 0 && j == 0 && rowsKnown:
				*at = -1
			default:
				*at = s.n
				s.n++
			}
		}
	}
	return s
}

// reach returns how far rows move the sums, in lattice steps (regression.proof.md).
func (s sums) reach() sdk.Reach {
	p, known := float64(s.slots), 1.0
	if s.count {
		known = 0
	}
	add := p*(p+1)/2 - float64(s.kinds) - known
	up := func(norm, errors float64) float64 { return math.Ceil(norm*steps*(1+0x1p-50) + errors) }
	n := float64(s.n)
	norms := func(l1, l2 float64) sdk.Norms { // of whole numbers
		one, _ := big.NewFloat(l1).Int(nil)
		two, _ := big.NewFloat(l2).Int(nil)
		return sdk.Norms{L1: one, Square: two.Mul(two, two)}
	}
	return sdk.Reach{
		Parts: s.n, Touch: s.n, Arrive: norms(up(add, rounding*n), up(math.Sqrt(add), rounding*math.Sqrt(n))),
		Replace: norms(up(p*p-float64(s.kinds)-known, 2*rounding*n), up(p, 2*rounding*math.Sqrt(n))),
	}
}

// add adds the products of one row. Nonzero lists the places of v that are not zero,
// in ascending order.
func (s sums) add(total []int64, v []float64, nonzero []int, weight float64) {
	for a, i := range nonzero {
		x := v[i] * weight * steps
		places := s.place[i*s.size : (i+1)*s.size]
		for _, j := range nonzero[a:] {
			if at := places[j]; at >= 0 {
				total[at] += int64(math.RoundToEven(x * v[j]))
			}
		}
	}
}
