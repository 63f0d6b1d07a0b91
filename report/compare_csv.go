package report

import (
	"encoding/csv"
	"io"
	"math"
)

// WriteCSV writes the values that both runs have, one in a row, with two intervals for each difference: what noise alone explains, and what noise
// and sampling explain. Each holds the difference between the two in 95 of 100 cases, and is blank where it is not public.
func (c *Comparison) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	rows := [][]string{{"release", "value", "a", "b", "difference", "noise_low", "noise_high", "interval_low", "interval_high", "verdict"}}
	for _, r := range c.Results {
		for _, d := range r.Rows {
			row := []string{r.Release, d.Label, "", "", "", "", "", "", "", d.Verdict}
			if !d.bar.suppressed {
				d.numbers(row[2:9])
			}
			rows = append(rows, row)
		}
	}
	return w.WriteAll(rows)
}

// numbers fills the cells of a row with the digits that the noise of the difference leaves meaningful.
func (d Difference) numbers(cells []string) {
	b := d.bar
	noise := (b.high - b.low) / 2
	write := func(k int, x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		if cells[k] = unsigned(meaningful(x, noise)); cells[k] == "" {
			cells[k] = plain(x, 7)
		}
	}
	write(0, d.a)
	write(1, d.b)
	write(2, b.value)
	if noise > 0 {
		write(3, b.low)
		write(4, b.high)
	}
	switch {
	case b.half > 0:
		write(5, b.value-b.half)
		write(6, b.value+b.half)
	case !b.sampled && noise > 0: // noise is all the error there is
		copy(cells[5:], cells[3:5])
	}
}
