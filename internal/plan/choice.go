package plan

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// picks reports whether a cap chooses at random which rows of a unit count in a value of the release. Without groups a count
// has so many rows of a unit whichever they are.
func (r *PlannedRelease) picks() bool {
	counted := r.Plan.Estimates() == sdk.StatisticCount && len(r.Job.By) == 0 && r.Plan.Rows == 1
	return r.cap != nil && r.cap.Binds != job.BindsNever && !counted
}

// addChoice adds the variance of the random choice inside a cap to the noise of each value, and to intervals with both ends.
//
// # Contract
//
// What it adds is at least the variance of the choice in expectation, to first order for quotients: choices of different units are
// independent, and what a unit adds to a value is bounded by public numbers, so released figures bound its variance. Where no
// released figure does, the error is blank. It reads no row. Proof: choice.proof.md. // P41
func (r *PlannedRelease) addChoice(columns []sdk.ResultColumn) {
	if !r.picks() {
		return
	}
	at := func(name string) *sdk.ResultColumn { return columnIn(columns, name) }
	ends, value, noise := endFields[0], at(estimateField), at(noiseField)
	if r.Series != nil {
		ends, value, noise = endFields[1], at("value"), at("sd")
	}
	if value == nil || noise == nil {
		return
	}
	low, high := at(ends[0]), at(ends[1])
	wide := distuv.UnitNormal.Quantile(0.5 + r.levelOf()/200)
	whole, cv := at(errorField), at(cvField)
	for _, c := range []*sdk.ResultColumn{noise, low, high, whole, cv} {
		if c != nil {
			own(c)
		}
	}
	kinds := slices.IndexFunc(columns, func(c sdk.ResultColumn) bool { return r.Series != nil && c.Name == planned.KindField })
	for i, x := range value.Float64 {
		sd := r.choiceSD(x, noise.Float64[i], func(name string) float64 {
			if c := at(name); c != nil && i < len(c.Float64) && !c.Hidden(i) {
				return c.Float64[i]
			}
			return 0
		})
		if kinds >= 0 && strings.HasPrefix(columns[kinds].Texts[i], string(job.Change)) {
			sd = math.Inf(1) // it is small where both periods vary
		}
		for _, c := range []*sdk.ResultColumn{noise, whole} {
			if c != nil {
				addTo(c, i, sd)
			}
		}
		if whole != nil && cv != nil { // of the new error, to four decimals and at most what it was at most
			if whole.Hidden(i) {
				cv.Hide(i)
			}
			if !cv.Hidden(i) {
				cv.Float64[i] = math.Min(mostCV, math.Round(1e4*whole.Float64[i]/math.Abs(x))/1e4)
			}
		}
		if low == nil || high == nil || low.Hidden(i) && high.Hidden(i) || r.Whose().Ends != EndsBoth {
			continue
		}
		for side, end := range []*sdk.ResultColumn{low, high} {
			switch {
			case end.Hidden(i):
			case math.IsInf(sd, 1) || value.Hidden(i): // nothing bounds the choice
				blank(end, i)
			default:
				end.Float64[i] = x + float64(2*side-1)*math.Hypot(end.Float64[i]-x, wide*sd)
			}
		}
	}
}

// mostCV bounds the coefficient of variation of a value near 0.
const mostCV = 10

// addTo adds an independent error to a standard deviation, which is blank where nothing bounds it.
func addTo(c *sdk.ResultColumn, i int, sd float64) {
	if math.IsInf(sd, 1) {
		blank(c, i)
		return
	}
	c.Float64[i] = math.Hypot(c.Float64[i], sd)
}

// levelOf is the level of the intervals, in per cent.
func (r *PlannedRelease) levelOf() float64 {
	if level, err := strconv.ParseFloat(r.Level(), 64); err == nil {
		return level
	}
	return usualLevel
}

// choiceSD bounds the standard deviation that the random choice of rows gives a value x, which has noise of its own. Of names
// other released figures of its row. It is infinite where nothing bounds it.
func (r *PlannedRelease) choiceSD(x, noise float64, of func(string) float64) float64 {
	rows := float64(r.cap.Rows) * math.Max(1, r.Public.Design.MaxWeight) // what a unit adds to a count, at most
	switch r.Plan.Estimates() {
	case sdk.StatisticCount: // Σ Var(X) ≤ Σ E[X]·(rows − E[X])
		return math.Sqrt(rows * (math.Max(x, 0) + noise))
	case sdk.StatisticTotal:
		low, high := r.valueRange()
		most := rows * math.Max(math.Abs(low), math.Abs(high))
		if low < 0 && high > 0 {
			return math.Inf(1)
		}
		return math.Sqrt(most * (math.Abs(x) + noise))
	case sdk.StatisticShare:
		return per(rows*math.Max(x*(1-x), 0), of("count"))
	case sdk.StatisticMean:
		low, high := r.valueRange()
		return per(rows*math.Max((x-low)*(high-x), 0), of("count"))
	}
	if above, below, ok := r.quotientOf(); ok {
		x = math.Abs(x) + noise
		return per(rows*x*(above+x*below), of("denominator"))
	}
	return math.Inf(1)
}

// quotientOf returns the largest magnitudes of the columns above and below the line of a ratio of two sums, and false where the release
// is none, or values above the line may have both signs.
func (r *PlannedRelease) quotientOf() (above, below float64, ok bool) {
	if len(r.Plan.Errors) == 0 || r.Plan.Errors[0].Over == nil || r.Plan.Errors[0].Over.Linear.Adds == "" {
		return 0, 0, false
	}
	divides := func(name string) bool { return name == r.Plan.Errors[0].Over.Linear.Adds }
	low, high := r.rangeOf(divides)
	if below = high; low < 0 {
		return 0, 0, false
	}
	low, high = r.rangeOf(func(name string) bool { return !divides(name) })
	return math.Max(-low, high), below, low >= 0 || high <= 0
}

// per is the root of a variance over a number of rows.
func per(variance, rows float64) float64 {
	if !(rows > 0) {
		return math.Inf(1)
	}
	return math.Sqrt(variance / rows)
}

// valueRange is the range of the only column of numbers that the release reads, and everything where there are several.
func (r *PlannedRelease) valueRange() (low, high float64) {
	return r.rangeOf(func(string) bool { return true })
}

// rangeOf is valueRange for the columns of some names.
func (r *PlannedRelease) rangeOf(named func(string) bool) (low, high float64) {
	n := 0
	for _, name := range r.Plan.Columns {
		if c, ok := r.Public.Column(name); ok && c.Type == sdk.Number && named(name) {
			low, high, n = c.Lower, c.Upper, n+1
			if b, ok := r.found[name]; ok {
				low, high = low*b, high*b
			}
		}
	}
	if n != 1 {
		return math.Inf(-1), math.Inf(1)
	}
	return low, high
}
