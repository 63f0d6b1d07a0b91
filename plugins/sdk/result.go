package sdk

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/columns"
)

// Result is the output of a release. Its columns are those of the plan's Output. If they include
// strings "kind" and "name", a row of the kind "verdict" says in its name whether the release can
// be relied on; the report and the run repeat it. If they include strings FlagField, a row whose
// flag is not empty may hold NaN in columns of numbers: the host shows these values as blank.
type Result struct {
	Columns []ResultColumn

	_ struct{}
}

// FlagField is the column of strings that says why values of a row are blank. It is empty where
// none is.
const FlagField = "flag"

// The flags of a row whose interval has one end, so that the other one is blank.
const (
	AtLeast = "at least interval_low"
	AtMost  = "at most interval_high"
)

// Verdict returns what the result says of itself, or "".
func (r Result) Verdict() string {
	kinds, names := r.strings("kind"), r.strings("name")
	if at := slices.Index(kinds, "verdict"); at >= 0 && at < len(names) {
		return names[at]
	}
	flags := r.strings(FlagField)
	one := slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f != AtLeast && f != AtMost })
	blank := slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f == "" || f == AtLeast || f == AtMost })
	switch {
	case len(blank) == 0 && len(one) == 0:
		return ""
	case len(blank) == 0:
		return fmt.Sprintf("%d of %d intervals have one end: %s", len(one), len(flags), one[0])
	case len(blank) == len(flags):
		return "of no use: " + blank[0]
	}
	return fmt.Sprintf("%d of %d values are blank: %s", len(blank), len(flags), blank[0])
}

// strings are the values of a column of strings, nil where there is none of that name.
func (r Result) strings(name string) []string {
	for _, c := range r.Columns {
		if c.Name == name {
			return c.Texts
		}
	}
	return nil
}

// Blanks returns the result with its NaNs marked as blank.
func (r Result) Blanks() Result {
	r.Columns = slices.Clone(r.Columns)
	for i, c := range r.Columns {
		if !slices.ContainsFunc(c.Float64, math.IsNaN) {
			continue
		}
		numbers, blank := slices.Clone(c.Float64), slices.Clone(c.Blank)
		if blank == nil {
			blank = make([]bool, len(numbers))
		}
		for k, x := range numbers {
			if math.IsNaN(x) { // nothing of it is published, its bits included
				numbers[k], blank[k] = 0, true
			}
		}
		r.Columns[i].Float64, r.Columns[i].Blank = numbers, blank
	}
	return r
}

// The columns that the built-in linear mechanisms release beside the groups.
const (
	EstimateField = "estimate"
	SDField       = "noise_sd" // the standard deviation of the noise in the estimate
)

// ResultColumn is one column of a result.
type ResultColumn = columns.Column
