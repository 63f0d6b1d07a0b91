package plan

import (
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Survey explains why the sampling error of a survey with weights is not public.
const Survey = "the table is a sample with weights of its own, and how far it lies from its population is private; " +
	"interval: 95 estimates it"

// surveyed are the errors of a weighted release: nothing public says how far weighted sums reach.
func surveyed(errors []sdk.ExpectedError) []sdk.ExpectedError {
	out := slices.Clone(errors)
	for i := range out {
		if out[i].Linear != nil || out[i].SamplingNote != "" {
			out[i].Linear, out[i].SamplingNote = nil, Survey
		}
	}
	return out
}

// surveyInterval estimates the variance of a weighted sum as if the first stage were drawn
// with replacement (P30). It includes a further draw from the survey.
func surveyInterval(j *job.Job, d *DraftDraw, r *job.Release) (*interval, error) {
	w := j.Dataset.WeightsOf(r)
	design := d.Design
	if table, ok := design.(*samplers.Gathered); ok { // how it was collected is in its weights
		design = table.Draw()
	}
	kind := design.Kind()
	switch {
	case w.FirstStage != job.FirstUnit:
		return nil, noInterval("the job does not say that the survey drew the units of the table themselves: "+
			"where it drew households or schools first, their rows are alike, and an interval from single rows is too short",
			"fold the rows of each first-stage unit to one, with that unit as dataset.unit, and say first_stage: unit in weights; "+
				"or leave interval out")
	case w.Shrink != nil && w.Shrink.Keep.Cmp(big.NewRat(1, 1)) < 0:
		return nil, noInterval("shrunk weights estimate another value than the population's, and no interval says how far it lies",
			"leave shrink or interval out")
	case kind != "full" && kind != "collected" && kind != "poisson" && kind != "srswor":
		return nil, noInterval("there is no estimate of the variance of a sample ("+kind+") of a survey with weights",
			"leave interval out, or draw by srswor or poisson")
	}
	v := &interval{Square: 1, Weighted: true, Replacement: true}
	if n := d.Design.Facts().SampleSize; n > 1 && j.Dataset.Relation == privacy.ReplaceOne {
		v.Rows, v.Mean = n, 1/float64(n-1)
		v.Square = v.Mean * float64(n)
	}
	return v, nil
}
