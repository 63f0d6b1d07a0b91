package language

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy/rational"
)

// spend gives each release without a guarantee of its own a first share of budget.spend, by
// weight alone. Planning finds better shares.
func (k *checker) spend() {
	const path = "budget.spend"
	s, shared := k.j.Budget.Spend, 0
	for i := range k.j.Releases {
		r, at := &k.j.Releases[i], k.j.ReleasePath(i)
		own := k.j.Has(guaranteePath(k.j, i))
		switch {
		case s == nil && k.j.Has(job.Key(at, "weight")): // which nothing is divided by
		case s == nil && !own && !k.unread(at):
			k.wrong(job.Key(at, "guarantee"), "say what the release may cost, or budget.spend for all releases together", "is missing")
		case s != nil && !own:
			r.Shares = true
			shared++
		}
	}
	switch {
	case s == nil || s.Epsilon == nil && s.Rho == nil: // none, or told already
		return
	case shared == 0:
		k.wrong(path, "leave it out, or leave guarantee out of a release", "divides nothing: every release has a guarantee of its own")
		return
	}
	k.withinLimit(path, s)
	if s.Rho != nil && orZero(s.Delta).Sign() == 0 && k.j.Budget.Limit.Rho == nil {
		k.wrong(path, "say delta, or give budget.limit in rho", rhoAtDelta)
		return
	}
	rest, ok := Rest(k.j)
	if !ok {
		k.wrong(path, "say a larger one, or smaller guarantees",
			"leaves nothing for the releases without a guarantee: the guarantees of other releases and of keys use it up")
		return
	}
	weights := make([]*big.Rat, 0, shared)
	for _, r := range k.j.Releases {
		if r.Shares {
			weights = append(weights, cmp.Or(r.Weight, big.NewRat(1, 1)))
		}
	}
	if divided, err := Divide(k.j, rest, weights); err == nil {
		k.j.Releases = divided.Releases
	}
}

// unread reports whether the job may hold the guarantee of a release all the same: under a
// misspelled key, or behind a value at which reading ended.
func (k *checker) unread(at string) bool {
	return slices.ContainsFunc(k.told, func(p job.Problem) bool {
		return strings.HasPrefix(p.Path, at+".") && (p.Message != "unknown key" || strings.Contains(p.Hint, "guarantee"))
	})
}

// withinLimit compares what the job may spend with what its account may.
func (k *checker) withinLimit(path string, s *job.Guarantee) {
	l := k.j.Budget.Limit
	for _, part := range []struct {
		name        string
		spend, most *big.Rat
	}{{"rho", s.Rho, l.Rho}, {"epsilon", s.Epsilon, l.Epsilon}, {"delta", s.Delta, l.Delta}} {
		if part.spend == nil || part.most == nil || part.name != "rho" && (s.Rho != nil || l.Rho != nil) {
			continue
		}
		if part.spend.Cmp(part.most) > 0 {
			k.wrong(job.Key(path, part.name), "", "must not exceed budget.limit (%s > %s)", rational.Format(part.spend), rational.Format(part.most))
		}
	}
}

// Rest is the part of budget.spend that its sharing releases divide: budget.spend less every
// other guarantee of the job. It returns false where nothing is left.
func Rest(j *job.Job) (job.Guarantee, bool) {
	s := j.Budget.Spend
	rest := job.Guarantee{Epsilon: new(big.Rat), Delta: new(big.Rat).Set(orZero(s.Delta))}
	amount := rest.Epsilon.Set(orZero(s.Epsilon))
	if s.Rho != nil {
		rest.Rho = new(big.Rat).Set(s.Rho)
		amount = rest.Rho
	}
	take := func(g job.Guarantee) {
		if s.Rho != nil && g.Rho != nil {
			amount.Sub(amount, g.Rho)
		} else if s.Rho == nil {
			amount.Sub(amount, orZero(g.Epsilon))
		}
		rest.Delta.Sub(rest.Delta, orZero(g.Delta))
	}
	for _, r := range j.Releases {
		if !r.Shares {
			take(r.Guarantee)
		}
		if r.Keys != nil && r.Keys.From == "" {
			take(r.Keys.Guarantee)
		}
	}
	if s.Rho != nil && rest.Delta.Sign() < 0 {
		rest.Delta.SetInt64(0) // a δ beside a ρ only says where the ρ is translated
	}
	return rest, amount.Sign() > 0 && rest.Delta.Sign() >= 0
}

// Divide returns the job with the shares of a whole that belong to parts: one part, of any
// size above 0, for each release that shares, in their order. δ is divided evenly. A share
// is rounded down to four digits, so that it can be read, and shares never add up
// to more than the whole.
func Divide(j *job.Job, whole job.Guarantee, parts []*big.Rat) (*job.Job, error) {
	out := *j
	out.Releases = append([]job.Release(nil), j.Releases...)
	sum := new(big.Rat)
	for _, p := range parts {
		sum.Add(sum, p)
	}
	part := func(of, p, in *big.Rat) *big.Rat {
		return shortened(new(big.Rat).Mul(of, new(big.Rat).Quo(p, in)))
	}
	at := 0
	for i := range out.Releases {
		r := &out.Releases[i]
		if !r.Shares {
			continue
		}
		g := job.Guarantee{Delta: part(whole.Delta, big.NewRat(1, 1), big.NewRat(int64(len(parts)), 1))}
		if whole.Rho == nil {
			g.Epsilon = part(whole.Epsilon, parts[at], sum)
		} else {
			var err error
			if g, err = InRho(part(whole.Rho, parts[at], sum), g.Delta, j.Dataset.Relation); err != nil {
				return nil, err
			}
		}
		r.Guarantee = g
		at++
	}
	return &out, nil
}

// shortened rounds a positive number down to four digits.
func shortened(r *big.Rat) *big.Rat {
	if r.Sign() <= 0 {
		return new(big.Rat)
	}
	ten, unit, most := big.NewRat(10, 1), big.NewRat(1, 1), big.NewRat(10_000, 1)
	for scaled := new(big.Rat).Set(r); scaled.Cmp(most) >= 0; scaled.Quo(scaled, ten) {
		unit.Mul(unit, ten)
	}
	for scaled := new(big.Rat).Mul(r, ten); scaled.Cmp(most) < 0; scaled.Mul(scaled, ten) {
		unit.Quo(unit, ten)
	}
	steps := new(big.Rat).Quo(r, unit)
	return unit.Mul(unit, new(big.Rat).SetInt(new(big.Int).Quo(steps.Num(), steps.Denom())))
}

func orZero(r *big.Rat) *big.Rat {
	if r == nil {
		return new(big.Rat)
	}
	return r
}
