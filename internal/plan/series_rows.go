package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
)

// questionOf is the question whose answer is the matrix of a series.
func questionOf(s *job.Series, pure bool) series.Question {
	q := series.Question{Periods: len(s.Periods.All()), Units: planned.UnitsIn(s), Goal: series.RMS, Pure: pure, Largest: 1 << 20}
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
			q.Rows = append(q.Rows, planned.RowOf(row, weight))
		}
	}
	return q
}

// inSeries are the columns of a release in a series: the period and the kind of row, then those of the mechanism,
// whose estimate is called value.
func inSeries(own []sdk.Field) []sdk.Field {
	out := []sdk.Field{
		{Name: planned.PeriodField, Type: sdk.String,
			Doc: "the period that the row is about; for a sum over several, the last one, or the quarter or year"},
		{Name: planned.KindField, Type: sdk.String, Doc: "what the row adds up"},
	}
	for _, f := range own {
		if !planned.Replaced(f.Name) {
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

// additive reports whether all figures of a mechanism are its sums, by what it says of their errors.
func additive(errors []sdk.ExpectedError) bool {
	return len(errors) > 0 && !slices.ContainsFunc(errors, func(e sdk.ExpectedError) bool { return e.Linear == nil || e.Ratio() })
}

// tellsChanges returns why a release cannot publish the changes that the job asks for.
func (r *PlannedRelease) tellsChanges(ctx context.Context, spec *job.Series) error {
	if r.Additive || !slices.ContainsFunc(spec.Publish, func(row job.SeriesRow) bool { return row.Kind == job.Change }) {
		return nil
	}
	req := r.At(r.Target)
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
		return r.NoChange()
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
	alone, err := callsOf(r.Plan.Event, r.Series.Question.Pure)
	if err != nil {
		return nil
	}
	louder := planned.DeviationOf(r.Series.Calls[0]) / planned.DeviationOf(alone[0])
	if r.start.Method == series.Alone {
		out = append(out, ExpectedError{ExpectedError: sdk.ExpectedError{Field: "value",
			Note: "noise is independent from period to period: noise that is correlated over time would gain nothing here"}})
	}
	if r.Additive {
		return append(out, r.inSeriesErrors(louder*r.Plan.Errors[0].NoiseSD)...)
	}
	rows, most := r.inSeriesErrors(louder), 0.0
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

// inSeriesErrors are those of each kind of row, for a figure whose noise in one run has the standard deviation sd: of the row with the
// most noise.
func (r *PlannedRelease) inSeriesErrors(sd float64) (out []ExpectedError) {
	s := r.Series
	alone := series.Independent(s.Matrix.Periods())
	single := sd / s.Question.Times(s.Question.Charge(s.Matrix)) // of one period, if nothing else were published
	each, anew := single*s.Question.Times(s.Question.Charge(alone)), single*s.Question.Anew()
	for _, kind := range s.Spec.Publish {
		var worst series.Row
		most, independent := 0.0, 0.0
		for _, row := range s.Question.Rows {
			if row.Kind != kind.String() {
				continue
			}
			if n := sd * s.Matrix.Noise(row); n > most {
				worst, most = row, n
			}
			independent = math.Max(independent, each*alone.Noise(row))
		}
		e := ExpectedError{ExpectedError: sdk.ExpectedError{Field: "value", Note: kind.String(), NoiseSD: most, Half95: most * normal95}}
		if row, err := s.Matrix.Decode(worst); err == nil && s.Question.Pure {
			e.Half95 = sd * row.Half(95)
		}
		e.Beside = fmt.Sprintf("at the same price %.3g with independent noise, and %.3g if each row were measured anew", independent, anew)
		if r.start.Method == series.Alone {
			e.Beside = fmt.Sprintf("at the same price %.3g if each row were measured anew", anew)
		}
		out = append(out, e)
	}
	return out
}

// normal95 is the 97.5 % point of the normal distribution.
const normal95 = 1.959963984540054
