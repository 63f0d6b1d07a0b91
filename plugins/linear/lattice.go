package linear

import (
	"math"

	"golang.org/x/sys/cpu"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Lattice turns the number y of a row into a whole number of public steps: (y − Centre)·weight,
// in units of Step.
type Lattice struct {
	Centre, Step float64
	Least, Most  float64 // the weights of rows
	inverse      float64
}

const (
	// noiseSteps is about how many lattice steps the scale of the noise spans, so that rounding a
	// value, by half a step, adds a millionth of the noise.
	noiseSteps = 1 << 20
	// maxSteps bounds what one row adds, in steps, where few rows are expected.
	maxSteps = 1 << 42
	// leastStep is the finest lattice. Its inverse is finite and exact, so multiplying by the
	// inverse is dividing by the step.
	leastStep = 0x1p-1000
)

// Step chooses the step of a lattice, a power of two. Most is the largest number that a row adds,
// scale the approximate size of the noise in the same units, and rows the largest number of rows.
// A row spans at least a thousand steps, however large the noise is, so that its value is never
// rounded away.
func Step(most, scale, rows float64) float64 {
	g := math.Exp2(math.Floor(math.Min(math.Log2(scale)-math.Log2(noiseSteps), math.Log2(most)-10)))
	g = math.Max(g, leastStep)
	for limit := math.Min(maxSteps, 0x1p62/rows); most/g > limit; {
		g *= 2
	}
	return g
}

// NewLattice is a lattice for rows whose weights lie between least and most.
func NewLattice(centre, step, least, most float64) Lattice {
	return Lattice{Centre: centre, Step: step, Least: least, Most: most, inverse: 1 / step}
}

// Value is the lattice value of one row. It grows with y, because each operation does, and it
// moves away from 0 as the weight grows.
func (l Lattice) Value(y, weight float64) int64 { return round((y - l.Centre) * weight * l.inverse) }

// Weight clips the weight of a row to the bounds of the design.
func (l Lattice) Weight(w float64) float64 { return math.Min(math.Max(w, l.Least), l.Most) }

// Ends bounds the lattice values of all y in [low, high], for every weight.
func (l Lattice) Ends(low, high float64) (int64, int64) {
	return min(l.Value(low, l.Least), l.Value(low, l.Most)), max(l.Value(high, l.Least), l.Value(high, l.Most))
}

// magic added to a float of magnitude below 2^51 rounds it to an integer, half to even,
// and leaves that integer in the low bits.
const magic = 3 << 51

// round is math.RoundToEven for numbers below 2^51, in two additions.
func round(x float64) int64 {
	return int64(math.Float64bits(x+magic)) - int64(math.Float64bits(magic))
}

// Add adds the lattice values of a column to the cells of its rows.
func (l Lattice) Add(b Block, column int, sums []int64) {
	values := b.Columns[column].Float64
	switch {
	case b.Weights == nil && b.Cells == nil:
		sums[0] += l.total(values)
	case b.Weights == nil:
		for i, c := range b.Cells {
			if c >= 0 {
				sums[c] += round((values[i] - l.Centre) * l.inverse)
			}
		}
	default:
		for i, y := range values {
			if c := b.Cell(i); c >= 0 {
				sums[c] += l.Value(y, l.Weight(b.Weights[i]))
			}
		}
	}
}

// Count adds the lattice value of 1 to the cells of the rows. Centre must be 0.
func (l Lattice) Count(b Block, sums []int64) {
	one := l.Value(1, 1)
	switch {
	case b.Weights == nil && b.Cells == nil:
		sums[0] += one * int64(b.Rows)
	case b.Weights == nil:
		for _, c := range b.Cells {
			if c >= 0 {
				sums[c] += one
			}
		}
	default:
		for i, w := range b.Weights {
			if c := b.Cell(i); c >= 0 {
				sums[c] += l.Value(1, l.Weight(w))
			}
		}
	}
}

// total is the sum of the values of rows of weight 1. It subtracts at the end what magic added to
// the bits. Until then the sums may wrap around, which does no harm to whole numbers.
func (l Lattice) total(values []float64) int64 {
	offset := int64(len(values)) * int64(math.Float64bits(magic))
	var sums [4]int64
	if n := len(values) &^ 15; n > 0 && cpu.X86.HasAVX2 {
		totalAVX2(&sums, &values[0], &[]float64{l.Centre, l.inverse, magic}[0], n/16)
		values = values[n:]
	}
	sum := sums[0] + sums[1] + sums[2] + sums[3]
	for _, y := range values {
		sum += int64(math.Float64bits((y-l.Centre)*l.inverse + magic))
	}
	return sum - offset
}

// Weights are the public facts about the weights of rows. Least and Most bound the weights of
// single rows. A sum times Scale stands for the population.
type Weights struct{ Least, Most, Scale float64 }

// WeightsOf reads the weights of a design. Rows of equal weight have the weight 1. Known is false
// where the design does not say the largest weight.
func WeightsOf(d sdk.Design) (w Weights, known bool) {
	known = d.MaxWeight >= 1 && !math.IsInf(d.MaxWeight, 0)
	if d.EqualWeights {
		return Weights{Least: 1, Most: 1, Scale: d.MaxWeight}, known
	}
	return Weights{Least: math.Min(math.Max(d.MinWeight, 0), d.MaxWeight), Most: d.MaxWeight, Scale: 1}, known
}
