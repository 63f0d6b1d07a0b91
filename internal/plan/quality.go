package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
)

// qualityField is the column that marks values by their relative error.
const qualityField = "quality"

// The marks of that column. A value that is too uncertain is blank.
const (
	uncertain    = "uncertain"
	tooUncertain = "too uncertain"
)

// judged reports whether the job marks or blanks values of the release by their relative error.
func (r *PlannedRelease) judged() bool {
	s := r.Job.Suppress
	return s != nil && (s.Flag != nil || s.Blank != nil)
}

// checkQuality refuses to judge values by an error that the result does not have.
func (r *PlannedRelease) checkQuality() error {
	if !r.judged() {
		return nil
	}
	switch {
	case r.has(qualityField) || slices.Contains(r.Job.By, qualityField):
		return refusals{{".suppress", "cannot be used: the result has a column named " + qualityField + " already", "leave flag and blank out"}}
	case !r.has(estimateField) || !r.has(errorField) && !r.has(noiseField):
		return refusals{
			{".suppress", "needs an estimate and its standard error: " + r.Job.Mechanism + " returns none", "leave flag and blank out"}}
	}
	return nil
}

// qualityColumn describes the column that marks values.
func (r *PlannedRelease) qualityColumn() sdk.Field {
	s, doc := r.Job.Suppress, "by the standard error over the estimate, of noise and draw together where the result has it, else of the noise"
	texts := []string{""}
	if s.Flag != nil {
		texts, doc = append(texts, uncertain), doc+fmt.Sprintf("; %s: above %s", uncertain, rational.Format(s.Flag))
	}
	if s.Blank != nil {
		texts, doc = append(texts, tooUncertain),
			doc+fmt.Sprintf("; %s: above %s, and the value is blank", tooUncertain, rational.Format(s.Blank))
	}
	return sdk.Field{Name: qualityField, Type: sdk.String, Texts: texts, Doc: doc}
}

// judge marks values by their relative error, and blanks the figures of those that are too uncertain. It is computed from what is
// released alone (P25).
func (r *PlannedRelease) judge(out *sdk.Result, rows int) {
	if !r.judged() {
		return
	}
	value, sd := columnIn(out.Columns, estimateField), columnIn(out.Columns, errorField)
	if sd == nil {
		sd = columnIn(out.Columns, noiseField)
	}
	shown := func(c *sdk.ResultColumn, i int) bool { return i < len(c.Float64) && !c.Hidden(i) }
	marks := make([]string, rows)
	for i := range marks {
		if value == nil || sd == nil || !shown(value, i) {
			continue
		}
		relative := math.Inf(1) // of an error that nothing bounds
		if shown(sd, i) && value.Float64[i] != 0 {
			relative = sd.Float64[i] / math.Abs(value.Float64[i])
		}
		switch s := r.Job.Suppress; {
		case s.Blank != nil && relative > rational.Up(s.Blank):
			marks[i] = tooUncertain
		case s.Flag != nil && relative > rational.Up(s.Flag):
			marks[i] = uncertain
		}
	}
	for k := range out.Columns {
		c := &out.Columns[k]
		if c.Float64 == nil || slices.Contains([]string{"lower", "upper", "quantile"}, c.Name) || slices.Contains(r.groupColumns(), c.Name) {
			continue
		}
		own(c)
		for i := range c.Float64 {
			if marks[i] == tooUncertain {
				blank(c, i)
			}
		}
	}
	out.Columns = append(out.Columns, sdk.ResultColumn{Name: qualityField, Texts: marks})
}
