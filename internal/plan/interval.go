package plan

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// interval is the parameter "interval" of a mechanism that can give one: the level, and how
// the variance of the draw is estimated from the draw (samplers.Estimate).
type interval struct {
	Level    float64 `json:"level"`
	Square   float64 `json:"square"`
	Mean     float64 `json:"mean"`
	Weighted bool    `json:"weighted"`
	Rows     int64   `json:"rows"`
	Strata   *strata `json:"strata,omitempty"`
	// Replacement says that the variance is that of a draw with replacement.
	Replacement bool `json:"replacement,omitempty"`
	// Clusters says that the squares are those of the totals of clusters.
	Clusters *clusters `json:"clusters,omitempty"`
	// Shown is the least noisy number of a group that suppress does not blank.
	Shown float64 `json:"shown,omitempty"`
	// Error is the relative error above which it blanks a value.
	Error float64 `json:"error,omitempty"`
}

// clusters are the units that a draw takes first: the column that a mechanism reads them in, and
// the largest sum of the weights of the rows of one.
type clusters struct {
	Column string  `json:"column"`
	Most   float64 `json:"most"`
	// Left and Within are those of samplers.Clusters.
	Left   float64 `json:"left"`
	Within float64 `json:"within"`
}

// strata are the estimates by stratum, in the order of the domain of a declared column.
type strata struct {
	Column string    `json:"column"`
	Square []float64 `json:"square"`
	Mean   []float64 `json:"mean"`
}

// noInterval returns the refusal that tells why a release has no interval (P30).
func noInterval(message, hint string) error { return refusals{{".interval", message, hint}} }

// usualLevel is that of the interval of a whole table where the job says none. A linear mechanism
// makes it of the same noisy sums, so it costs nothing there.
const usualLevel = 95

// addInterval tells the mechanism about the interval that the job asks for, or about the usual one.
func (q *Question) addInterval(j *job.Job, d *DraftDraw) error {
	var said map[string]json.RawMessage
	if builtin, _ := q.Mech.Origin(); builtin && json.Unmarshal(q.Job.Params, &said) == nil && said["interval"] != nil {
		return noInterval("must stand beside params, not in it", "write interval: 95 beside params")
	}
	able := q.Mech.About().Takes("interval")
	asked := q.Job.Interval
	if asked == nil {
		whole := d.Design.Kind() == "full" && j.Dataset.Collected == nil && q.Weights == nil
		if builtin, _ := q.Mech.Origin(); !able || !builtin || !whole || !q.Mech.About().Linear {
			return nil
		}
		asked = big.NewRat(usualLevel, 1)
	}
	if !able {
		return noInterval(q.Job.Mechanism+" gives no interval: its result does not say how far the drawn rows lie from the population",
			"leave interval out, or take a mechanism that gives intervals (plugin list)")
	}
	level, _ := asked.Float64()
	if q.Weights != nil {
		v, err := surveyInterval(j, d, &q.Job)
		if err != nil {
			return err
		}
		v.Level = level
		v.suppress(q)
		q.Params, err = planned.AddParam(q.Params, "interval", v)
		return err
	}
	var table *samplers.Collected
	if c := j.Dataset.Collected; c != nil && c.Method == job.SRSWOR {
		var err error
		if table, err = planned.CollectedBy(j); err != nil {
			return err
		}
	}
	e, err := samplers.NewEstimate(d.Design, table)
	if err != nil {
		return noInterval("there is no valid interval: "+err.Error(), "leave interval out, or draw the sample by srswor, poisson or stratified")
	}
	v := interval{Level: level, Square: e.Square, Mean: e.Mean, Weighted: e.Weighted, Rows: e.Rows}
	v.suppress(q)
	v.Strata = q.strataOf(j, d, e)
	if c := e.Clusters; c != nil {
		q.AddClusters(c.Of, c.Number)
		v.Clusters = &clusters{q.Clusters.Column, c.Most, c.Left, c.Within}
	}
	q.Params, err = planned.AddParam(q.Params, "interval", v)
	return err
}

// suppress tells the interval what the job blanks. A plugin knows of no such limit.
func (v *interval) suppress(q *Question) {
	if builtin, _ := q.Mech.Origin(); builtin && q.Job.Suppress != nil {
		if s := q.Job.Suppress; s.Below != nil {
			v.Shown = rational.Up(s.Below)
		}
		if s := q.Job.Suppress; s.Blank != nil {
			v.Error = rational.Up(s.Blank)
		}
	}
}

// Level is the level, in per cent, of the intervals of a release, "" where it has none. It differs
// from that of the job where the job leaves it out.
func (r *PlannedRelease) Level() string {
	v := r.interval()
	if builtin, _ := r.Mech.Origin(); !builtin && r.Job.Interval == nil || v.Level == 0 {
		return ""
	}
	return strconv.FormatFloat(v.Level, 'g', -1, 64)
}

// interval returns the parameter that the mechanism is told, its zero value if it is told nothing.
func (r *PlannedRelease) interval() interval {
	var said struct {
		Interval interval `json:"interval"`
	}
	if json.Unmarshal(r.Params, &said) != nil {
		return interval{}
	}
	return said.Interval
}

// BlankUnknown is the relative error above which values are blank where their intervals do not know of that, else 0: those of sums of a
// whole table, each times a constant, do.
func (r *PlannedRelease) BlankUnknown() float64 {
	v := r.interval()
	if s := r.Job.Suppress; r.Level() == "" || s == nil || s.Blank == nil || v.Error > 0 && v.Square == 0 && r.Additive {
		return 0
	}
	return rational.Up(r.Job.Suppress.Blank)
}

// strataOf are the estimates by stratum where the column of the strata is declared with all
// of them, else nil: then the estimate that takes them for alike is an upper bound. Beside the table of the population a
// column of that name holds them only if it was taken from there.
func (q *Question) strataOf(j *job.Job, d *DraftDraw, e samplers.Estimate) *strata {
	names := d.Design.Facts().UnitColumns
	if len(e.Strata) == 0 || len(names) != 1 {
		return nil
	}
	if own, _ := j.Dataset.Column(names[0]); j.Dataset.MayVanish() && (own.Joined == nil || own.Joined.Table != j.Dataset.Population ||
		own.Joined.Of != names[0] || own.Joined.Where.Said()) {
		return nil
	}
	c, ok := q.Public.Column(names[0])
	if !ok || c.Type != sdk.Category {
		return nil
	}
	out := &strata{Column: c.Name, Square: make([]float64, len(c.Domain)), Mean: make([]float64, len(c.Domain))}
	for _, s := range e.Strata {
		at := slices.IndexFunc(c.Domain, func(v string) bool { return strings.TrimSpace(v) == s.Key })
		if at < 0 {
			return nil
		}
		out.Square[at], out.Mean[at] = s.Square, s.Mean
	}
	return out
}
