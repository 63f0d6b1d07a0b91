package privacy

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/calculus/pld"
	"github.com/dprelease/dprelease/internal/calculus/rdp"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// Pure is any mechanism that is Eps-differentially private.
type Pure struct{ Eps float64 }

// Approx is any mechanism that is (Eps, Delta)-differentially private.
type Approx struct{ Eps, Delta float64 }

// ZCDP is any mechanism that is Rho-zero-concentrated differentially private.
type ZCDP struct{ Rho float64 }

// RandomizedResponse is K-ary randomized response: the true category with
// probability e^Eps0/(e^Eps0+K−1), else one of the others at random.
type RandomizedResponse struct {
	K    int
	Eps0 float64
}

func (Pure) kind() string { return "pure" }

// Epsilon is Eps.
func (e Pure) Epsilon() float64 { return e.Eps }

func (Approx) kind() string             { return "approx" }
func (ZCDP) kind() string               { return "zcdp" }
func (RandomizedResponse) kind() string { return "randomized_response" }

var pureKind = declare[Pure](Kind{
	About:   "any eps-differentially private mechanism",
	Fields:  []Field{eps()},
	ordered: true,
})

var approxKind = declare[Approx](Kind{
	About:   "any (eps, delta)-differentially private mechanism",
	Also:    []string{"epsilon_delta", "epsilon_delta_dp"},
	Fields:  []Field{eps(), number("delta", "δ=", belowOne).most(1e-300, 0.5).also("δ")},
	ordered: true,
})

var zcdpKind = declare[ZCDP](Kind{
	About:   "any rho-zero-concentrated differentially private mechanism",
	Also:    []string{"cdp", "concentrated"},
	Fields:  []Field{number("rho", "ρ=", nonNegative).most(1e-18, 1e6).also("ρ")},
	ordered: true,
})

var responseKind = declare[RandomizedResponse](Kind{
	About: "k-ary randomized response",
	Also:  []string{"rr", "krr", "grr"},
	Fields: []Field{
		number("k", "k=", func(x float64) string {
			switch {
			case !(x >= 2):
				return "must be at least 2"
			case x > math.MaxInt32:
				return fmt.Sprintf("must be at most %d", math.MaxInt32)
			}
			return ""
		}).also("categories", "num_buckets"),
		number("eps0", "ε0=", nonNegative).most(1e-12, 1e4).also("epsilon0"),
	},
	ordered: true,
})

func eps() Field {
	return number("eps", "ε=", nonNegative).most(1e-12, 1e4).also("epsilon", "ε")
}

func (e Pure) basic(_ Relation, _ string, k float64) (profile, *Unsupported) {
	eps := amplify.GroupEpsilon(k, e.Eps)
	return closed(func(x float64) float64 { return amplify.PureDelta(eps, x) }, eps), nil
}

func (e Pure) renyi(Relation, string) (renyiBound, *Unsupported) {
	return renyiBound{curve: rdp.Pure(e.Eps), mirror: true}, nil
}

func (e Pure) pair(Relation, string) (lossPair, *Unsupported) {
	return lossPair{mech: pld.Approx(e.Eps, 0), attained: true}, nil
}

func (e Approx) basic(_ Relation, _ string, k float64) (profile, *Unsupported) {
	return approxProfile(e).group(k), nil
}

func (e Approx) renyi(Relation, string) (renyiBound, *Unsupported) {
	return renyiBound{curve: rdp.Pure(e.Eps), lost: e.Delta, mirror: true}, nil
}

func (e Approx) pair(Relation, string) (lossPair, *Unsupported) {
	return lossPair{mech: pld.Approx(e.Eps, e.Delta), attained: true}, nil
}

func (e ZCDP) basic(_ Relation, _ string, k float64) (profile, *Unsupported) {
	return zcdpProfile(above(e.Rho*k*k, 1e-15)), nil
}

func (e ZCDP) renyi(Relation, string) (renyiBound, *Unsupported) {
	return renyiBound{curve: rdp.ZCDP(e.Rho)}, nil
}

func (e RandomizedResponse) basic(rel Relation, here string, k float64) (profile, *Unsupported) {
	if rel == AddRemove {
		return profile{}, refuse(here, responseCount)
	}
	return responseProfile(e).group(k), nil
}

func (e RandomizedResponse) renyi(rel Relation, here string) (renyiBound, *Unsupported) {
	if rel == AddRemove {
		return renyiBound{}, refuse(here, responseCount)
	}
	return renyiBound{curve: rdp.RandomizedResponse(e.K, e.Eps0), mirror: true}, nil
}

func (e RandomizedResponse) pair(rel Relation, here string) (lossPair, *Unsupported) {
	switch {
	case rel == AddRemove:
		return lossPair{}, refuse(here, responseCount)
	case e.Eps0 == 0:
		return lossPair{mech: pld.Approx(0, 0), attained: true}, nil
	}
	return lossPair{mech: pld.RandomizedResponse(e.K, e.Eps0), attained: true}, nil
}
