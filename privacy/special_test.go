package privacy

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy/amplify"
)

func mustEpsilon(t *testing.T, e Event, rel Relation, delta float64) Answer {
	t.Helper()
	a, err := EpsilonAt(e, rel, delta)
	if err != nil {
		t.Fatalf("%#v: %v", e, err)
	}
	return a
}

// The trap of P5: Theorem 3 of the episodic training paper. Two clusters of m records, one drawn, m−1 records of it, a Laplace sum with
// ε = 1. The exact profile is a mixture over which cluster was drawn and whether the changed record was left out.
func TestTheorem3IsNotCharged(t *testing.T) {
	const m = 20
	e := Multistage{Stages: []Stage{{Take: 1, Of: 2}, {Take: m - 1, Of: m}}, Event: Laplace{Scale: 1, Sensitivity: Sensitivity{ReplaceOne: 1}}}
	a := mustEpsilon(t, e, ReplaceOne, 0)
	if math.Abs(a.Epsilon-0.968) > 5e-4 {
		t.Errorf("charged %g, forms 2 and 3 say 0.968", a.Epsilon)
	}
	if len(a.Claimed) != 1 || a.Claimed[0].Charged || math.Abs(a.Claimed[0].Epsilon-0.597) > 5e-4 {
		t.Errorf("claims: %+v, want 0.597 shown and not charged", a.Claimed)
	}
	// Cluster A holds ones, cluster B zeros; the neighbour has a zero in A. With A drawn the sum is 19 or, with the changed record in the
	// sample (probability 19/20), 18; with B drawn it is 0. The Laplace noise is taken on a lattice of 1/50.
	const steps = 50
	masses := func(sums map[int]float64) []float64 {
		out := make([]float64, 100*steps)
		for s, p := range sums {
			for i := range out {
				out[i] += p * math.Tanh(.5/steps) * math.Exp(-math.Abs(float64(i-40*steps-s*steps))/steps)
			}
		}
		return out
	}
	p := masses(map[int]float64{19: .5, 0: .5})
	q := masses(map[int]float64{18: .5 * 19 / 20, 19: .5 / 20, 0: .5})
	if d := hockeyStick(p, q, a.Claimed[0].Epsilon); math.Abs(d-0.082) > 1e-3 {
		t.Errorf("true delta at the claim is %g, want 0.082", d)
	}
	if d := hockeyStick(p, q, a.Epsilon*1.0001); d > 1e-6 {
		t.Errorf("true delta at the charge is %g", d)
	}
	if d := hockeyStick(p, q, a.Epsilon*0.999); d <= 0 {
		t.Errorf("the charge is not attained")
	}
}

// The trap of section 2: in a sample of fixed size any other record takes the place of x.
func TestAnyRecordTakesThePlace(t *testing.T) {
	s := scenario{"", ReplaceOne, signed, 4, nil, func(n int) []outcome { return fixedDesign(2, n) }, nil}
	mech := discreteLaplaceSum(ratio07, signedS)
	design := fixedDesign(2, 4)
	var worst float64
	s.neighbours(func(a, b []int, _, _ int) {
		diff := 0
		for i := range a {
			if a[i] != b[i] {
				diff = b[i] - a[i]
			}
		}
		if diff == 1 { // only neighbours that differ by one step
			worst = math.Max(worst, hockeyStick(mech.on(design, a), mech.on(design, b), 0.3))
		}
	})
	wrongBase := DiscreteLaplace{Scale: ratio07, Sensitivity: Sensitivity{ReplaceOne: 1}}
	tooSmall, err := DeltaAt(WithoutReplacement{2, 4, wrongBase}, ReplaceOne, 0.3)
	if err != nil {
		t.Fatal(err)
	}
	charged, err := DeltaAt(WithoutReplacement{2, 4, mech.event}, ReplaceOne, 0.3)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(worst-0.0813) > 5e-5 || math.Abs(tooSmall.Delta-0.0521) > 5e-5 || charged.Delta < worst {
		t.Errorf("truth %g (0.0813), with the pair alone %g (0.0521), charged %g", worst, tooSmall.Delta, charged.Delta)
	}
}

// P4: two releases from one draw. Amplifying each and adding up is unsound.
func TestOneDrawOneAmplification(t *testing.T) {
	one := Compose{[]Event{Pure{2}, Pure{2}}}
	same := mustEpsilon(t, Poisson{0.1, one}, AddRemove, 0)
	two := mustEpsilon(t, Compose{[]Event{Poisson{0.1, Pure{2}}, Poisson{0.1, Pure{2}}}}, AddRemove, 0)
	if math.Abs(two.Epsilon-0.988) > 5e-4 {
		t.Errorf("two draws: %g, want 0.988", two.Epsilon)
	}
	if want := amplify.Epsilon(0.1, 4); math.Abs(same.Epsilon-want) > 1e-12 || same.Epsilon < 1.8499 {
		t.Errorf("one draw: %g, want %g, and never below 1.850 (rounded)", same.Epsilon, want)
	}
}

// Poisson–Poisson, enumerated: two clusters, add or remove one record of the first.
func TestPoissonPoisson(t *testing.T) {
	for _, c := range []struct {
		p, q   float64
		a, b   int // records of the clusters
		eps    float64
		domain []int
	}{{.1, .5, 5, 1, 1, binary01}, {.3, .7, 3, 3, .8, binary01}, {.6, .4, 2, 4, 1.5, binary01}, {.5, .5, 3, 2, 1, signed}} {
		draw := func(a int) []outcome {
			keep := func(n, from int) []outcome {
				out := []outcome{{1 - c.p, nil}}
				for _, o := range poissonDesign(equalRates(n, c.q)...) {
					var m []int
					for _, i := range o.members {
						m = append(m, i+from)
					}
					out = append(out, outcome{o.p * c.p, m})
				}
				return out
			}
			return cross(keep(a, 0), keep(c.b, c.a))
		}
		larger, smaller := draw(c.a), draw(c.a-1)
		m := discreteLaplaceSum(1/c.eps, signedS)
		bound := amplify.PoissonPoisson(c.p, c.q, int64(max(c.a, c.b)), c.eps)
		var attained float64
		for _, d := range tables(c.a+c.b, c.domain) {
			x, y := m.on(larger, d), m.on(smaller, d)
			if delta := hockeyStick(x, y, bound); delta > 1e-12 {
				t.Fatalf("%+v: delta %g at the charged %g", c, delta, bound)
			}
			for i := range x {
				attained = math.Max(attained, math.Abs(math.Log(x[i]/y[i])))
			}
		}
		t.Logf("%+v: charged %.4f, attained %.4f", c, bound, attained)
		if c.a == 5 && math.Abs(bound-0.399) > 5e-4 {
			t.Errorf("the quoted vector is 0.399, got %g", bound)
		}
	}
}

// A mechanism that publishes the size of an unequal sample is private under replace-one only: swapping clusters is visible, and only
// conditioning may be charged.
func TestUnequalTakesNeedAddRemove(t *testing.T) {
	st := []Stage{{Take: 1, Of: 10}, {Take: 1, Of: 2, MaxTake: 3}}
	only := Multistage{st, Laplace{Scale: 1, Sensitivity: Sensitivity{ReplaceOne: 1}}}
	both := Multistage{st, Laplace{Scale: 1, Sensitivity: Sensitivity{AddRemove: 1, ReplaceOne: 1}}}
	if a := mustEpsilon(t, only, ReplaceOne, 0); math.Abs(a.Epsilon-amplify.Epsilon(.5, 1)) > 1e-12 {
		t.Errorf("replace-one only: %g, want conditioning %g", a.Epsilon, amplify.Epsilon(.5, 1))
	}
	if a := mustEpsilon(t, both, ReplaceOne, 0); a.Epsilon >= amplify.Epsilon(.5, 1) {
		t.Errorf("with both relations the recursion should do better than %g", a.Epsilon)
	}
	r, err := SampleRelations(only, ReplaceOne)
	if err != nil || len(r) != 2 {
		t.Errorf("relations on the sample: %v %v", r, err)
	}
}

// Refusals name the method, the sub-expression and the reason.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		e    Event
		rel  Relation
		path string
	}{
		{Compose{[]Event{Pure{1}, Poisson{.1, RandomizedResponse{3, 1}}}}, AddRemove, "compose[1].poisson.event.randomized_response"},
		{Poisson{.1, WithoutReplacement{2, 4, Pure{1}}}, AddRemove, "poisson.event.without_replacement"},
		{WithoutReplacement{5, 10, WithoutReplacement{2, 4, Pure{1}}}, ReplaceOne, "without_replacement.event.without_replacement"},
		{WithReplacement{2, 4, Pure{1}}, AddRemove, "with_replacement"},
		{Multistage{[]Stage{{1, 2, 0}, {1, 2, 0}}, Pure{1}}, AddRemove, "multistage"},
		{Repeat{3, Gaussian{Sigma: 1, Sensitivity: Sensitivity{ReplaceOne: 1}}}, AddRemove, "repeat.event.gaussian"},
		{Poisson{.5, Shuffled{10, Pure{1}}}, AddRemove, "poisson.event.shuffled"},
		{Shuffled{10, Gaussian{Sigma: 1}}, ReplaceOne, "shuffled.event.gaussian"},
	} {
		a, err := EpsilonAt(c.e, c.rel, 1e-6)
		if c.e.kind() != "shuffled" && !errors.Is(err, ErrUnbounded) {
			t.Errorf("%#v: error %v, want it refused", c.e, err)
		}
		found := false
		for _, u := range a.Unsupported {
			found = found || u.Path == c.path && u.Method != "" && u.Reason != ""
		}
		if !found {
			t.Errorf("%#v: no refusal names %s: %v", c.e, c.path, a.Unsupported)
		}
	}
}

// Nonsense is refused with the path of the field at fault.
func TestValidate(t *testing.T) {
	deep := Event(Pure{1})
	for range 1000 {
		deep = Repeat{1, deep}
	}
	var nilEvent Event
	for _, c := range []struct {
		e    Event
		want string
	}{
		{nil, "missing"},
		{Repeat{1, nilEvent}, "repeat.event: event is missing"},
		{Compose{}, "compose: must hold"},
		{Compose{[]Event{Pure{1}, Poisson{0, Pure{1}}}}, "compose[1].poisson.rate: "},
		{Poisson{1.5, Pure{1}}, "poisson.rate: "},
		{Poisson{math.NaN(), Pure{1}}, "poisson.rate: "},
		{WithoutReplacement{5, 4, Pure{1}}, "without_replacement.n: must be at most N"},
		{WithReplacement{0, 4, Pure{1}}, "with_replacement.n: "},
		{Gaussian{}, "gaussian.sigma: "},
		{Gaussian{Sigma: math.Inf(1)}, "gaussian.sigma: "},
		{Laplace{Scale: -1}, "laplace.scale: "},
		{DiscreteLaplace{Scale: 1, Sensitivity: Sensitivity{AddRemove: 1.5}}, "discrete_laplace.sensitivity.add-remove: "},
		{Gaussian{Sigma: 1, Sensitivity: Sensitivity{AddRemove: 1, ReplaceOne: 3}}, "gaussian.sensitivity.replace-one: "},
		{Approx{1, 1}, "approx.delta: "},
		{Pure{math.NaN()}, "pure.eps: "},
		{RandomizedResponse{1, 1}, "randomized_response.k: "},
		{Repeat{0, Pure{1}}, "repeat.n: "},
		{Repeat{1e13, Pure{1}}, "repeat.n: "},
		{Repeat{1e12, Repeat{1e12, Pure{1}}}, "repeat.event.repeat.n: "},
		{Multistage{nil, Pure{1}}, "multistage.stages: "},
		{Multistage{[]Stage{{3, 2, 0}}, Pure{1}}, "multistage.stages[0].take: must be at most of"},
		{Shuffled{0, Pure{1}}, "shuffled.n: "},
		{LastIterate{Variant: "full-batch-convex"}, "last_iterate."},
		{LastIterate{}, "last_iterate.kind: "},
		{deep, "nested more than"},
		{&Pure{1}, "unknown event"},
	} {
		err := Validate(c.e)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: error %v, want %q", c.e, err, c.want)
		}
		if _, err := EpsilonAt(c.e, AddRemove, 1e-6); err == nil {
			t.Errorf("%T: evaluated", c.e)
		}
	}
	if _, err := EpsilonAt(Pure{1}, 0, 1e-6); err == nil {
		t.Error("the zero relation was accepted")
	}
	for _, d := range []float64{-1, 1, math.NaN()} {
		if _, err := EpsilonAt(Pure{1}, AddRemove, d); err == nil {
			t.Errorf("delta %g was accepted", d)
		}
	}
}

// Pure composition is exact: no rounding where none is needed.
func TestPureSumsAreExact(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want float64
	}{
		{Compose{[]Event{Pure{.5}, Pure{.25}, Pure{.25}}}, 1},
		{Repeat{4, Laplace{Scale: 4, Sensitivity: Sensitivity{AddRemove: 1}}}, 1},
		{Repeat{1e12, Pure{math.Ldexp(1, -40)}}, math.Ldexp(1e12, -40)},
		{Poisson{1, Pure{.75}}, .75},
		{WithoutReplacement{5, 5, Pure{.75}}, .75},
	} {
		if a := mustEpsilon(t, c.e, AddRemove, 0); a.Epsilon != c.want || a.Delta != 0 {
			t.Errorf("%#v: %v, want exactly %v", c.e, a.Epsilon, c.want)
		}
	}
}

// Poisson-sampled pure events: the curve without the factor 3 lies above both directions of the exact divergence of the pair that
// dominates every pure mechanism.
func TestMirrorPairs(t *testing.T) {
	for _, eps := range []float64{.1, 1, 3, 8} {
		for _, q := range []float64{1e-4, .01, .2, .9} {
			b, u := renyi(Poisson{q, Pure{eps}}, AddRemove, "")
			if u != nil {
				t.Fatal(u)
			}
			p := [2]float64{1 / (1 + math.Exp(-eps)), 1 / (1 + math.Exp(eps))}
			for _, alpha := range []float64{1.5, 2, 3, 4.7, 8, 33} {
				var there, back float64
				for i := range p {
					without := p[1-i]
					with := (1-q)*without + q*p[i]
					there += math.Pow(with, alpha) * math.Pow(without, 1-alpha)
					back += math.Pow(without, alpha) * math.Pow(with, 1-alpha)
				}
				d := math.Log(math.Max(there, back)) / (alpha - 1)
				if got := b.curve(alpha); got < d*(1-1e-9)-1e-15 {
					t.Errorf("ε %g rate %g α %g: curve %g, exact %g", eps, q, alpha, got, d)
				}
				if back > there*(1+1e-12) {
					t.Errorf("ε %g rate %g α %g: the other direction is larger", eps, q, alpha)
				}
			}
		}
	}
}

// Samples of samples: nested Poisson rates multiply, nested simple random samples are one.
func TestSamplesOfSamples(t *testing.T) {
	for _, c := range []struct {
		nested, flat Event
		rel          Relation
	}{
		{Repeat{10, Poisson{.5, Poisson{.25, Gaussian{Sigma: 1}}}}, Repeat{10, Poisson{.125, Gaussian{Sigma: 1}}}, AddRemove},
		{Repeat{10, WithoutReplacement{50, 100, WithoutReplacement{10, 50, Laplace{Scale: 1}}}}, Repeat{10, WithoutReplacement{10, 100, Laplace{Scale: 1}}}, ReplaceOne},
		{WithoutReplacement{50, 100, WithoutReplacement{10, 50, Pure{1}}}, WithoutReplacement{10, 100, Pure{1}}, AddRemove},
	} {
		a, b := mustEpsilon(t, c.nested, c.rel, 1e-6), mustEpsilon(t, c.flat, c.rel, 1e-6)
		if len(a.Methods) != len(b.Methods) || math.Abs(a.Epsilon-b.Epsilon) > 1e-9*b.Epsilon {
			t.Errorf("%#v: %+v, flat %+v", c.nested, a.Methods, b.Methods)
		}
	}
	// A Poisson sample of a sample of fixed size: two phases, not one design. Enumerated: 2 of 4, then each with probability ½.
	m := discreteLaplaceSum(ratio07, signedS)
	var design []outcome
	for _, o := range fixedDesign(2, 4) {
		for _, p := range poissonDesign(.5, .5) {
			x := outcome{p: o.p * p.p}
			for _, i := range p.members {
				x.members = append(x.members, o.members[i])
			}
			design = append(design, x)
		}
	}
	s := scenario{"", ReplaceOne, signed, 4, nil, func(int) []outcome { return design }, nil}
	truth := s.truth(m)
	for i, eps := range epsilons {
		a, err := DeltaAt(WithoutReplacement{2, 4, Poisson{.5, m.event}}, ReplaceOne, eps)
		if err != nil {
			t.Fatal(err)
		}
		for method, b := range a.Methods {
			if b.Delta < truth[i]-1e-12 {
				t.Errorf("two phases, %s at %g: %g, the truth is %g", method, eps, b.Delta, truth[i])
			}
		}
	}
}
