package linear

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// The columns of an interval for the value in the population (P30).
const (
	LowField  = "interval_low"
	HighField = "interval_high"
)

// Interval is the host's word on a release that has the key interval: the level, and how to
// estimate the variance of the draw (samplers.Estimate), as Square·Σ f·x² − Mean·(Σ x)² with
// f = 1 − 1/w where rows carry weights.
//
// # Contract
//
// The ends of an interval are made from noisy sums and public facts alone. Over the draws and
// the noise together the interval holds the population's value, after clipping, about as
// often as Level says; lab/studies/coverage.md measures it (P30). Proof: interval.proof.md.
type Interval struct {
	Level    float64 `json:"level"` // of 100
	Square   float64 `json:"square"`
	Mean     float64 `json:"mean"`
	Weighted bool    `json:"weighted"`
	Rows     float64 `json:"rows"` // of the draw, 0 where they are random
	Strata   *Strata `json:"strata"`
	// Replacement says that the variance is that of a draw with replacement: f is 1.
	Replacement bool `json:"replacement"`
	// Clusters says that the squares are those of the totals of clusters.
	Clusters *Clusters `json:"clusters"`
	// Change says that the figure is a change between two periods of a series.
	Change *Change `json:"change"`
	// Shown is the least noisy number of a group that is shown, 0 where all groups are.
	Shown float64 `json:"shown"`
	// Error is the largest relative error of a value that is shown, 0 where it hides none. A value of a whole table knows of it.
	Error float64 `json:"error"`

	wide []float64 // see width
}

// Strata are the estimates by stratum, in the order of the domain of Column.
type Strata struct {
	Column string    `json:"column"`
	Square []float64 `json:"square"`
	Mean   []float64 `json:"mean"`
}

// valid reports whether no square counts less than nothing, and some counts more: the reach of
// a row depends on it.
func (s *Strata) valid() bool {
	return len(s.Square) > 0 && len(s.Mean) == len(s.Square) && slices.Min(s.Square) >= 0 && slices.Max(s.Square) > 0
}

// The errors of requests that have no interval.
var (
	errCapped = errors.New("interval: a unit may have several rows in a cell, and the error of a draw of units does not follow " +
		"from sums over rows: fold the units, or cap them at one row")
	errWeight = errors.New("the design's largest weight is not known")
	errHost   = errors.New("interval: the host writes this parameter; say interval: 95 beside params")
	errStrata = errors.New("interval: the draw has strata, so it reads the column that names them: declare it in dataset.columns " +
		"with the strata as its domain")
	errClusters = errors.New("interval: the units that the draw takes first have many rows, and of this statistic the sums between " +
		"such units are not released; mean, proportion, sum and count give intervals for multistage samples")
	errClusterRoom = errors.New("interval: the first units of the draw may hold too many rows for squares of 64 bits")
)

// sampled reports whether a draw adds to the error.
func (iv *Interval) sampled() bool { return iv.Square > 0 }

// Part is f: how much of the square of a row with weight w counts.
func (iv *Interval) Part(w float64) float64 {
	if iv.Replacement {
		return 1
	}
	return math.Max(0, 1-1/w)
}

// shows is the least magnitude that a value needs to be shown, given the standard deviation of its noise; 0 where all are.
func (iv *Interval) shows(sd float64) float64 {
	if iv.Error > 0 && !iv.sampled() {
		return math.Max(iv.Shown, sd/iv.Error)
	}
	return iv.Shown
}

// Check returns why a request can have no interval, nil where it can.
func (iv *Interval) Check(public sdk.Public, cells Cells, values ...sdk.Column) error {
	if iv.Clustered() {
		return errClusters
	}
	return iv.CheckClustered(public, cells, values...)
}

// CheckClustered is Check for a statistic that adds up the products of the totals of clusters.
func (iv *Interval) CheckClustered(public sdk.Public, cells Cells, values ...sdk.Column) error {
	switch {
	case iv == nil:
		return nil
	case !(iv.Level >= 50 && iv.Level < 100) || iv.Strata != nil && !iv.Strata.valid():
		return errHost
	case iv.sampled() && cells.Units(public, values...).Rows > 1:
		return errCapped
	}
	return nil
}

// IntervalFields are the columns of an interval, none where none is asked for.
func IntervalFields(iv *Interval) []sdk.Field {
	if iv == nil {
		return nil
	}
	level := Figure(iv.Level)
	return []sdk.Field{
		Number(LowField,
			"lower end of the "+level+" % confidence interval for the population's value, of noise and draw together, after clipping"),
		Number(HighField,
			"upper end of the "+level+" % confidence interval for the population's value, of noise and draw together, after clipping"),
	}
}

// With appends the fields of the interval.
func (iv *Interval) With(fields []sdk.Field) []sdk.Field {
	return append(fields, IntervalFields(iv)...)
}

// WideStrata returns what to add to the note of a value that is divided by an estimate, where the draw takes fixed numbers of strata.
func (iv *Interval) WideStrata(public sdk.Public) string {
	if iv == nil || !iv.sampled() || public.Design.Kind != "stratified" || public.Design.SampleSize == 0 {
		return ""
	}
	return "; its interval leaves the differences between strata in, and is up to 8 times as wide as one for strata"
}

// The columns of the whole error of a value, of noise and draw together.
const (
	ErrorField   = "standard_error"
	CVField      = "cv"
	FreedomField = "df"
)

// mostCV bounds the coefficient of variation of a value near 0.
const mostCV = 10

// WithError appends the fields of the interval, and those of the whole error where there is a draw.
func (iv *Interval) WithError(fields []sdk.Field) []sdk.Field {
	fields = iv.With(fields)
	if iv == nil || !iv.sampled() {
		return fields
	}
	fields = append(fields, Number(ErrorField, "standard error of the estimate, of noise and draw together"),
		Number(CVField, "coefficient of variation: standard_error over the absolute value of the estimate, at most "+Figure(mostCV)))
	if iv.freedom() > 0 {
		fields = append(fields, Number(FreedomField, "degrees of freedom of the draw"))
	}
	return fields
}

// Ends are the numbers of an estimate for the fields of WithError, in their order.
func (iv *Interval) Ends(e Estimate) []float64 {
	if iv == nil {
		return nil
	}
	out := []float64{e.Low, e.High}
	if !iv.sampled() {
		return out
	}
	if out = append(out, e.Error, e.CV()); iv.freedom() > 0 {
		out = append(out, e.Freedom)
	}
	return out
}

// Woodruff takes the standard error from an interval, as half of it over the normal quantile, and from one side alone where
// the other ends at a bound (Woodruff 1952).
func (iv *Interval) Woodruff(e Estimate, bottom, top bool) Estimate {
	low, high := e.Value-e.Low, e.High-e.Value
	switch {
	case bottom:
		low = high
	case top:
		high = low
	}
	e.Error, e.Freedom = (low+high)/2/distuv.UnitNormal.Quantile(0.5+iv.Level/200), iv.freedom()
	if math.IsNaN(e.Value) {
		e.Freedom = e.Value
	}
	return e
}

// freedom is the public number of degrees of freedom of the draw, 0 where it is random.
func (iv *Interval) freedom() float64 {
	if iv == nil || iv.Rows == 0 {
		return 0
	}
	strata := 1
	if iv.Strata != nil {
		strata = len(iv.Strata.Square)
	}
	return math.Max(0, iv.Rows-float64(strata))
}

// whole is the standard deviation of noise and draw together.
func (s spread) whole() float64 { return math.Sqrt(math.Max(s.draw, 0) + s.noise*s.noise) }

// spread describes the error of one estimate: the estimated variance of the draw, the standard
// deviation of the noise in that variance, and that of the noise in the value. Lucky is how far the noise
// may have moved the estimate by what made it visible (Interval.lucky). More is a margin for the noise in the variance, in its
// standard deviations (Interval.more).
type spread struct{ draw, unsure, noise, lucky, more float64 }

// half is half of the interval that holds the error with the probability of the level. The error
// of the draw is taken as normal, and Laplace noise as a single variable, which has the heaviest
// tails of all sums of the same variance. The variance of the draw is only estimated: margin
// makes up for the noise in it, and Student's distribution for the number of rows.
func (iv *Interval) half(s spread, n Noise, rows float64) float64 {
	draw, noise := math.Max(s.draw, 0), s.noise*s.noise
	if iv.sampled() && s.unsure > 0 && noise > 0 {
		draw = math.Max(s.draw+(iv.margin(s.unsure/noise)+s.more)*s.unsure, 0)
	}
	total := draw + noise
	if !(total > 0) {
		return s.lucky
	}
	wide := iv.width(s.noise/math.Sqrt(total), n)
	if draw > 0 && rows > 0 {
		at, share := 0.5+iv.Level/200, draw/total
		freedom := math.Max(rows-1, leastFreedom) / (share * share)
		wide *= studentsT(at, freedom) / distuv.UnitNormal.Quantile(at)
	}
	return math.Sqrt(total)*wide + s.lucky
}

// Half is half of the interval for a normal error of the draw and the noise of selections, given
// their standard deviations. Selections have no heavier tails than a Laplace variable.
func (iv *Interval) Half(draw, noise float64) float64 {
	known := *iv
	known.Square, known.wide = 0, iv.wide
	defer func() { iv.wide = known.wide }()
	return known.half(spread{draw: draw * draw, noise: noise}, Noise{Event: privacy.DiscreteLaplace{Scale: 1}}, 0)
}

// Deviation is the standard deviation, over the draw, of the weighted share of rows below the
// quantile p of a cell. The rows weigh together as much as the argument says, and one weighs at
// most most. With weights or strata it is an upper bound.
func (iv *Interval) Deviation(p, together, most float64) float64 {
	square := iv.Square
	if iv.Weighted {
		square *= most * iv.Part(most)
	}
	return math.Sqrt(math.Max(0, square*p*(1-p)/together))
}

// around is the interval about an estimate that has a symmetric error.
func (iv *Interval) around(value float64, s spread, n Noise, unit, rows float64) (low, high float64) {
	h := 0.0
	if iv.sampled() {
		h = iv.half(s, n, rows)
	} else {
		h = unit * n.Tail(1-iv.Level/100)
	}
	return value - h, value + h
}

// solve finds the interval of all values between low and high for which an equation holds within
// its error. At returns the left side of the equation and its error. The estimate lies in the
// interval, and the equation fails beyond each end. Scale is the size of a large value.
func (iv *Interval) solve(estimate, low, high, scale float64, n Noise, rows float64,
	at func(float64) (float64, spread)) (float64, float64) {
	more := iv.more(func(more float64) bool {
		for _, x := range []float64{low, high} {
			u, s := at(x)
			if s.more = more; math.Abs(u) > iv.half(s, n, rows) {
				return false
			}
		}
		return true
	})
	inside := func(x float64) bool {
		u, s := at(x)
		s.more = more
		return math.Abs(u) <= iv.half(s, n, rows)
	}
	end := func(outer float64) float64 {
		if inside(outer) {
			return outer
		}
		inner, side := estimate, math.Copysign(1, outer-estimate)
		for d := scale * 0x1p-20; d < math.Abs(outer-estimate); d *= 2 {
			if x := estimate + side*d; inside(x) {
				inner = x
			} else {
				outer = x
			}
		}
		for range 40 {
			mid := inner + (outer-inner)/2
			if inside(mid) {
				inner = mid
			} else {
				outer = mid
			}
		}
		return outer
	}
	return end(low), end(high)
}

// Share is the interval of all shares between 0 and 1 for which an equation holds within its noise.
// At returns the left side of the equation and the standard deviation of its noise.
func (iv *Interval) Share(estimate float64, at func(share float64) (float64, float64)) (low, high float64) {
	known := *iv
	known.Square = 0
	n := Noise{Event: privacy.DiscreteLaplace{Scale: 1}}
	return known.solve(estimate, 0, 1, 1, n, 0, func(share float64) (float64, spread) {
		u, noise := at(share)
		return u, spread{noise: noise}
	})
}

// Quotient is the interval for the quotient x/y of two sums, which cannot lie below low or above
// high. Sums are those of x, of y, and of (x − y)², (x − y)y and y²; sds are the standard
// deviations of the noise in each. Missing ones are 0. Where y may be 0 as far as its noise shows there
// is no estimate, NaN: the interval then has one end at most, which is found where low or high is 0. The result
// has the ends and the whole error.
func (iv *Interval) Quotient(estimate, low, high float64, sums, sds [5]float64, n Noise) (e Estimate) {
	rows := 0.0
	if sums[4] > 0 {
		rows = math.Max(2, sums[1]*sums[1]/sums[4]) // the effective number of rows
	}
	lucky := 0.0
	if !math.IsNaN(estimate) {
		lucky = iv.lucky(n, sums[1], sds[1], 1, false)
	}
	at := func(r float64) (float64, spread) {
		s := r - 1 // x − r·y = (x − y) − s·y
		return sums[0] - r*sums[1], spread{
			draw:   iv.Square * (sums[2] - 2*s*sums[3] + s*s*sums[4]),
			unsure: iv.Square * math.Sqrt(sds[2]*sds[2]+4*s*s*sds[3]*sds[3]+s*s*s*s*sds[4]*sds[4]),
			noise:  math.Hypot(sds[0], r*sds[1]),
			lucky:  math.Abs(r) * lucky,
		}
	}
	const far = 1e9
	e.Low, e.High = low, high
	if math.IsNaN(estimate) {
		e.Error, e.Freedom = math.NaN(), math.NaN()
		rare := *iv // an end is shown where 0 is left out, by luck alone where 0 is true: in one of 100 cases, of a level of 95
		rare.Level, rare.wide = 100-(100-iv.Level)/5, nil
		switch nearest := func(side float64) float64 { return rare.nearest(side, far, n, rows, at) }; {
		case low == 0 && high > far:
			e.Low = nearest(1)
		case high == 0 && low < -far:
			e.High = nearest(-1)
		}
		return e
	}
	_, own := at(estimate)
	e.Error, e.Freedom = own.whole()/sums[1], iv.freedom()
	e.Low, e.High = iv.solve(estimate, math.Max(low, -far), math.Min(high, far), 1, n, rows, at)
	if e.Low <= -far && low < -far {
		e.Low = low
	}
	if e.High >= far && high > far {
		e.High = high
	}
	return e
}

// nearest is the end next to 0 of all values on one side of 0 for which an equation holds within its
// error, as far as they reach beyond far: 0 where none is left out, or where they do not reach that far.
func (iv *Interval) nearest(side, far float64, n Noise, rows float64, at func(float64) (float64, spread)) float64 {
	inside := func(x float64) bool {
		u, s := at(side * x)
		return math.Abs(u) <= iv.half(s, n, rows)
	}
	if inside(0) || !inside(far) {
		return 0
	}
	outer := 0.0
	for inner := far * 0x1p-80; inner <= far; inner *= 2 {
		if !inside(inner) {
			outer = inner
			continue
		}
		for range 40 {
			if mid := outer + (inner-outer)/2; inside(mid) {
				inner = mid
			} else {
				outer = mid
			}
		}
		break
	}
	return side * outer
}
