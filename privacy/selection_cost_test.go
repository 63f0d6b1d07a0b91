package privacy

import (
	"errors"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// A selection that is known to be bounded-range never costs more than one that is only
// known to be pure: under no design, relation, composition or δ, and in no account.
func TestBoundedRangeNeverCostsMoreThanPure(t *testing.T) {
	designs := map[string]func(Event) Event{
		"full":       func(e Event) Event { return e },
		"poisson":    func(e Event) Event { return Poisson{.1, e} },
		"wor":        func(e Event) Event { return WithoutReplacement{10, 100, e} },
		"wr":         func(e Event) Event { return WithReplacement{5, 100, e} },
		"multistage": func(e Event) Event { return Multistage{[]Stage{{2, 20, 0}, {3, 30, 0}}, e} },
		"one record": func(e Event) Event { return Multistage{[]Stage{{2, 20, 0}, {1, 30, 0}}, e} },
		"two draws":  func(e Event) Event { return Repeat{2, WithoutReplacement{10, 100, e}} },
	}
	compared, less := 0, 0
	for name, design := range designs {
		for _, eps := range tier.Some([]float64{1, 1e-3, 0.1, 4, 20}, 5) {
			for _, k := range tier.Of([]int64{1, 3}, []int64{1, 3, 20}) {
				inner := func(e Event) Event {
					if k == 1 {
						return e
					}
					return Repeat{k, e}
				}
				pure, ranged := design(inner(Pure{eps})), design(inner(BoundedRange{Eps: eps}))
				for _, rel := range []Relation{AddRemove, ReplaceOne} {
					for _, delta := range tier.Some([]float64{0, 1e-9, 1e-3}, 2) {
						p, err := EpsilonAt(pure, rel, delta)
						if err != nil {
							continue
						}
						r, err := EpsilonAt(ranged, rel, delta)
						if err != nil {
							if !errors.Is(err, ErrUnbounded) {
								t.Errorf("%s, %d × ε=%g, %s, δ=%g: %v", name, k, eps, rel, delta, err)
							}
							t.Errorf("%s, %d × ε=%g, %s, δ=%g: no bound, pure has %g", name, k, eps, rel, delta, p.Epsilon)
							continue
						}
						compared++
						if r.Epsilon > p.Epsilon*(1+1e-9) {
							t.Errorf("%s, %d × ε=%g, %s, δ=%g: bounded range costs %.12g, pure %.12g", name, k, eps, rel, delta, r.Epsilon, p.Epsilon)
						}
						if r.Epsilon < 0.99*p.Epsilon {
							less++
						}
						if delta == 0 && k == 1 && !(r.Epsilon <= p.Epsilon && r.Epsilon >= p.Epsilon*(1-1e-15)) {
							t.Errorf("%s, ε=%g, %s: one pure selection costs %v as bounded range, %v as pure", name, eps, rel, r.Epsilon, p.Epsilon)
						}
					}
				}
			}
		}
	}
	if compared < tier.Of(40, 300) || less < compared/4 {
		t.Errorf("%d events were compared, %d of them cost less", compared, less)
	}
}
