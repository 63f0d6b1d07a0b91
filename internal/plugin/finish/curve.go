package finish

import (
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// curve is a polynomial of at most the second degree in one column, near which an expression stays between the bounds of the
// column.
type curve struct {
	factors [3]*big.Rat // of 1, x and x²
	off     *big.Rat    // the most that floating point is away from it
	size    *big.Rat    // the largest magnitude of the polynomial
}

// interval holds the bounds of a column.
type interval struct {
	name      string
	low, high *big.Rat
}

// intervalOf returns the bounds of a column of numbers, nil where there are none.
func intervalOf(c sdk.Column) *interval {
	low, high := new(big.Rat).SetFloat64(c.Lower), new(big.Rat).SetFloat64(c.Upper)
	if c.Type == sdk.Category || !(c.Lower <= c.Upper) || low == nil || high == nil {
		return nil
	}
	return &interval{c.Name, low, high}
}

// The public limits of curves, so that they are found at once: the bits of a factor, and the coordinates of a query.
const mostBits, mostCurves = 1 << 10, 16

// An operation of floats is off by at most halfULP of its result, or by less than underflow.
var halfULP, underflow = ratio(0x1p-53), ratio(0x1p-200)

func ratio(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func added(all ...*big.Rat) *big.Rat {
	out := new(big.Rat)
	for _, x := range all {
		out.Add(out, x)
	}
	return out
}

func product(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

func magnitude(x *big.Rat) *big.Rat { return new(big.Rat).Abs(x) }

func greater(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// none is the curve that is 0 everywhere.
func none() curve {
	zero := new(big.Rat)
	return curve{factors: [3]*big.Rat{zero, zero, zero}, off: zero}
}

// at is the polynomial at x.
func (c curve) at(x *big.Rat) *big.Rat {
	return added(c.factors[0], product(x, added(c.factors[1], product(x, c.factors[2]))))
}

// bent reports whether c has a square.
func (c curve) bent() bool { return c.factors[2].Sign() != 0 }

// extremes hold the least and the largest value between the bounds: those at the bounds, and that of a parabola nearest to its vertex.
func (c curve) extremes(i *interval) []*big.Rat {
	out := []*big.Rat{c.at(i.low), c.at(i.high)}
	if c.bent() {
		x := new(big.Rat).Quo(c.factors[1], product(ratio(-2), c.factors[2]))
		if x.Cmp(i.low) > 0 && x.Cmp(i.high) < 0 {
			out = append(out, c.at(x))
		}
	}
	return out
}

// outward reports whether the magnitude of c is convex: it is a line, or a convex parabola that is nowhere negative, or the negative of
// one.
func (c curve) outward(i *interval) bool {
	side := c.factors[2].Sign()
	return !slices.ContainsFunc(c.extremes(i), func(y *big.Rat) bool { return y.Sign()*side < 0 })
}

// curve finds the curve of an expression. It gives up where there is none, and where numbers are too large for floats or too long.
//
// # Contract
//
// For each x between the bounds, the evaluator's value is finite and at most off away from the polynomial. Proof: query.proof.md. // P39
func (i *interval) curve(n *formula.Node) (c curve, ok bool) {
	c = none()
	var parts []curve
	for _, a := range n.Args {
		part, ok := i.curve(a)
		if !ok {
			return c, false
		}
		parts = append(parts, part)
	}
	switch {
	case n.Op == formula.Read && n.Column == i.name:
		c.factors[1] = ratio(1)
	case n.Op == formula.Literal && n.Type == formula.Number:
		c.factors[0] = ratio(n.Number)
	case n.Op == formula.Negate:
		c = parts[0].times(ratio(-1))
	case len(parts) != 2:
		return c, false
	case n.Op == formula.Add, n.Op == formula.Subtract:
		other := parts[1]
		if n.Op == formula.Subtract {
			other = other.times(ratio(-1))
		}
		c = parts[0].plus(other)
	case n.Op == formula.Multiply:
		if c, ok = parts[0].by(parts[1]); !ok {
			return c, false
		}
	case n.Op == formula.Divide && n.Args[1].Op == formula.Literal && n.Args[1].Number != 0:
		c = parts[0].times(new(big.Rat).Inv(ratio(n.Args[1].Number)))
	default:
		return c, false
	}
	c.size = new(big.Rat)
	for _, y := range c.extremes(i) {
		c.size = greater(c.size, magnitude(y))
	}
	if len(parts) == 2 { // an operation rounds its result
		c.off = added(c.off, product(halfULP, added(c.size, c.off)), underflow)
	}
	for _, f := range c.factors {
		if f.Num().BitLen() > mostBits || f.Denom().BitLen() > mostBits {
			return c, false
		}
	}
	off, _ := c.off.Float64()
	if !(off < 0x1p1000) || c.size.Cmp(ratio(0x1p1000)) > 0 {
		return c, false
	}
	if off > 0 {
		c.off = ratio(math.Nextafter(off, math.Inf(1))) // a short number
	}
	return c, true
}

// times multiplies a curve.
func (c curve) times(by *big.Rat) curve {
	out := curve{off: product(c.off, magnitude(by))}
	for k, f := range c.factors {
		out.factors[k] = product(f, by)
	}
	return out
}

// plus adds curves.
func (c curve) plus(o curve) curve {
	out := curve{off: added(c.off, o.off)}
	for k := range c.factors {
		out.factors[k] = added(c.factors[k], o.factors[k])
	}
	return out
}

// by multiplies curves. It fails beyond the second degree.
func (c curve) by(o curve) (out curve, ok bool) {
	zero := new(big.Rat)
	all := [5]*big.Rat{zero, zero, zero, zero, zero}
	for j, a := range c.factors {
		for k, b := range o.factors {
			all[j+k] = added(all[j+k], product(a, b))
		}
	}
	out.off = added(product(c.size, o.off), product(o.size, c.off), product(c.off, o.off))
	out.factors = [3]*big.Rat(all[:3])
	return out, all[3].Sign() == 0 && all[4].Sign() == 0
}

// narrow bounds the vectors of rows whose numbers are all curves of one column. It returns nil for a bound that it cannot prove.
//
// # Contract
//
// Where values of the column lie between its bounds, a row adds a vector that is no longer than arrive, and two rows of one place, or
// one and none, differ by at most swap. Proof: query.proof.md. // P39
func (q *query) narrow(i *interval) (arrive, swap *sdk.Norms) {
	if len(q.coordinates) > mostCurves {
		return nil, nil
	}
	curves, straight, outward, signed := make([]curve, len(q.coordinates)), true, true, true
	all := none()                        // the sum of the magnitudes, where each has one sign
	h1, h2 := new(big.Rat), new(big.Rat) // the lengths of what floats, holding and the lattice add
	w0, w1 := ratio(q.weights[0]), ratio(q.weights[1])
	for j := range q.coordinates {
		c := &q.coordinates[j]
		own, ok := i.curve(c.root)
		if !ok {
			return nil, nil
		}
		straight, outward = straight && !own.bent(), outward && own.outward(i)
		negative := slices.ContainsFunc(own.extremes(i), func(y *big.Rat) bool { return y.Sign() < 0 })
		positive := slices.ContainsFunc(own.extremes(i), func(y *big.Rat) bool { return y.Sign() > 0 })
		signed = signed && !(negative && positive)
		held := new(big.Rat) // how far holding moves it
		for _, y := range own.extremes(i) {
			held = greater(held, greater(added(y, own.off, ratio(-c.High)), added(ratio(c.Low), own.off, new(big.Rat).Neg(y))))
		}
		weighed := product(w1, added(own.off, held, product(halfULP, added(own.size, own.off, held))))
		away := added(ratio(0.5+0x1p-8), product(ratio(c.inverse), added(weighed, underflow)))
		h1, h2 = added(h1, away), added(h2, product(away, away))
		curves[j] = own.times(ratio(c.inverse))
		if upward := curves[j]; negative {
			all = all.plus(upward.times(ratio(-1)))
		} else {
			all = all.plus(upward)
		}
	}
	far := func(x, w, y, v *big.Rat) (one, square *big.Rat) {
		one, square = new(big.Rat), new(big.Rat)
		for _, c := range curves {
			d := new(big.Rat).Sub(product(w, c.at(x)), product(v, c.at(y)))
			one, square = added(one, magnitude(d)), added(square, product(d, d))
		}
		return one, square
	}
	one, square := new(big.Rat), new(big.Rat)
	reach := func(x, w, y, v *big.Rat) {
		a, b := far(x, w, y, v)
		one, square = greater(one, a), greater(square, b)
	}
	if !outward && !signed {
		return nil, nil
	}
	for _, x := range []*big.Rat{i.low, i.high} {
		reach(x, w1, x, new(big.Rat))
	}
	if signed {
		for _, y := range all.extremes(i) {
			one = greater(one, product(w1, y))
		}
	}
	if arrive = longer(one, square, h1, h2); !outward {
		arrive.Square.Mul(arrive.L1, arrive.L1)
	}
	if !straight {
		return arrive, nil
	}
	for k := range 16 {
		pick := func(bit int, a, b *big.Rat) *big.Rat { return []*big.Rat{a, b}[k>>bit&1] }
		reach(pick(0, i.low, i.high), pick(1, w0, w1), pick(2, i.low, i.high), pick(3, w0, w1))
	}
	return arrive, longer(one, square, product(ratio(2), h1), product(ratio(4), h2))
}

// longer bounds the length of whole numbers that are away from a vector by another one, rounded up. It takes L1 norms, and the
// squares of L2 norms.
func longer(one, square, away, awaySquare *big.Rat) *sdk.Norms {
	whole := func(x *big.Rat) *big.Int { return new(big.Int).Quo(x.Num(), x.Denom()) }
	root := new(big.Int).Sqrt(new(big.Int).Add(whole(product(square, awaySquare)), big.NewInt(1)))
	both := new(big.Rat).SetInt(double(root.Add(root, big.NewInt(1))))
	return &sdk.Norms{L1: whole(added(one, away)), Square: whole(added(square, awaySquare, both))}
}

// holder holds the finite values of a column to its bounds.
type holder struct {
	low, high float64
	room      []float64
}

// hold returns values, or a copy where one lies outside the bounds.
func (h *holder) hold(values []float64) []float64 {
	first := slices.IndexFunc(values, func(x float64) bool { return (x < h.low || x > h.high) && x-x == 0 })
	if first < 0 {
		return values
	}
	h.room = append(h.room[:0], values...)
	for i, x := range h.room[first:] {
		if x-x == 0 {
			h.room[first+i] = between(x, h.low, h.high)
		}
	}
	return h.room
}
