package series

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tables of docs/understand/series.md say what Find says.
func TestTablesOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/understand/series.md")
	if err != nil {
		t.Fatal(err)
	}
	all := workloads()
	var lines []string
	both := func(q Question) (rms, worst *Plan) {
		q.Goal = RMS
		rms = find(t, q)
		q.Goal = Worst
		return rms, find(t, q)
	}
	for _, c := range []struct {
		text, name string
		optimum    string // the reference
	}{
		{"running total", "running", "1.93 / 1.94"},
		{"month, running total", "month, running", "1.67 / 1.94"},
		{"month, quarter, year", "month, quarter, year", "1.26 / 1.45"},
		{"month, quarter, year, year to date", "month, quarter, year, to date", "1.46 / 1.63"},
		{"month, quarter, year, running total", "month, quarter, year, running", "1.68 / 1.95"},
		{"month, rolling 12", "month, rolling 12", "1.60 / 1.91"},
		{"month, rolling 3, rolling 12", "month, rolling 3, and rolling 12", "1.61 / 1.94"},
	} {
		rms, worst := both(Question{Periods: 36, Rows: all[c.name]})
		alone := rms.candidate(Alone)
		lines = append(lines, fmt.Sprintf("| %s | %.2f / %.2f | %.2f | %.2f / %.2f | %s |", c.text, alone.RMS, alone.Worst, (&Question{Periods: 36, Rows: all[c.name], Units: single}).Anew(), rms.candidate(rms.Name).RMS, worst.candidate(worst.Name).Worst, c.optimum))
	}
	for _, c := range []struct{ periods, k, apart int }{{36, 3, 12}, {36, 6, 6}, {36, 12, 3}, {60, 5, 12}, {36, 36, 1}} {
		rms, worst := both(Question{Periods: c.periods, Rows: ToDate("running", Range{0, c.periods}), Units: Units{AtMost: c.k, Apart: c.apart}})
		alone, root := rms.candidate(Alone), rms.candidate(SquareRoot)
		lines = append(lines, fmt.Sprintf("| %d | %d | %d | %.2f / %.2f | %.2f / %.2f | %.2f / %.2f, %s |", c.periods, c.k, c.apart, alone.RMS, alone.Worst, root.RMS, root.Worst, rms.candidate(rms.Name).RMS, worst.candidate(worst.Name).Worst, rms.Name))
	}
	rows := slices.Collect(strings.Lines(string(page)))
	for _, want := range lines {
		if !slices.ContainsFunc(rows, func(row string) bool { return alike(row, want) }) {
			t.Errorf("docs/understand/series.md has no row\n%s", want)
		}
	}
}

// alike reports whether two rows of a table have the same words, and numbers that are within
// 1 % of each other: the last digits of a search depend on the machine.
func alike(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return slices.EqualFunc(x, y, func(a, b string) bool {
		if !strings.Contains(a, ".") {
			return a == b
		}
		u, err1 := strconv.ParseFloat(strings.TrimSuffix(a, ","), 64)
		v, err2 := strconv.ParseFloat(strings.TrimSuffix(b, ","), 64)
		return err1 == nil && err2 == nil && math.Abs(u/v-1) <= 0.01
	})
}
