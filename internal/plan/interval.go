package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/samplers"
)

// interval is the parameter "interval" of a mechanism that can give one: the level, and how
// the variance of the draw is estimated from the draw (samplers.Estimate).
type interval struct {
	Level     float64 `json:"level"`
	Square    float64 `json:"square"`
	Mean      float64 `json:"mean"`
	Weighted  bool    `json:"weighted"`
	Rows      int64   `json:"rows"`
	Collected bool    `json:"collected"`
	Strata    *strata `json:"strata,omitempty"`
	// Replacement says that the variance is that of a draw with replacement.
	Replacement bool `json:"replacement,omitempty"`
}

// strata are the estimates by stratum, in the order of the domain of a declared column.
type strata struct {
	Column string    `json:"column"`
	Square []float64 `json:"square"`
	Mean   []float64 `json:"mean"`
}

// noInterval says why a release has no interval (P30).
func noInterval(message, hint string) error { return refusals{{".interval", message, hint}} }

// addInterval tells the mechanism about the interval that the job asks for.
func (q *request) addInterval(j *job.Job, d *Draw, r *Release) error {
	var said map[string]json.RawMessage
	if builtin, _ := r.Mech.Origin(); builtin && json.Unmarshal(r.Job.Params, &said) == nil && said["interval"] != nil {
		return noInterval("must stand beside params, not in it", "write interval: 95 beside params")
	}
	if r.Job.Interval == nil {
		return nil
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(r.Mech.About().Params, &schema) != nil || schema.Properties["interval"] == nil {
		return noInterval(r.Job.Mechanism+" gives no interval: its result does not say how far the drawn rows lie from the population",
			"mean, sum, proportion, ratio, count, distinct, histogram, variance, sd and quantiles give intervals; leave interval out for others")
	}
	level, _ := r.Job.Interval.Float64()
	if q.weights != nil {
		v, err := surveyInterval(j, d, r)
		if err != nil {
			return err
		}
		v.Level = level
		q.params, err = with(q.params, "interval", v)
		return err
	}
	var table *samplers.Collected
	if c := j.Dataset.Collected; c != nil && c.Method == job.SRSWOR {
		var err error
		if table, err = CollectedBy(j); err != nil {
			return err
		}
	}
	e, err := samplers.NewEstimate(d.Design, table)
	if err != nil {
		return noInterval("there is no valid interval: "+err.Error(), "leave interval out, or draw the sample by srswor, poisson or stratified")
	}
	v := interval{Level: level, Square: e.Square, Mean: e.Mean, Weighted: e.Weighted, Rows: e.Rows, Collected: table != nil}
	v.Strata = q.strataOf(d, e)
	q.params, err = with(q.params, "interval", v)
	return err
}

// strataOf are the estimates by stratum where the column of the strata is declared with all
// of them, else nil: then the estimate that takes them for alike is an upper bound.
func (q *request) strataOf(d *Draw, e samplers.Estimate) *strata {
	names := d.Design.Facts().UnitColumns
	if len(e.Strata) == 0 || len(names) != 1 {
		return nil
	}
	c, ok := q.public.Column(names[0])
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
