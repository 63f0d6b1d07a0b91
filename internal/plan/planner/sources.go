package planner

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
)

// cells is the column of groups that a simulated mechanism sees.
const cells = "planned cells"

// grouped are the parameters and the public facts of a release with groups of its own, and
// else why it is not simulated.
func (u *subject) grouped(m sdk.Mechanism, params json.RawMessage, public sdk.Public) (json.RawMessage, sdk.Public, string) {
	r := u.release
	switch {
	case r.Where.Said() || r.Having.Said():
		return params, public, "the noise depends on the data, and a release with a condition is not simulated"
	case u.keyed() != nil:
		return params, public, "the noise depends on the data, and a release whose groups nobody lists is not simulated"
	case u.job.Dataset.CapOf(&r) != nil || u.job.Dataset.Folds():
		return params, public, "the noise depends on the data, and units with several rows are not simulated"
	case len(r.By) == 0:
		return params, public, ""
	}
	if !m.Describe().Grouped {
		return params, public, "a mechanism that is run group by group is not simulated"
	}
	n := 1
	for _, name := range r.By {
		c, _ := u.job.Dataset.Column(name)
		n *= len(c.Domain)
	}
	domain := make([]string, n)
	for i := range domain {
		domain[i] = fmt.Sprint(i)
	}
	var all map[string]any
	if json.Unmarshal(params, &all) != nil || all == nil {
		all = map[string]any{}
	}
	all["by"] = cells
	with, err := json.Marshal(all)
	if err != nil || n == 0 {
		return params, public, "these groups are not simulated"
	}
	public.Columns = append(slices.Clone(public.Columns),
		sdk.Column{Name: cells, Type: sdk.Category, Domain: domain, Missing: sdk.MissingRefuse})
	return with, public, ""
}

// sources draw the columns that a plan reads: numbers as the job assumes, and categories
// spread evenly over their domain.
func (u *subject) sources(r sdk.ReleaseRequest) (out []func(n int, rng *rand.Rand) sdk.Values, unknown string) {
	for _, name := range r.Plan.Columns {
		c, ok := r.Public.Column(name)
		if !ok {
			return nil, "a column that the job does not declare is not simulated"
		}
		if c.Type == sdk.Category {
			k := int32(len(c.Domain))
			out = append(out, func(n int, rng *rand.Rand) sdk.Values {
				codes := make([]int32, n)
				for i := range codes {
					codes[i] = rng.Int32N(k)
				}
				return sdk.Values{Codes: codes}
			})
			continue
		}
		m, err := u.modelOf(name)
		if err != nil || m == nil || m.draw == nil && (!m.hasMean || m.sd == 0 || u.statistic == sdk.StatisticQuantile) {
			return nil, fmt.Sprintf("the noise depends on the data: assume a distribution for the column %s", name)
		}
		out = append(out, func(n int, rng *rand.Rand) sdk.Values { return sdk.Values{Float64: m.population(n, rng)} })
	}
	return out, ""
}

// modelOf returns the assumptions about a column, nil for none. Where only moments are
// assumed, values are drawn from a normal distribution and clipped.
func (u *subject) modelOf(name string) (*model, error) {
	c, ok := u.job.Dataset.Column(name)
	if !ok || c.Assume == nil {
		return nil, nil
	}
	m := u.model
	if u.column == nil || u.column.Name != name {
		var err error
		if m, err = newModel(c); err != nil {
			return nil, err
		}
	}
	if m.draw != nil || !m.hasMean || m.sd == 0 || u.statistic == sdk.StatisticQuantile {
		return m, nil
	}
	drawn := *m
	lower, upper := rational.Up(c.Lower), rational.Down(c.Upper)
	drawn.draw = func(rng *rand.Rand) float64 { return min(max(m.mean+m.sd*rng.NormFloat64(), lower), upper) }
	if words := m.words + ", drawn as a normal distribution"; !slices.Contains(u.also, words) {
		u.also = append(u.also, words)
	}
	return &drawn, nil
}

// weigh gives a simulated sample the weights of a survey: their public bounds, and for every
// row the mean that the job assumes of them. The weight is 0 where the release has none.
func (u *subject) weigh(public *sdk.Public) (weight float64, unknown string) {
	w := u.job.Dataset.WeightsOf(&u.release)
	if w == nil {
		return 0, ""
	}
	c := w.Of(&u.job.Dataset)
	if c.Assume == nil || c.Assume.Mean == nil {
		return 0, fmt.Sprintf("the noise depends on how many the weights stand for in all: "+
			"say for column %s assume: {mean: …, sd: …}; the mean is public as the population over the sample", c.Name)
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
