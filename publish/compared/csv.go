package compared

import (
	"encoding/csv"
	"io"
	"math"

	"github.com/dprelease/dprelease/report"
)

// WriteCSV writes the values that both runs have, one in a row, with two intervals for each difference: what noise
// alone explains, and what noise and sampling explain. Each holds the difference between the two in 95 of 100 cases,
// and is blank where it is not public.
func (c *Comparison) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	rows := [][]string{{"release", "value", "a", "b", "difference", "noise_low", "noise_high", "interval_low", "interval_high", "verdict"}}
	for _, r := range c.Results {
		for _, d := range r.Rows {
			row := []string{r.Release, report.Cell(d.Label), "", "", "", "", "", "", "", d.Verdict}
			if !d.gap.Suppressed {
				d.numbers(row[2:9])
			}
			rows = append(rows, row)
		}
	}
	return w.WriteAll(rows)
}

// numbers fills the cells of a row with the digits that the noise of the difference leaves meaningful.
func (d Difference) numbers(cells []string) {
	gap := d.gap
	write := func(k int, x float64) {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			cells[k] = report.Digits(x, gap.Noise)
		}
	}
	write(0, d.a)
	write(1, d.b)
	write(2, gap.Value)
	if gap.Noise > 0 {
		write(3, gap.Value-gap.Noise)
		write(4, gap.Value+gap.Noise)
	}
	switch {
	case gap.Around > 0:
		write(5, gap.Value-gap.Around)
		write(6, gap.Value+gap.Around)
	case !gap.Sampled && gap.Noise > 0: // noise is all the error there is
		copy(cells[5:], cells[3:5])
	}
}
