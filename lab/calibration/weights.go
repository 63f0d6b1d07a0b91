package main

import (
	"fmt"
	"math"
	"strings"
)

// unheld is a bound that no weight reaches. It is finite, so that a cell of 0 stays 0.
const unheld = 1e12

// factor returns the calibration factor of a cell: its public total over the weight of its respondents, held to
// [low, high]. A cell without respondents has the largest factor.
func factor(total, weight, low, high float64) float64 {
	if weight <= 0 {
		return high
	}
	return math.Min(math.Max(total/weight, low), high)
}

// rake scales the rows and then the columns of a table to their totals, so many times. After each round it holds every
// cell to [low, high] times what the cell was at first. A cell of 0 stays 0.
func rake(table [][]float64, rows, columns []float64, rounds int, low, high float64) [][]float64 {
	out := make([][]float64, len(table))
	for r := range table {
		out[r] = append([]float64(nil), table[r]...)
	}
	for range rounds {
		for r := range out {
			scale(rows[r], len(out[r]), func(c int) *float64 { return &out[r][c] })
		}
		for c := range columns {
			scale(columns[c], len(out), func(r int) *float64 { return &out[r][c] })
		}
		for r := range out {
			for c := range out[r] {
				out[r][c] = math.Min(math.Max(out[r][c], low*table[r][c]), high*table[r][c])
			}
		}
	}
	return out
}

// scale multiplies n cells so that they add up to total.
func scale(total float64, n int, cell func(int) *float64) {
	sum := 0.0
	for i := range n {
		sum += *cell(i)
	}
	if sum <= 0 {
		return
	}
	for i := range n {
		*cell(i) *= total / sum
	}
}

// chain returns a table of k rows and k columns with so many respondents in each cell of the diagonal, and one to the right
// of each. If it is closed, one respondent more stands in the corner below, and all rows and columns have equally many.
func chain(k, diagonal int, closed bool) [][]float64 {
	out := make([][]float64, k)
	for i := range out {
		out[i] = make([]float64, k)
		out[i][i] = float64(diagonal)
		if i+1 < k {
			out[i][i+1] = 1
		}
	}
	if closed {
		out[k-1][0] = 1
	}
	return out
}

// moved returns how far the respondent who closes the chain moves a raked total, in units of the mean weight times the
// largest value. The values are the worst ones: everybody on the diagonal has the largest, everybody else 0.
func moved(k, diagonal, rounds int, low, high float64) float64 {
	size := float64(k * (diagonal + 1))
	equal := make([]float64, k)
	for i := range equal {
		equal[i] = size / float64(k) // so the mean weight is 1
	}
	total := func(closed bool) float64 {
		sum := 0.0
		for i, row := range rake(chain(k, diagonal, closed), equal, equal, rounds, low, high) {
			sum += row[i]
		}
		return sum
	}
	return math.Abs(total(true) - total(false))
}

func rakingTable() string {
	var b strings.Builder
	b.WriteString("| categories of each margin | 5 rounds | 50 rounds | 5,000 rounds | 5,000 rounds, weights held to [½, 2] times the mean |\n|---|---|---|---|---|\n")
	for _, k := range []int{2, 4, 9, 20} {
		fmt.Fprintf(&b, "| %d |", k)
		for _, rounds := range []int{5, 50, 5000} {
			fmt.Fprintf(&b, " %.1f |", moved(k, 1, rounds, 0, unheld))
		}
		fmt.Fprintf(&b, " %.1f |\n", moved(k, 1, 5000, 0.5, 2))
	}
	return b.String()
}
