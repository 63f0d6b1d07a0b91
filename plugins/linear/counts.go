package linear

import (
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Counts are weighted numbers of rows. A row counts in at most one part of its cell.
type Counts struct {
	Lattice Lattice
	scale   float64
	rows    int64
}

// NewCounts chooses the lattice: whole numbers where all rows weigh the same, otherwise steps of
// a millionth of the noise. Rows bounds how many rows of a unit count in a cell.
func NewCounts(req sdk.PlanRequest, rows int64) (Counts, error) {
	w, known := WeightsOf(req.Public.Design)
	if !known {
		return Counts{}, ErrScale
	}
	step := 1.0
	if w.Most != 1 || w.Least != 1 {
		step = Step(w.Most, w.Most*float64(rows)/req.Target.Epsilon, MostRows(req.Public))
	}
	return Counts{Lattice: NewLattice(0, step, w.Least, w.Most), scale: w.Scale, rows: rows / req.Public.Cap.Each()}, nil
}

// OneOf is the reach of a row that counts in at most one of the parts.
func (c Counts) OneOf(parts int) sdk.Reach {
	return Simplex(parts, 1, c.Lattice.Value(1, c.Lattice.Most))
}

// Unit returns how much of the population a lattice step stands for.
func (c Counts) Unit() float64 { return c.Lattice.Step * c.scale }

// Expected is the error of each count.
func (c Counts) Expected(n Noise, note string) []sdk.ExpectedError {
	return []sdk.ExpectedError{{
		Field: sdk.EstimateField, NoiseSD: c.Unit() * n.SD, Half95: c.Unit() * n.Tail(0.05), Note: note,
		Linear: &sdk.Linear{Low: 0, High: float64(c.rows), Scale: c.scale},
	}}
}

// Rough makes the intervals of weighted counts; nil if iv is nil. They are wider than necessary,
// because the w(w − 1) of every row is taken at the largest weight, which Nodes avoid. All strata
// are treated alike.
func (c Counts) Rough(iv *Interval) *Additive {
	if iv == nil {
		return nil
	}
	rough := *iv
	if rough.Weighted {
		rough.Square *= c.Lattice.Most * rough.Part(c.Lattice.Most)
	}
	return &Additive{lattice: c.Lattice, interval: &rough, zeroOne: iv.sampled()}
}

// Row is a count with the standard deviation of its noise and, where iv asks for one, its interval and whole error by a.
func (c Counts) Row(sums []int64, n Noise, iv *Interval, a *Additive) []float64 {
	row := []float64{c.Unit() * float64(sums[0]), c.Unit() * n.SD}
	if iv == nil {
		return row
	}
	e := Estimate{Value: row[0]}
	e.Low, e.High = a.Interval(sums, n, 0, c.scale)
	e.Error, e.Freedom = a.Error(sums, n, c.scale)
	return append(row, iv.Ends(e)...)
}
