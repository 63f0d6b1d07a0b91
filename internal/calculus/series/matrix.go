package series

import (
	"errors"
	"fmt"
	"slices"
)

// mostSquares bounds the sum of the squares of the rows' absolute sums. No number that a
// charge adds up is larger, so int64 holds all of them exactly.
const mostSquares = 1 << 60

// A Matrix says what each run of a series measures: run t adds up At(t, s) times the figure
// of period s, for s up to t. It is square, lower triangular, of whole numbers, and positive
// on its diagonal. The zero Matrix has no periods and is not valid.
type Matrix struct {
	rows [][]int64 // row t has t+1 entries
}

// NewMatrix returns the matrix with these rows: row t lists the factors of periods 0 to t.
func NewMatrix(rows [][]int64) (Matrix, error) {
	if len(rows) == 0 {
		return Matrix{}, errors.New("a series has at least one period")
	}
	m := Matrix{rows: make([][]int64, len(rows))}
	left := int64(mostSquares)
	for t, row := range rows {
		if len(row) != t+1 {
			return Matrix{}, fmt.Errorf("run %d weighs %d periods, not %d", t, len(row), t+1)
		}
		if row[t] < 1 {
			return Matrix{}, fmt.Errorf("run %d does not measure its own period", t)
		}
		whole := int64(0)
		for _, c := range row {
			if c < -1<<30 || c > 1<<30 {
				return Matrix{}, fmt.Errorf("run %d has a factor that is too large", t)
			}
			whole = min(whole+max(c, -c), 1<<31)
		}
		if whole > 1<<30 || whole*whole > left {
			return Matrix{}, fmt.Errorf("the factors of runs up to %d are too large", t)
		}
		left -= whole * whole
		m.rows[t] = slices.Clone(row)
	}
	return m, nil
}

// Independent returns the matrix of a series whose runs have nothing to do with one another.
func Independent(periods int) Matrix {
	m := Matrix{rows: make([][]int64, periods)}
	for t := range m.rows {
		m.rows[t] = make([]int64, t+1)
		m.rows[t][t] = 1
	}
	return m
}

// Periods returns the number of periods.
func (m Matrix) Periods() int { return len(m.rows) }

// Run returns the factors of periods 0 to t in run t. The caller must not change them.
func (m Matrix) Run(t int) []int64 { return m.rows[t] }

// Largest returns the largest sum of absolute factors of a run: if no figure of a period is
// beyond ±b, no run measures more than b·Largest() before its noise.
func (m Matrix) Largest() (largest int64) {
	for _, row := range m.rows {
		whole := int64(0)
		for _, c := range row {
			whole += max(c, -c)
		}
		largest = max(largest, whole)
	}
	return largest
}
