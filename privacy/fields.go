package privacy

import (
	"fmt"
	"math"
	"strings"
)

// field is a parameter of an expression that can be calibrated.
type field struct {
	path   string
	lo, hi float64
	whole  bool // rounded towards the private side
	set    func(x float64) Event
}

// Fields lists the parameters of e that [CalibrateField] can find, by their paths.
func Fields(e Event) ([]string, error) {
	if err := Validate(e); err != nil {
		return nil, err
	}
	var out []string
	for _, f := range fields(e, "", func(e Event) Event { return e }) {
		out = append(out, f.path)
	}
	return out, nil
}

// CalibrateField finds the value of one parameter of e, named by its path
// ("repeat.event.poisson.event.gaussian.sigma") or by its last name where only one
// parameter has it ("sigma"), that gets the most out of target: the smallest noise
// scale, the largest rate, the most steps, the largest epsilon. It returns the
// expression with that value in place.
//
// # Contract
//
// That of [Calibrate]: the guarantee is monotone in the parameter, which it is for
// every parameter listed by [Fields].
func CalibrateField(e Event, name string, rel Relation, target Point) (Event, float64, Answer, error) {
	if err := Validate(e); err != nil {
		return nil, 0, Answer{}, err
	}
	all := fields(e, "", func(e Event) Event { return e })
	var hits []field
	for _, f := range all {
		if f.path == name {
			hits = []field{f}
			break
		}
		if strings.HasSuffix(f.path, "."+name) {
			hits = append(hits, f)
		}
	}
	if len(hits) != 1 {
		var known []string
		for _, f := range all {
			known = append(known, f.path)
		}
		what := "no parameter of this name"
		if len(hits) > 1 {
			what = "more than one parameter of this name, say the whole path"
		}
		return nil, 0, Answer{}, wrong("calibrate", "%q: %s (%s)", name, what, strings.Join(known, ", "))
	}
	f := hits[0]
	snap := func(x float64) float64 { return x }
	if f.whole {
		snap = math.Round
	}
	x, a, err := calibrate(f.set, rel, target, f.lo, f.hi, snap)
	if err != nil {
		return nil, 0, a, err
	}
	return f.set(x), x, a, nil
}

// fields walks an expression; put places a replacement for e in the whole.
func fields(e Event, at string, put func(Event) Event) []field {
	here := join(at, e.Kind())
	inner := func(x Event, with func(Event) Event) []field {
		return fields(x, here+".event", func(y Event) Event { return put(with(y)) })
	}
	one := func(name string, lo, hi float64, whole bool, set func(x float64) Event) field {
		return field{here + "." + name, lo, hi, whole, func(x float64) Event { return put(set(x)) }}
	}
	// Noise scales are searched relative to the larger sensitivity.
	unit := func(s Sensitivity) float64 {
		return math.Max(s.Under(ReplaceOne), s.Under(AddRemove))
	}
	switch e := e.(type) {
	case Gaussian:
		u := unit(e.Sensitivity)
		return []field{one("sigma", 1e-3*u, 1e9*u, false, func(x float64) Event { e.Sigma = x; return e })}
	case Laplace:
		u := unit(e.Sensitivity)
		return []field{one("scale", 1e-4*u, 1e12*u, false, func(x float64) Event { e.Scale = x; return e })}
	case DiscreteGaussian:
		u := unit(e.Sensitivity)
		return []field{one("sigma", 1e-3*u, 1e9*u, false, func(x float64) Event { e.Sigma = x; return e })}
	case DiscreteLaplace:
		u := unit(e.Sensitivity)
		return []field{one("scale", 1e-4*u, 1e12*u, false, func(x float64) Event { e.Scale = x; return e })}
	case Pure:
		return []field{one("eps", 1e-12, 1e4, false, func(x float64) Event { e.Eps = x; return e })}
	case Approx:
		return []field{one("eps", 1e-12, 1e4, false, func(x float64) Event { e.Eps = x; return e })}
	case ZCDP:
		return []field{one("rho", 1e-24, 1e8, false, func(x float64) Event { e.Rho = x; return e })}
	case RandomizedResponse:
		return []field{one("eps0", 1e-12, 1e4, false, func(x float64) Event { e.Eps0 = x; return e })}
	case LastIterate:
		return []field{one("sigma", 1e-6, 1e9, false, func(x float64) Event { e.Sigma = x; return e })}
	case Compose:
		var out []field
		for i, p := range e.Events {
			out = append(out, fields(p, fmt.Sprintf("%s[%d]", here, i), func(y Event) Event {
				events := append([]Event(nil), e.Events...)
				events[i] = y
				return put(Compose{events})
			})...)
		}
		return out
	case Repeat:
		n := one("n", 1, maxRepeat, true, func(x float64) Event { return Repeat{int64(x), e.Event} })
		return append([]field{n}, inner(e.Event, func(y Event) Event { return Repeat{e.N, y} })...)
	case Poisson:
		rate := one("rate", 1e-12, 1, false, func(x float64) Event { return Poisson{x, e.Event} })
		return append([]field{rate}, inner(e.Event, e.With)...)
	case WithoutReplacement:
		n := one("n", 1, float64(e.Of), true, func(x float64) Event { return WithoutReplacement{int64(x), e.Of, e.Event} })
		return append([]field{n}, inner(e.Event, e.With)...)
	case WithReplacement:
		n := one("n", 1, 1e12, true, func(x float64) Event { return WithReplacement{int64(x), e.Of, e.Event} })
		return append([]field{n}, inner(e.Event, e.With)...)
	case Multistage:
		return inner(e.Event, e.With)
	case Shuffled:
		return inner(e.Event, func(y Event) Event { return Shuffled{e.N, y} })
	}
	return nil
}
