package planner

import (
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/samplers"
)

// framed makes the design of a sample over the job's public frame and works out its
// expected rate and size.
func (u *subject) framed(s job.Sample) (design, error) {
	j := *u.job
	s.Name = invented
	j.Samples = append(slices.Clone(j.Samples), s)
	made, err := planned.Design(&j, invented, nil)
	if err != nil {
		return design{}, err
	}
	d := design{kind: string(s.Method)}
	x, ok := made.(interface {
		Frame() *samplers.Frame
		Weight(u int32) float64
	})
	if !ok || x.Frame().Records() == 0 {
		// Rates by stratum, without the strata's sizes: the largest rate stands for them.
		d.rate = 1 / made.Facts().MinWeight
		return d, nil
	}
	n := 0.0
	u.strata = map[string]int64{}
	for i := range int32(x.Frame().Len()) {
		unit := x.Frame().Unit(i)
		n += float64(unit.Records) / x.Weight(i)
		u.strata[unit.Key[0]] += unit.Records
	}
	d.made = made
	d.rate = math.Min(1, n/float64(x.Frame().Records()))
	d.size = int64(math.Round(n))
	return d, nil
}

// scaled returns the variant of a framed sample whose expected rate is nearest to rate
// (docs/sampling.md). It scales the take of the last stage, and of the stage above once
// the last takes all; or the numbers, or the rates, of all strata.
func (u *subject) scaled(rate float64) (variant, design, error) {
	base := *u.sample
	var s job.Sample
	var d design
	var err error
	switch {
	case base.Method == job.Multistage:
		s, d, err = u.scaledStages(base, rate)
	case len(base.Rates) > 0:
		s, d, err = u.scaledRates(base, rate)
	case base.BySize != nil:
		s = base
		s.BySize = &job.BySize{Expected: base.BySize.Expected, Most: decimal(rate)}
		d, err = u.framed(s)
	default:
		s, d, err = u.scaledTakes(base, rate)
	}
	if err != nil {
		return variant{}, d, err
	}
	if d.rate >= 1 {
		return variant{from: job.All}, design{kind: "full", rate: 1, size: u.population()}, nil
	}
	return variant{from: invented, sample: &s}, d, nil
}

// scaledStages changes the last stage that does not take all. The expected rate
// grows with its take, so the nearest is found by halving.
func (u *subject) scaledStages(base job.Sample, rate float64) (job.Sample, design, error) {
	at := len(base.Stages) - 1
	for at >= 0 && base.Stages[at].Take.All {
		at--
	}
	if at < 0 {
		d, err := u.framed(base)
		return base, d, err
	}
	with := func(take int64) (job.Sample, design, error) {
		s := base
		s.Stages = slices.Clone(base.Stages)
		s.Stages[at].Take.Count = take
		d, err := u.framed(s)
		return s, d, err
	}
	least, lowest, err := with(1)
	if err != nil {
		return least, lowest, err
	}
	lo, hi := int64(1), u.population() // lo can be made, and is not above the rate; hi is, or cannot
	if lowest.rate >= rate {
		return least, lowest, nil
	}
	best, bestDesign, over := least, lowest, false
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		s, d, err := with(mid)
		if err != nil || d.rate > rate {
			hi, over = mid, over || err == nil
			if err == nil && d.rate-rate < rate-bestDesign.rate {
				best, bestDesign = s, d
			}
			continue
		}
		lo = mid
		if math.Abs(d.rate-rate) <= math.Abs(bestDesign.rate-rate) {
			best, bestDesign = s, d
		}
	}
	if over || bestDesign.rate >= rate {
		return best, bestDesign, nil
	}
	// This stage is exhausted: take all of it, and more units of the stage above.
	s := base
	s.Stages = slices.Clone(base.Stages)
	s.Stages[at].Take = job.Take{All: true}
	d, err := u.framed(s)
	if err != nil || d.rate >= rate {
		if err == nil && d.rate-rate < rate-bestDesign.rate {
			return s, d, nil
		}
		return best, bestDesign, err
	}
	return u.scaledStages(s, rate)
}

// scaledTakes changes the numbers of all strata by one factor, between 1 and all of
// a stratum.
func (u *subject) scaledTakes(base job.Sample, rate float64) (job.Sample, design, error) {
	d, err := u.framed(base)
	if err != nil {
		return base, d, err
	}
	with := func(factor float64) (job.Sample, design, error) {
		s := base
		s.Takes = slices.Clone(base.Takes)
		for i := range s.Takes {
			if !s.Takes[i].Value.All {
				s.Takes[i].Value.Count = max(1, int64(math.Round(float64(s.Takes[i].Value.Count)*factor)))
			}
		}
		u.capTakes(s.Takes)
		d, err := u.framed(s)
		return s, d, err
	}
	lo, hi := 0.0, 1.0
	for range 60 {
		s, d, err := with(hi)
		if err != nil {
			return s, d, err
		}
		if d.rate >= rate || d.rate >= 1 || hi > 1e12 {
			break
		}
		hi *= 2
	}
	best, bestDesign, err := with(hi)
	for range 40 {
		if err != nil {
			break
		}
		mid := (lo + hi) / 2
		var s job.Sample
		if s, d, err = with(mid); err != nil {
			break
		}
		if math.Abs(d.rate-rate) < math.Abs(bestDesign.rate-rate) {
			best, bestDesign = s, d
		}
		if d.rate < rate {
			lo = mid
		} else {
			hi = mid
		}
	}
	return best, bestDesign, err
}

// capTakes takes all of a stratum that holds no more.
func (u *subject) capTakes(takes []job.Named[job.Take]) {
	for i, t := range takes {
		if n, ok := u.strata[t.Name]; ok && t.Value.Count >= n {
			takes[i].Value = job.Take{All: true}
		}
	}
}

// scaledRates changes the rates of all strata by one factor, up to 1.
func (u *subject) scaledRates(base job.Sample, rate float64) (job.Sample, design, error) {
	most := new(big.Rat)
	for _, r := range base.Rates {
		if r.Value.Cmp(most) > 0 {
			most = r.Value
		}
	}
	factor := new(big.Rat).Quo(decimal(rate), most)
	s := base
	s.Rates = slices.Clone(base.Rates)
	for i := range s.Rates {
		x, _ := new(big.Rat).Mul(s.Rates[i].Value, factor).Float64()
		if s.Rates[i].Value = decimal(x); x >= 1 {
			s.Rates[i].Value = big.NewRat(1, 1)
		}
	}
	d, err := u.framed(s)
	return s, d, err
}
