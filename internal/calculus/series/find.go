package series

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Goal says which error of the published rows is made small. The zero Goal is not valid.
type Goal int

// The goals. Both count a row's error as often as its weight says.
const (
	RMS   Goal = iota + 1 // the root of the mean square over all rows
	Worst                 // the largest
)

// of returns the squared error that the goal is about.
func (g Goal) of(squares []float64) float64 {
	if g == Worst {
		return floats.Max(squares)
	}
	return floats.Sum(squares) / float64(len(squares))
}

// A Question names the figures that a series publishes, and whose they are.
type Question struct {
	Periods int
	Rows    []Row
	Goal    Goal
	Units   Units
	// Pure says that the noise is Laplace noise and the price is in ε.
	Pure bool
	// Largest bounds Matrix.Largest, so that no run overflows; at least 1.
	Largest int64
}

// The candidates, by name.
const (
	Alone      = "independent" // each period by itself
	Optimal    = "optimal"     // for these rows, and a unit in one period
	SquareRoot = "square root" // of the matrix of running totals
	Banded     = "banded"      // for these rows, and as far back as two periods of a unit are apart
	Blocks     = "blocks"      // each period by itself, and some sums of periods
)

// A series has at most MostPeriods periods, and a row of its matrix no factor above mostFactor.
const (
	MostPeriods = 520
	mostFactor  = 1000
)

// A Candidate is one matrix that was tried, and what errors it has.
type Candidate struct {
	Name       string
	RMS, Worst float64 // weighted; in the unit of Plan.Errors
}

// A Plan is the matrix that a series uses, and what it is worth.
type Plan struct {
	Matrix Matrix
	Name   string // of the candidate that was taken
	Charge int64  // Matrix.Charge, or Matrix.Pure, for the units of the question
	// Errors holds the error of each row of the question. The unit is the standard deviation
	// that the figure of one period needs if nothing else is ever published.
	Errors []float64
	Tried  []Candidate
}

// gain is by how much a candidate must be better than independent noise to be taken.
const gain = 0.99

// Find returns the best matrix for a question among the candidates. The answer depends on
// nothing private, but its last digits may depend on the machine: who goes on with a series
// keeps the matrix that it began with.
func Find(q Question) (*Plan, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	w := q.dense()
	p := &Plan{}
	least := math.Inf(1)
	for _, c := range q.candidates(w) {
		m, ok := q.round(c.real, w)
		if !ok {
			continue
		}
		errs := q.errors(m)
		t := Candidate{Name: c.name}
		t.RMS, t.Worst = q.summary(errs)
		p.Tried = append(p.Tried, t)
		reached := t.RMS
		if q.Goal == Worst {
			reached = t.Worst
		}
		if c.name == Alone {
			reached *= gain
		}
		if reached < least {
			least, p.Matrix, p.Name, p.Charge, p.Errors = reached, m, c.name, q.Charge(m), errs
		}
	}
	return p, nil
}

func (q *Question) check() error {
	switch {
	case q.Periods < 1 || q.Periods > MostPeriods:
		return fmt.Errorf("a series has 1 to %d periods", MostPeriods)
	case len(q.Rows) == 0:
		return errors.New("a series publishes at least one row")
	case q.Goal != RMS && q.Goal != Worst:
		return errors.New("a series needs a goal")
	case q.Units.AtMost < 1 || q.Units.Apart < 0:
		return errors.New("a unit is in at least one period")
	case q.Largest < 1:
		return errors.New("a run must be allowed to measure one period")
	}
	for _, r := range q.Rows {
		if len(r.Terms) == 0 || !(r.Weight > 0) || math.IsInf(r.Weight, 1) {
			return errors.New("a row has at least one term and a weight above 0")
		}
		for _, t := range r.Terms {
			if t.Period < 0 || t.Period >= q.Periods || t.Factor < -mostFactor || t.Factor > mostFactor {
				return errors.New("a row needs a period that the series does not have, or has a factor that is too large")
			}
		}
	}
	return nil
}

// dense returns the rows as a matrix, each as often as its weight says.
func (q *Question) dense() *mat.Dense {
	w := mat.NewDense(len(q.Rows), q.Periods, nil)
	for r, row := range q.Rows {
		for _, t := range row.Terms {
			w.Set(r, t.Period, w.At(r, t.Period)+float64(t.Factor)*row.Weight)
		}
	}
	return w
}

// A made is a candidate before it is rounded: a lower triangular matrix.
type made struct {
	name string
	real *mat.Dense
}

func (q *Question) candidates(w *mat.Dense) []made {
	all := []made{{Alone, toeplitz(q.Periods, 1)}}
	if q.Periods == 1 {
		return all
	}
	if q.Pure {
		return append(all, q.summed()...)
	}
	if c := optimum(w, q.Goal); c != nil {
		all = append(all, made{Optimal, c})
	}
	all = append(all, made{SquareRoot, toeplitz(q.Periods, q.Periods)})
	if _, apart := q.Units.within(q.Periods); apart > 1 && apart < q.Periods && q.Units.AtMost > 1 {
		all = append(all, made{Banded, banded(w, q.Goal, apart)})
	}
	return all
}

// toeplitz returns the square root of the matrix of running totals, of which only some
// diagonals are kept. One diagonal is independent noise.
func toeplitz(n, bands int) *mat.Dense {
	c := mat.NewDense(n, n, nil)
	for t := range n {
		x := 1.0
		for back := 0; back < bands && back <= t; back++ {
			if back > 0 {
				x *= float64(2*back-1) / float64(2*back)
			}
			c.Set(t, t-back, x)
		}
	}
	return c
}

// loss is the factor by which a matrix may become worse when it is rounded.
const loss = 1.0005

// round returns the coarsest whole-number matrix that is nearly as good as the real one, or
// the best there is room for.
func (q *Question) round(real, w *mat.Dense) (best Matrix, ok bool) {
	aim := loss * q.reached(real, w)
	least := math.Inf(1)
	for scale := 1.0; scale <= 1<<26 && least > aim; scale *= 2 {
		m, err := NewMatrix(rounded(real, scale))
		if err != nil || m.Largest() > q.Largest {
			break
		}
		if reached := q.reached(m.dense(), w); reached < least {
			least, best, ok = reached, m, true
		}
	}
	return best, ok
}

func rounded(real *mat.Dense, scale float64) [][]int64 {
	n, _ := real.Dims()
	rows := make([][]int64, n)
	for t := range rows {
		rows[t] = make([]int64, t+1)
		for s := range rows[t] {
			rows[t][s] = int64(math.RoundToEven(real.At(t, s) * scale))
		}
		rows[t][t] = max(rows[t][t], 1)
	}
	return rows
}

func (m Matrix) dense() *mat.Dense {
	c := mat.NewDense(m.Periods(), m.Periods(), nil)
	for t, row := range m.rows {
		for s, x := range row {
			c.Set(t, s, float64(x))
		}
	}
	return c
}

// reached returns the error that the goal is about, for a unit in one period.
func (q *Question) reached(c, w *mat.Dense) float64 {
	column := 0.0
	for s := range q.Periods {
		v := c.ColView(s)
		column = max(column, mat.Dot(v, v))
	}
	return math.Sqrt(q.Goal.of(squares(w, c)) * column)
}

// Charge returns what a matrix is charged for the units of the question.
func (q *Question) Charge(m Matrix) int64 {
	if q.Pure {
		return m.Pure(q.Units)
	}
	return m.Charge(q.Units)
}

// Times returns by how much the noise of a run is larger than that of a figure of one period which
// is published alone at the same price, for what a matrix is charged.
func (q *Question) Times(charge int64) float64 {
	if q.Pure {
		return float64(charge)
	}
	return math.Sqrt(float64(charge))
}

// errors returns the error of each row with this matrix, unweighted.
func (q *Question) errors(m Matrix) []float64 {
	errs := make([]float64, len(q.Rows))
	c := q.Times(q.Charge(m))
	for i, r := range q.Rows {
		errs[i] = c * m.Noise(r)
	}
	return errs
}

// summary returns the weighted errors of all rows together.
func (q *Question) summary(errs []float64) (rms, worst float64) {
	all := 0.0
	for i, e := range errs {
		x := q.Rows[i].Weight
		rms += e * e * x * x
		all += x * x
		worst = max(worst, e*x)
	}
	return math.Sqrt(rms / all), worst
}

// Anew returns the error of every row if each is measured anew, all with the same noise, in the
// unit of Plan.Errors.
func (q *Question) Anew() float64 {
	w := make([][]int64, len(q.Rows))
	for r, row := range q.Rows {
		w[r] = make([]int64, q.Periods)
		for _, t := range row.Terms {
			w[r][t.Period] += t.Factor
		}
	}
	if q.Pure {
		return q.Times(pure(w, q.Periods, q.Units))
	}
	return q.Times(charge(w, q.Periods, q.Units))
}
