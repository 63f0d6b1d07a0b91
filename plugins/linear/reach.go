package linear

import (
	"math/big"

	"github.com/dprelease/dprelease/plugins/sdk"
)

func norms(l1, square *big.Int) sdk.Norms { return sdk.Norms{L1: l1, Square: square} }

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
func Scalar(low, high int64) sdk.Reach { return Box([2]int64{low, high}) }

// Box is the reach of several numbers, each between its own low and high.
//
// # Contract
//
// A row adds a whole number to each part i that lies in ranges[i].
func Box(ranges ...[2]int64) sdk.Reach {
	r := sdk.Reach{Parts: len(ranges), Touch: len(ranges)}
	for _, b := range ranges {
		low, high := whole(b[0]), whole(b[1])
		r.Arrive.Side(larger(new(big.Int).Abs(low), new(big.Int).Abs(high)))
		r.Replace.Side(new(big.Int).Sub(high, low))
	}
	return r
}

// Simplex is the reach of parts that share a total.
//
// # Contract
//
// A row adds whole numbers of at least 0 that add up to at most total, to at most touch of
// the parts.
func Simplex(parts, touch int, total int64) sdk.Reach {
	t := whole(total)
	one := norms(t, times(t, t))
	r := sdk.Reach{Parts: parts, Touch: touch, Arrive: one, Replace: one}
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
func Beside(half, one int64) sdk.Reach {
	h, c := whole(half), whole(one)
	square := func(x *big.Int) *big.Int { return times(x, x) }
	return sdk.Reach{
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
func Squared(low, high, d int64) sdk.Reach {
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
	return sdk.Reach{
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
func Beneath(a, b sdk.Reach) sdk.Reach {
	both := func(x, y sdk.Norms) sdk.Norms { return norms(plus(x.L1, y.L1), plus(x.Square, y.Square)) }
	return sdk.Reach{Parts: a.Parts + b.Parts, Touch: a.Touch + b.Touch, Arrive: both(a.Arrive, b.Arrive), Replace: both(a.Replace, b.Replace)}
}

// Single is the reach of a number in one of several parts.
//
// # Contract
//
// A row adds a whole number v with |v| ≤ most to at most one of the parts.
func Single(parts int, most int64) sdk.Reach {
	m := whole(most)
	return sdk.Reach{Parts: parts, Touch: 1, Arrive: norms(m, times(m, m)), Replace: norms(times(whole(2), m), times(whole(4), times(m, m)))}
}
