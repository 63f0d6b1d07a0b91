package sdktest

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"reflect"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// violation is one promise that a pair of tables breaks.
type violation struct {
	check  string
	detail string
}

func broken(check, format string, args ...any) *violation {
	return &violation{check: check, detail: fmt.Sprintf(format, args...)}
}

// comparison holds the calls of two runs with the same answers side by side.
type comparison struct {
	pair   pair
	smooth []SmoothClaim
	seen   int                // SmoothLaplace calls so far
	spared bool               // the step at hand takes the same records on both tables
	part   int64              // Select calls so far that share one event
	spent  float64            // what they cost together
	used   map[string]float64 // the largest share of an allowance that was seen
}

// calls compares the calls that both runs made.
func (c *comparison) calls(a, b []Call) *violation {
	for i := range min(len(a), len(b)) {
		if v := c.call(i, a[i], b[i]); v != nil {
			return v
		}
	}
	return nil
}

func (c *comparison) call(i int, a, b Call) *violation {
	if a.Method != b.Method || !reflect.DeepEqual(a.Event, b.Event) {
		return broken("calls", "call %d is %s of %+v on one table, %s of %+v on its neighbour", i+1, a.Method, a.Event, b.Method, b.Event)
	}
	if len(a.Values) != len(b.Values) {
		return broken("shape", "call %d, %s: %d values on one table, %d on its neighbour", i+1, a.Method, len(a.Values), len(b.Values))
	}
	var v *violation
	switch ev := a.Event.(type) {
	case privacy.DiscreteLaplace:
		v = c.laplace(ev, a, b)
	case privacy.LastIterate:
		c.spared = c.sameBatch(a.Rows, b.Rows)
	case privacy.DiscreteGaussian:
		if v = c.gaussian(ev, a, b); v == nil && c.spared && !slices.Equal(a.Values, b.Values) {
			v = broken("batch", "the step was given the same records on both tables, and its query moves: it depends on records of other batches")
		}
		c.spared = false
	case privacy.Approx:
		v = c.smoothLaplace(ev, a, b)
	case privacy.Selection:
		v = c.scores(ev, a, b)
	case privacy.RandomizedResponse:
		v = c.codes(a, b)
	}
	if v != nil {
		v.detail = fmt.Sprintf("call %d, %s: %s", i+1, a.Method, v.detail)
	}
	return v
}

// sameBatch reports whether two batches hold the same records in the same order.
func (c *comparison) sameBatch(a, b []int64) bool {
	return slices.EqualFunc(a, b, func(i, j int64) bool {
		return i < int64(len(c.pair.left)) && j < int64(len(c.pair.right)) && same(c.pair.left[i], c.pair.right[j])
	})
}

// note keeps how much of an allowance was used up between neighbours. Where nothing is allowed
// there is no share.
func (c *comparison) note(check string, share float64) {
	if c.used != nil && c.pair.distance == 1 && share <= math.MaxFloat64 {
		c.used[check] = math.Max(c.used[check], share)
	}
}

func (c *comparison) under(s privacy.Sensitivity) float64 {
	return s.Under(c.pair.relation) * float64(c.pair.distance)
}

func (c *comparison) laplace(ev privacy.DiscreteLaplace, a, b Call) *violation {
	var sum uint64
	for i := range a.Values {
		var carry uint64
		if sum, carry = bits.Add64(sum, apart(a.Values[i], b.Values[i]), 0); carry > 0 {
			sum = math.MaxUint64
			break
		}
	}
	limit := c.under(ev.Sensitivity)
	c.note("l1-sensitivity", float64(sum)/limit)
	if new(big.Float).SetUint64(sum).Cmp(big.NewFloat(limit)) > 0 {
		return broken("l1-sensitivity", "the query moves by %d in L1 norm; declared is %v under %v%s", sum, limit, c.pair.relation, c.times())
	}
	return nil
}

func (c *comparison) gaussian(ev privacy.DiscreteGaussian, a, b Call) *violation {
	sum, moved := new(big.Int), int64(0)
	for i := range a.Values {
		if d := apart(a.Values[i], b.Values[i]); d > 0 {
			moved++
			x := new(big.Int).SetUint64(d)
			sum.Add(sum, x.Mul(x, x))
		}
	}
	if moved == 0 {
		return nil
	}
	limit := new(big.Float).SetPrec(200).SetFloat64(c.under(ev.Sensitivity))
	limit.Mul(limit, limit)
	f := new(big.Float).SetInt(sum)
	norm, _ := new(big.Float).Sqrt(f).Float64()
	c.note("l2-sensitivity", norm/c.under(ev.Sensitivity))
	if f.Cmp(limit) > 0 {
		return broken("l2-sensitivity", "the query moves by %v in L2 norm; declared is %v under %v%s", norm, c.under(ev.Sensitivity),
			c.pair.relation, c.times())
	}
	if most := max(ev.Coordinates, 1) * int64(c.pair.distance); moved > most {
		return broken("coordinates", "%d coordinates of the query move; declared is %d%s", moved, most, c.times())
	}
	return nil
}

// smoothLaplace checks that the two noise laws are as close as the event says, exactly and
// for any split of the budget. If the mechanism claims a split, it checks the claim too.
func (c *comparison) smoothLaplace(ev privacy.Approx, a, b Call) *violation {
	c.seen++
	if a.Granularity != b.Granularity {
		return broken("shape", "the lattice depends on the data")
	}
	if c.pair.distance == 0 {
		if a.Value != b.Value || a.Scale != b.Scale {
			return broken("smooth-sensitivity", "value or scale differ on %s", c.pair.what)
		}
		return nil
	}
	d := float64(c.pair.distance)
	eps, delta := d*ev.Eps, ev.Delta
	if c.pair.distance == 2 {
		delta *= 1 + math.Exp(ev.Eps) // group privacy
	}
	for _, x := range [][4]float64{{a.Value, a.Scale, b.Value, b.Scale}, {b.Value, b.Scale, a.Value, a.Scale}} {
		got := closeness(eps, x[0], x[1], x[2], x[3])
		if delta > 0 {
			c.note("smooth-sensitivity", got/delta)
		}
		if got > delta*(1+1e-6)+1e-13 {
			return broken("smooth-sensitivity", "value %v with scale %v against value %v with scale %v: at epsilon %v this costs a delta of "+
				"%.3g, more than the %.3g of the event%s",
				a.Value, a.Scale, b.Value, b.Scale, eps, got, delta, c.times())
		}
	}
	if len(c.smooth) == 0 {
		return nil
	}
	claim := c.smooth[(c.seen-1)%len(c.smooth)]
	if ratio := math.Abs(math.Log(a.Scale / b.Scale)); ratio > d*claim.Beta*(1+1e-9)+1e-12 {
		return broken("smooth-sensitivity", "the scale changes by a factor e^%v; claimed is beta = %v%s", ratio, claim.Beta, c.times())
	}
	largest := claim.Shift * math.Max(a.Scale, b.Scale)
	if d == 1 {
		largest = claim.Shift * math.Min(a.Scale, b.Scale)
	}
	if moved := math.Abs(a.Value - b.Value); moved > d*largest*(1+1e-9) {
		return broken("smooth-sensitivity", "the value moves by %v, more than the smooth sensitivity %v%s", moved, largest, c.times())
	}
	return nil
}

// scores compares the scores at every point. A draw with probability ∝ e^{−rate·score}
// costs rate·(sup − inf) of the change of the scores.
func (c *comparison) scores(ev privacy.Selection, a, b Call) *violation {
	if a.Rate != b.Rate {
		return broken("shape", "the rate depends on the data")
	}
	p, q := a.Pieces, b.Pieces
	if p[0].Lo != q[0].Lo || p[len(p)-1].Hi != q[len(q)-1].Hi {
		return broken("shape", "the range of the lattice depends on the data")
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for x := p[0].Lo; len(p) > 0 && len(q) > 0; {
		end := min(p[0].Hi, q[0].Hi)
		for _, at := range []int64{x, end} { // the change is linear between them
			d := float64(p[0].At(at) - q[0].At(at))
			lo, hi = math.Min(lo, d), math.Max(hi, d)
		}
		if x = end + 1; p[0].Hi == end {
			p = p[1:]
		}
		if q[0].Hi == end {
			q = q[1:]
		}
	}
	parts, claimed := int64(1), ev.Epsilon()
	if e, ok := ev.(privacy.BoundedRange); ok {
		if parts = max(1, e.Parts); e.Come > 0 && c.pair.relation == privacy.AddRemove {
			claimed = e.Come
		}
	}
	if c.part++; c.part == 1 {
		c.spent = 0
	}
	c.spent += a.Rate * (hi - lo)
	limit, here := claimed*float64(c.pair.distance), ""
	if parts > 1 {
		here = fmt.Sprintf(" with the draws before it, part %d of %d of the event,", c.part, parts)
	}
	c.note("scores", c.spent/claimed)
	if c.part == parts {
		c.part = 0
	}
	if c.spent > limit*(1+1e-12) {
		return broken("scores", "scores move by %v to %v: at rate %v that costs%s an epsilon of %v, more than the %v of the event%s", lo, hi,
			a.Rate, here, c.spent, limit, c.times())
	}
	return nil
}

// codes: a neighbour changes the code of one user.
func (c *comparison) codes(a, b Call) *violation {
	if len(a.Codes) != len(b.Codes) {
		return broken("shape", "%d codes on one table, %d on its neighbour", len(a.Codes), len(b.Codes))
	}
	moved := 0
	for i := range a.Codes {
		if a.Codes[i] != b.Codes[i] {
			moved++
		}
	}
	c.note("codes", float64(moved))
	if moved > c.pair.distance {
		return broken("codes", "%d codes differ, where one user changed%s", moved, c.times())
	}
	return nil
}

func (c *comparison) times() string {
	if c.pair.distance == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d steps of the relation: %s)", c.pair.distance, c.pair.what)
}

func apart(a, b int64) uint64 {
	if a < b {
		a, b = b, a
	}
	return uint64(a) - uint64(b)
}

// sameResult reports whether two results agree to the last bit.
func sameResult(a, b sdk.Result) (string, bool) {
	if len(a.Columns) != len(b.Columns) {
		return "its columns", false
	}
	for i, x := range a.Columns {
		y := b.Columns[i]
		if x.Name != y.Name || !slices.Equal(x.Int64, y.Int64) || !slices.Equal(x.Texts, y.Texts) ||
			!slices.EqualFunc(x.Float64, y.Float64, func(p, q float64) bool { return math.Float64bits(p) == math.Float64bits(q) }) {
			return fmt.Sprintf("column %q", x.Name), false
		}
	}
	return "", true
}
