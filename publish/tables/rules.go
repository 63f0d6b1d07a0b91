package tables

import (
	"math"
	"strconv"

	"github.com/dprelease/dprelease/report"
)

// Rules say which values are marked and which are left blank, by their relative error: the standard deviation of the
// error over the released value. Both are noisy or public, so that a mark tells nothing that the release does not. 0
// stands for no rule.
type Rules struct{ Flag, Blank float64 }

// The marks of SDMX's list of observation states. No mark is a normal value.
const (
	Unreliable = "U"
	Suppressed = "Q"
)

// mark returns the mark of a row.
func (r Rules) mark(row report.Row) string {
	switch {
	case !row.Shown, r.Blank > 0 && row.Relative > r.Blank:
		return Suppressed
	case r.Flag > 0 && row.Relative > r.Flag:
		return Unreliable
	}
	return ""
}

// percent writes a share of one in per cent.
func percent(x float64) string {
	return strconv.FormatFloat(math.Round(x*1e6)/1e4, 'f', -1, 64) + "\u00a0%"
}
