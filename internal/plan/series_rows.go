package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
)

// RowOf is a published row in the terms of the matrix.
func RowOf(s job.SeriesStretch, weight float64) series.Row {
	r := series.Row{Kind: s.Row.String(), Period: s.Last, Weight: weight}
	if s.Less >= 0 {
		r.Terms = append(r.Terms, series.Term{Period: s.Less, Factor: -1})
	}
	for p := s.First; p <= s.Last; p++ {
		r.Terms = append(r.Terms, series.Term{Period: p, Factor: 1})
	}
	return r
}

// Stretches are all published rows of a series, kind by kind.
func (s *PlannedSeries) Stretches() (out []job.SeriesStretch) {
	for _, r := range s.Spec.Publish {
		out = append(out, s.Spec.Periods.Stretches(r)...)
	}
	return out
}

// findMatrix finds the matrix of a series.
func findMatrix(s *job.Series) (*series.Plan, error) {
	q := series.Question{Periods: len(s.Periods.All()), Units: unitsOf(s), Goal: series.RMS, Largest: 1 << 20}
	if s.Goal == job.Worst {
		q.Goal = series.Worst
	}
	for _, kind := range s.Publish {
		weight := 1.0
		for _, w := range s.Weights {
			if w.Name == kind.String() {
				weight = rational.Down(w.Value)
			}
		}
		for _, row := range s.Periods.Stretches(kind) {
			q.Rows = append(q.Rows, RowOf(row, weight))
		}
	}
	return series.Find(q)
}

// The columns of a release of a series that every mechanism has.
const (
	PeriodField = "period"
	KindField   = "kind"
)

// replaced are the columns of mechanisms in whose place value, sd, low and high stand, and those that look at the
// figures of one period alone.
var replaced = append([]string{"estimate", "noise_sd", "interval_low", "interval_high", "consistent"}, noiseIntervals...)

// Output are the columns of a release in a series: the period and the kind of row, then those of the mechanism,
// whose estimate is called value.
func (s *PlannedSeries) Output(own []sdk.Field) []sdk.Field {
	out := []sdk.Field{
		{Name: PeriodField, Type: sdk.String, Doc: "the period that the row is about; for a sum over several, the last one, or the quarter or year"},
		{Name: KindField, Type: sdk.String, Doc: "what the row adds up"},
	}
	for _, f := range own {
		if !slices.Contains(replaced, f.Name) {
			out = append(out, f)
		}
	}
	number := func(name, doc string) sdk.Field { return sdk.Field{Name: name, Type: sdk.Float64, Doc: doc} }
	var doc string
	for _, f := range own {
		if f.Name == "estimate" {
			doc = f.Doc
		}
	}
	return append(out, number("value", cmp.Or(doc, "the figure, with noise")), number("sd", "standard deviation of the noise in the value"),
		number("low", "lower end of an interval that holds the value without noise in 95 of 100 cases"), number("high", "its upper end"))
}

// Additive reports whether the estimates of a release are its sums, each times one constant.
func (r *PlannedRelease) Additive() bool {
	return len(r.Plan.Errors) > 0 && !slices.ContainsFunc(r.Plan.Errors, func(e sdk.ExpectedError) bool { return e.Linear == nil })
}

// Changing are the parameters with which a mechanism tells the change between two periods: its noise calls come for
// the later period first, and then for the earlier one. Correlation is that of the noise in the sums of the two.
func (r *PlannedRelease) Changing(correlation float64) (json.RawMessage, error) {
	var said map[string]json.RawMessage
	if err := json.Unmarshal(r.Params, &said); err != nil || said["interval"] == nil {
		return nil, fmt.Errorf("%s tells no change between two periods: leave change out of publish", r.Job.Mechanism)
	}
	interval, err := with(said["interval"], "change", map[string]float64{"correlation": correlation})
	if err != nil {
		return nil, err
	}
	return with(r.Params, "interval", interval)
}

// tellsChanges returns why a release cannot publish the changes that the job asks for.
func (r *PlannedRelease) tellsChanges(ctx context.Context, spec *job.Series) error {
	if r.Additive() || !slices.ContainsFunc(spec.Publish, func(row job.SeriesRow) bool { return row.Kind == job.Change }) {
		return nil
	}
	req := r.at(r.target)
	var err error
	if req.Params, err = r.Changing(0); err == nil {
		_, err = r.Mech.Plan(ctx, req)
	}
	return err
}

// SeriesError is the noise of one kind of published row: the largest of its standard deviations, and what it would be
// at the same price with independent noise in each period, or if every published row were measured anew.
type SeriesError struct {
	Kind                  job.SeriesRow
	SD, Independent, Anew float64
}

// Errors lists the noise of each kind of row, for a figure whose noise in one run is sd.
func (s *PlannedSeries) Errors(sd float64) (out []SeriesError) {
	n := len(s.periods)
	single := sd / math.Sqrt(float64(s.Matrix.Charge(s.units))) // of one period, if nothing else were published
	alone := series.Independent(n)
	each := single * math.Sqrt(float64(alone.Charge(s.units)))
	var rows []series.Row
	for _, stretch := range s.Stretches() {
		rows = append(rows, RowOf(stretch, 1))
	}
	anew := single * series.Anew(n, rows, s.units)
	for _, kind := range s.Spec.Publish {
		e := SeriesError{Kind: kind, Anew: anew}
		for _, r := range rows {
			if r.Kind == kind.String() {
				e.SD = math.Max(e.SD, sd*s.Matrix.Noise(r))
				e.Independent = math.Max(e.Independent, each*alone.Noise(r))
			}
		}
		out = append(out, e)
	}
	return out
}

// RunSD returns the noise of one run in a figure of an additive release, in its own units.
func (r *PlannedRelease) RunSD() float64 {
	planned, err := gaussians(nil, r.Plan.Event)
	if err != nil || len(planned) == 0 {
		return 0
	}
	return r.Plan.Errors[0].NoiseSD / planned[0].Sigma * r.Series.Calls[0].Sigma
}

// beside names the noise that a kind of row would have otherwise, at the same price.
func (s *PlannedSeries) beside(e SeriesError) string {
	if s.Start.Method == series.Alone {
		return fmt.Sprintf("%s: noise that is correlated over time would gain nothing here, so it is independent; if each row were measured anew it would be %.4g", e.Kind, e.Anew)
	}
	return fmt.Sprintf("%s: with independent noise in each period it would be %.4g, and if each row were measured anew %.4g", e.Kind, e.Independent, e.Anew)
}

// Expected lists the errors to expect of a release: in a series, of each kind of row.
func (r *PlannedRelease) Expected() (out []sdk.ExpectedError) {
	if r.Series == nil || !r.Additive() {
		return r.Plan.Errors
	}
	for _, e := range r.Series.Errors(r.RunSD()) {
		out = append(out, sdk.ExpectedError{Field: "value", NoiseSD: e.SD, Half95: 1.959964 * e.SD,
			Note: r.Series.beside(e)})
	}
	return out
}
