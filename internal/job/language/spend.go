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
	if s.Rho != nil && (s.Delta == nil || s.Delta.Sign() == 0) && k.j.Budget.Limit.Rho == nil {
		k.wrong(path, "say delta, or give budget.limit in rho", rhoAtDelta)
		return
	}
	rest, ok := k.j.Rest()
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
	if divided, err := k.j.Divide(rest, weights); err == nil {
		k.j.Releases = divided.Releases
	}
}

// unread reports whether the job may hold the guarantee of a release all the same: under a
// misspelled key, or behind a value at which reading ended.
func (k *checker) unread(at string) bool {
	return slices.ContainsFunc(k.told, func(p job.Problem) bool {
		return strings.HasPrefix(p.Path, k.j.Path(at)+".") && (p.Message != "unknown key" || strings.Contains(p.Hint, "guarantee"))
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
