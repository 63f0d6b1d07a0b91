package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

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

// questionOf is the question whose answer is the matrix of a series.
func questionOf(s *job.Series, pure bool) series.Question {
	q := series.Question{Periods: len(s.Periods.All()), Units: unitsOf(s), Goal: series.RMS, Pure: pure, Largest: 1 << 20}
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
	return q
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
		{Name: PeriodField, Type: sdk.String,
			Doc: "the period that the row is about; for a sum over several, the last one, or the quarter or year"},
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
func (r *PlannedRelease) Additive() bool { return r.additive || additive(r.Plan.Errors) }

// additive reports whether all figures of a mechanism are its sums, by what it says of their errors.
func additive(errors []sdk.ExpectedError) bool {
	return len(errors) > 0 && !slices.ContainsFunc(errors, func(e sdk.ExpectedError) bool { return e.Linear == nil || e.Ratio() })
}

// Changing are the parameters with which a mechanism tells the change between two periods: its noise calls come for
// the later period first, and then for the earlier one. Correlation is that of the noise in the sums of the two.
func (r *PlannedRelease) Changing(correlation float64) (json.RawMessage, error) {
	var said map[string]json.RawMessage
	if err := json.Unmarshal(r.Params, &said); err != nil || said["interval"] == nil {
		return nil, r.noChange()
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
	if req.Params, err = r.Changing(0); err != nil {
		return err
	}
	twice, err := r.Mech.Plan(ctx, req)
	if err != nil {
		return err
	}
	one, err := callsOf(r.Plan.Event, inEpsilon(&r.Job))
	two, err2 := callsOf(twice.Event, inEpsilon(&r.Job))
	if err != nil || err2 != nil || len(two) != 2*len(one) {
		return r.noChange()
	}
	return nil
}

// noTrend refuses a change between periods in which not all of a unit counts: units that have used up their periods would read
// like a fall. // P41
func (r *PlannedRelease) noTrend(spec *job.Series) error {
	w := r.Whose()
	if !w.Partial() || !slices.ContainsFunc(spec.Publish, func(row job.SeriesRow) bool { return row.Kind == job.Change }) {
		return nil
	}
	way := "say binds: definition or binds: never in dataset.cap, or leave change out of publish"
	if slices.Contains(w.Marks, MarkPeriods) {
		way = fmt.Sprintf("say at_most: %d in periods_of_unit, which counts all periods and costs noise, "+
			"binds: never if no unit can be in more of them, or leave change out of publish", len(spec.Periods.All()))
	}
	return fmt.Errorf("a change cannot be published where a limit may leave out rows of a unit (%s): it would show the limit; %s",
		w.Status(), way)
}

// noChange returns the refusal of a mechanism that cannot compare two periods.
func (r *PlannedRelease) noChange() error {
	return fmt.Errorf("%s tells no change between two periods: leave change out of publish", r.Job.Mechanism)
}

// ExpectedError is an error to expect, and what it would be otherwise.
type ExpectedError struct {
	sdk.ExpectedError
	Beside string // in words: what other noise would do at the same price
}

// Expected lists the errors to expect of a release; in a series, of each kind of row.
func (r *PlannedRelease) Expected() (out []ExpectedError) {
	if r.Series == nil {
		for _, e := range r.Plan.Errors {
			out = append(out, ExpectedError{ExpectedError: e})
		}
		return out
	}
	planned, err := callsOf(r.Plan.Event, r.Series.question.Pure)
	if err != nil {
		return nil
	}
	louder := DeviationOf(r.Series.Calls[0]) / DeviationOf(planned[0])
	if r.Series.Start.Method == series.Alone {
		out = append(out, ExpectedError{ExpectedError: sdk.ExpectedError{Field: "value",
			Note: "noise is independent from period to period: noise that is correlated over time would gain nothing here"}})
	}
	if r.Additive() {
		return append(out, r.Series.errors(louder*r.Plan.Errors[0].NoiseSD)...)
	}
	rows, most := r.Series.errors(louder), 0.0
	for _, e := range rows {
		most = math.Max(most, e.NoiseSD)
	}
	for _, e := range r.Plan.Errors {
		e.Above, e.Over = e.Above.Times(most), e.Over.Times(most)
		if e.Field, e.SamplingNote = "value", ""; !strings.HasPrefix(e.Note, sdk.NoUse) {
			e.Note = "if nothing but one period were published: " + e.Note
		}
		out = append(out, ExpectedError{ExpectedError: e})
	}
	for _, e := range rows {
		note := fmt.Sprintf("%s: %.3g times that noise; %s", e.Note, e.NoiseSD, e.Beside)
		out = append(out, ExpectedError{ExpectedError: sdk.ExpectedError{Field: "value", Note: note}})
	}
	return out
}

// errors are those of each kind of row, for a figure whose noise in one run has the standard deviation sd: of the row with the
// most noise.
func (s *PlannedSeries) errors(sd float64) (out []ExpectedError) {
	alone := series.Independent(len(s.periods))
	single := sd / s.question.Times(s.question.Charge(s.Matrix)) // of one period, if nothing else were published
	each, anew := single*s.question.Times(s.question.Charge(alone)), single*s.question.Anew()
	for _, kind := range s.Spec.Publish {
		var worst series.Row
		most, independent := 0.0, 0.0
		for _, r := range s.question.Rows {
			if r.Kind != kind.String() {
				continue
			}
			if n := sd * s.Matrix.Noise(r); n > most {
				worst, most = r, n
			}
			independent = math.Max(independent, each*alone.Noise(r))
		}
		e := ExpectedError{ExpectedError: sdk.ExpectedError{Field: "value", Note: kind.String(), NoiseSD: most, Half95: most * normal95}}
		if row, err := s.Matrix.Decode(worst); err == nil && s.question.Pure {
			e.Half95 = sd * row.Half(95)
		}
		e.Beside = fmt.Sprintf("at the same price %.3g with independent noise, and %.3g if each row were measured anew", independent, anew)
		if s.Start.Method == series.Alone {
			e.Beside = fmt.Sprintf("at the same price %.3g if each row were measured anew", anew)
		}
		out = append(out, e)
	}
	return out
}

// normal95 is the 97.5 % point of the normal distribution.
const normal95 = 1.959963984540054
