package linear

import (
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Counts are weighted numbers of rows, each of which counts in at most one part of its
// cell.
type Counts struct {
	Lattice Lattice
	scale   float64
	rows    int64
}

// NewCounts chooses the lattice: whole numbers where rows weigh the same, and else steps of
// a millionth of the noise. At most so many rows of one unit count in a cell.
func NewCounts(req sdk.PlanRequest, rows int64) (Counts, error) {
	w, known := WeightsOf(req.Public.Design)
	if !known {
		return Counts{}, ErrScale
	}
	step := 1.0
	if w.Most != 1 || w.Least != 1 {
		step = Step(w.Most, w.Most*float64(rows)/req.Target.Epsilon, MostRows(req.Public))
	}
	return Counts{Lattice: NewLattice(0, step, w.Least, w.Most), scale: w.Scale, rows: rows}, nil
}

// OneOf is the reach of a row that counts in at most one of so many parts.
func (c Counts) OneOf(parts int) Reach {
	return Simplex(parts, 1, c.Lattice.Value(1, c.Lattice.Most))
}

// Unit is what a lattice step stands for in the population.
func (c Counts) Unit() float64 { return c.Lattice.Step * c.scale }

// Expected is the error of each count.
func (c Counts) Expected(n Noise, note string) []sdk.ExpectedError {
	return []sdk.ExpectedError{{
		Field: EstimateField, NoiseSD: c.Unit() * n.SD, Half95: c.Unit() * n.Tail(0.05), Note: note,
		Linear: &sdk.Linear{Low: 0, High: float64(c.rows), Scale: c.scale},
	}}
}

// Scale is what a count is multiplied by to stand for the population.
func (c Counts) Scale() float64 { return c.scale }

// Intervals adds an interval to each of the rows of Estimates. Where rows have weights it is
// wider than it needs to be, because a row's w(w − 1) is put at the largest weight; Nodes do
// better. Strata are taken to be alike.
func (c Counts) Intervals(rows [][]float64, sums []int64, n Noise, iv *Interval) {
	rough := *iv
	if rough.Weighted {
		rough.Square *= c.Lattice.Most * rough.Part(c.Lattice.Most)
	}
	a := Additive{lattice: c.Lattice, interval: &rough, zeroOne: iv.sampled()}
	for i := range rows {
		low, high := a.Interval(sums[i:i+1], n, 0, c.scale)
		rows[i] = append(rows[i], low, high)
	}
}

// Estimates are the counts with the standard deviation of their noise.
func (c Counts) Estimates(sums []int64, n Noise) [][]float64 {
	out := make([][]float64, len(sums))
	for i, s := range sums {
		out[i] = []float64{c.Unit() * float64(s), c.Unit() * n.SD}
	}
	return out
}
