package mean

import (
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// noiseSteps is about how many lattice steps the scale of the noise spans: the
// rounding of a value, half a step, is then a millionth of the noise.
const noiseSteps = 1 << 20

// maxSteps bounds the lattice value of one record, so that a batch of 2^20
// records cannot overflow an int64.
const maxSteps = 1 << 42

// query is one column's sum on the lattice. The lattice value of a record is an
// increasing function of the clipped value, so its extremes are its values at
// the bounds whatever floating point does in between.
type query struct {
	column      sdk.Column
	granularity float64 // a power of two, in units of weight·value
	centre      float64
	ratio       bool
	maxWeight   float64
	low, high   int64 // lattice values at the bounds, at weight maxWeight
}

// leastStep is the finest lattice: its inverse is finite and it has all its digits, so
// that multiplying by the one is dividing by the other.
const leastStep = 0x1p-1000

// newQuery chooses the lattice so that noise of the given scale, in units of
// weight·value, spans about noiseSteps steps. The width of the bounds is finite.
func newQuery(c sdk.Column, ratio bool, maxWeight, scale float64) query {
	q := query{column: c, ratio: ratio, maxWeight: maxWeight}
	q.centre = c.Lower + (c.Upper-c.Lower)/2
	if ratio {
		q.centre = c.Lower
	}
	most := maxWeight * (c.Upper - c.Lower)
	// Where the noise is huge, one record still spans a thousand steps: of none, nothing
	// would be left but noise.
	g := math.Exp2(math.Floor(math.Min(math.Log2(scale)-math.Log2(noiseSteps), math.Log2(most)-10)))
	for g = math.Max(g, leastStep); most/g > maxSteps; {
		g *= 2
	}
	q.granularity = g
	q.low, q.high = q.value(c.Lower, maxWeight), q.value(c.Upper, maxWeight)
	return q
}

// value is the lattice value of one record. Division by a power of two is exact.
func (q query) value(y, weight float64) int64 {
	return int64(math.RoundToEven((y - q.centre) * weight / q.granularity))
}

// addRemove is how far the query moves when one record comes or goes (P1): the
// largest magnitude for the centred sum, the L1 norm of the pair for the ratio.
func (q query) addRemove() int64 {
	if q.ratio {
		return q.high
	}
	return max(-q.low, q.high)
}

// replaceOne is the L1 distance that one replaced record can cause (P1).
func (q query) replaceOne() int64 {
	if q.ratio {
		return 2 * q.high
	}
	// With unequal weights the other record may come from any unit with that
	// unit's weight (P3, the trap): both extremes stand at the largest weight.
	return q.high - q.low
}
