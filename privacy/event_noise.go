package privacy

import (
	"math"

	"github.com/dprelease/dprelease/internal/calculus/pld"
	"github.com/dprelease/dprelease/internal/calculus/rdp"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// Gaussian is one draw of N(0, Sigma²) noise on a query of the given L2
// sensitivity.
type Gaussian struct {
	Sigma       float64
	Sensitivity Sensitivity
}

// Laplace is Laplace noise of the given scale on each coordinate of a query of
// the given L1 sensitivity.
type Laplace struct {
	Scale       float64
	Sensitivity Sensitivity
}

// DiscreteGaussian is noise with P(x) ∝ exp(−x²/2Sigma²) on the integers, on each
// coordinate of an integer-valued query of the given L2 sensitivity.
type DiscreteGaussian struct {
	Sigma       float64
	Sensitivity Sensitivity
	// Coordinates is the number of coordinates that may differ between neighbours; 0
	// stands for 1.
	Coordinates int64
}

// DiscreteLaplace is noise with P(x) ∝ exp(−|x|/Scale) on the integers, on each
// coordinate of an integer-valued query of the given L1 sensitivity.
type DiscreteLaplace struct {
	Scale       float64
	Sensitivity Sensitivity // whole numbers
}

func (Gaussian) kind() string         { return "gaussian" }
func (Laplace) kind() string          { return "laplace" }
func (DiscreteGaussian) kind() string { return "discrete_gaussian" }
func (DiscreteLaplace) kind() string  { return "discrete_laplace" }

var gaussianKind = declare[Gaussian](Kind{
	About:   "noise N(0, sigma²) on a query of this L2 sensitivity",
	Also:    []string{"normal"},
	Fields:  []Field{sigma(), sensitivity(positive)},
	check:   on(func(e Gaussian, wrong complain) { doubled(e.Sensitivity, wrong) }),
	ordered: true,
})

var laplaceKind = declare[Laplace](Kind{
	About:   "Laplace noise on each coordinate of a query of this L1 sensitivity",
	Fields:  []Field{scale(), sensitivity(positive)},
	check:   on(func(e Laplace, wrong complain) { doubled(e.Sensitivity, wrong) }),
	ordered: true,
})

var discreteGaussianKind = declare[DiscreteGaussian](Kind{
	About: "noise with P(x) ∝ exp(−x²/2·sigma²) on the integers, on each coordinate of a query of this L2 sensitivity; " +
		"neighbours differ in at most coordinates of them",
	Fields: []Field{sigma(), sensitivity(positive),
		number("coordinates", "coordinates=", atLeastOne).optional().also("dimension")},
	check: on(func(e DiscreteGaussian, wrong complain) { doubled(e.Sensitivity, wrong) }),
})

var discreteLaplaceKind = declare[DiscreteLaplace](Kind{
	About:   "noise with P(x) ∝ exp(−|x|/scale) on the integers, on each coordinate of a query of this L1 sensitivity",
	Also:    []string{"geometric"},
	Fields:  []Field{scale(), sensitivity(latticeSteps)},
	check:   on(func(e DiscreteLaplace, wrong complain) { doubled(e.Sensitivity, wrong) }),
	ordered: true,
})

// sigma and scale are the fields with the size of the noise.

func sigma() Field {
	return number("sigma", "σ=", positive).least(1e-6, 1e9).also("noise_multiplier", "noise", "std", "stddev", "σ", "s")
}

func scale() Field {
	return number("scale", "scale=", positive).least(1e-6, 1e9).also("b", "lambda", "noise")
}

// sensitivity is the field of that name; check holds for both of its numbers.
func sensitivity(check func(x float64) string) Field {
	return Field{Name: "sensitivity", Optional: true, Example: "write {add-remove: 1, replace-one: 2}", Fields: []Field{
		number("add-remove", "add-remove ", check).optional().also("add", "remove", "unbounded", "zero-out"),
		number("replace-one", "replace-one ", check).optional().also("replace", "substitute", "bounded", "change-one"),
	}}
}

// latticeSteps checks a sensitivity on the integers.
func latticeSteps(x float64) string {
	if !(x >= 1) || x != math.Trunc(x) || x > 1<<52 {
		return "must be a whole number of at least 1 and at most 2^52: the noise is on the integers"
	}
	return ""
}

// doubled checks the two sensitivities against each other.
func doubled(s Sensitivity, wrong complain) {
	if s.AddRemove > 0 && s.ReplaceOne > 2*s.AddRemove {
		wrong("sensitivity.replace-one",
			"cannot exceed twice the add-remove sensitivity: a replacement is a removal and an addition (%g > 2·%g)", s.ReplaceOne, s.AddRemove)
	}
}

// sensitivityOf is the sensitivity of an event of noise; ok is false for other events.
func sensitivityOf(e Event) (s Sensitivity, ok bool) {
	switch e := e.(type) {
	case Gaussian:
		return e.Sensitivity, true
	case DiscreteGaussian:
		return e.Sensitivity, true
	case Laplace:
		return e.Sensitivity, true
	case DiscreteLaplace:
		return e.Sensitivity, true
	}
	return s, false
}

// unknownShift refuses noise whose sensitivity under rel is not known. Every method asks it
// first.
func unknownShift(e Event, rel Relation, here string) *Unsupported {
	if s, ok := sensitivityOf(e); ok && s.Under(rel) == 0 {
		return refuse(here, "its sensitivity under add-remove is not given, and does not follow from the one under replace-one")
	}
	return nil
}

// Gaussian noises on the same data are joined before they are asked, so that they have no
// methods but DiscreteGaussian.pair.

func (e Laplace) basic(rel Relation, _ string, k float64) (profile, *Unsupported) {
	return laplaceProfile(amplify.GroupEpsilon(k, ratioUp(e.Sensitivity.Under(rel), e.Scale))), nil
}

func (e Laplace) renyi(rel Relation, _ string) (renyiBound, *Unsupported) {
	return renyiBound{curve: rdp.Laplace(below(e.Scale / e.Sensitivity.Under(rel))), mirror: true}, nil
}

func (e Laplace) pair(rel Relation, _ string) (lossPair, *Unsupported) {
	return lossPair{mech: pld.Laplace(below(e.Scale / e.Sensitivity.Under(rel))), attained: true}, nil
}

func (e DiscreteLaplace) basic(rel Relation, _ string, k float64) (profile, *Unsupported) {
	return discreteLaplaceProfile(e.Scale, amplify.GroupEpsilon(k, e.Sensitivity.Under(rel))), nil
}

func (e DiscreteLaplace) renyi(rel Relation, _ string) (renyiBound, *Unsupported) {
	return renyiBound{curve: discreteLaplaceCurve(e.Scale, e.Sensitivity.Under(rel)), mirror: true}, nil
}

func (e DiscreteLaplace) pair(rel Relation, _ string) (lossPair, *Unsupported) {
	s := e.Sensitivity.Under(rel)
	if s <= fewAtoms {
		return lossPair{mech: pld.DiscreteLaplace(e.Scale, int64(s)), attained: true}, nil
	}
	return lossPair{mech: pld.Laplace(below(e.Scale / latticeShift(e.Scale, s)))}, nil
}
