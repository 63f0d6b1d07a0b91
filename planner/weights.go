package planner

import (
	"fmt"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// weigh gives a simulated sample the weights of a survey: their public bounds, and for every
// row the mean that the job assumes of them. The weight is 0 where the release has none.
func (u *subject) weigh(public *sdk.Public) (weight float64, unknown string) {
	w := u.job.Dataset.WeightsOf(&u.release)
	if w == nil {
		return 0, ""
	}
	c := w.Of(&u.job.Dataset)
	if c.Assume == nil || c.Assume.Mean == nil {
		return 0, fmt.Sprintf("the noise depends on how many the weights stand for in all: say for column %s assume: {mean: …, sd: …}; the mean is public as the population over the sample", c.Name)
	}
	of := func(x float64) float64 {
		x = min(max(x, 1), number(w.AtMost))
		if s := w.Shrink; s != nil {
			x = number(s.To) + number(s.Keep)*(x-number(s.To))
		}
		return x * public.Design.MaxWeight
	}
	weight = of(number(c.Assume.Mean))
	f := &public.Design
	f.MinWeight, f.MaxWeight, f.EqualWeights = of(1), of(number(w.AtMost)), false
	public.Population = 0
	return weight, ""
}

// surveyed drops the sampling error of a survey with weights, which is private.
func (u *subject) surveyed(a Accuracy) Accuracy {
	if u.job.Dataset.WeightsOf(&u.release) == nil || a.NoiseSD == 0 {
		return a
	}
	return Accuracy{NoiseSD: a.NoiseSD, Unknown: "the table is a survey with weights: how far it lies from its population is private"}
}
