package privacy

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// A row of a tiny population stands as one number: its value in the first group, a
// thousand times its value in the second, and 0 where it is in no group.

// apart runs a mechanism in each of two groups.
func apart(m enumerated) enumerated {
	return enumerated{m.name, m.event, func(rows []int) []float64 {
		var groups [2][]int
		for _, v := range rows {
			switch {
			case v%1000 != 0:
				groups[0] = append(groups[0], v)
			case v != 0:
				groups[1] = append(groups[1], v/1000)
			}
		}
		var out []float64
		for _, x := range m.run(groups[0]) {
			for _, y := range m.run(groups[1]) {
				out = append(out, x*y)
			}
		}
		return out
	}}
}

// sameGroup says that two rows are in one group, or both in none.
func sameGroup(v, w int) bool { return v == w || v != 0 && w != 0 && (v%1000 == 0) == (w%1000 == 0) }

// discreteGaussianSum adds P(x) ∝ exp(−x²/2σ²) to the sum of the values.
func discreteGaussianSum(sigma float64, s Sensitivity) enumerated {
	const reach = 16
	return enumerated{"discrete Gaussian sum", DiscreteGaussian{Sigma: sigma, Sensitivity: s}, func(values []int) []float64 {
		sum, total := 0, 0.0
		for _, v := range values {
			sum += v
		}
		out := make([]float64, 2*reach+1)
		for x := -3 * reach; x <= 3*reach; x++ {
			p := math.Exp(-float64(x*x) / (2 * sigma * sigma))
			total += p
			out[min(2*reach, max(0, x+sum+reach))] += p
		}
		for i := range out {
			out[i] /= total
		}
		return out
	}}
}

// selection is an exponential mechanism over three outcomes. A row lowers the score of
// one of them by 1, and a row that is replaced also raises another: a range of 2.
func selection(eps float64) enumerated {
	return enumerated{"selection", BoundedRange{Eps: 2 * eps}, func(values []int) []float64 {
		scores := make([]float64, 3)
		for _, v := range values {
			scores[(v+6)%3]--
		}
		out, total := make([]float64, 3), 0.0
		for i, s := range scores {
			out[i] = math.Exp(eps * s)
			total += out[i]
		}
		for i := range out {
			out[i] /= total
		}
		return out
	}}
}

// groupedScenario is a design on rows in groups.
type groupedScenario struct {
	name  string
	rel   Relation
	fixed bool // neighbours keep the groups of their units
	rows  []int
	size  int
	with  func(Event) Event
	draws func(n int) []outcome
}

func (s groupedScenario) truth(m enumerated, domain []int) []float64 {
	worst := make([]float64, len(groupedEpsilons))
	seen := map[string][]float64{} // a table has many neighbours
	on := func(d []int) []float64 {
		key := fmt.Sprint(d)
		if seen[key] == nil {
			seen[key] = m.on(s.draws(len(d)), d)
		}
		return seen[key]
	}
	compare := func(a, b []int) {
		p, q := on(a), on(b)
		for i, e := range groupedEpsilons {
			worst[i] = math.Max(worst[i], hockeyStick(p, q, e))
		}
	}
	for _, d := range tables(s.size, domain) {
		if s.rel == AddRemove {
			compare(d, d[:len(d)-1])
			continue
		}
		for i := range d {
			for _, v := range domain {
				if v > d[i] && (!s.fixed || sameGroup(v, d[i])) {
					b := append([]int{}, d...)
					b[i] = v
					compare(d, b)
				}
			}
		}
	}
	return worst
}

var groupedEpsilons = []float64{0, .1, .5, 1, 2}

// everyone is no draw at all.
func everyone(n int) []outcome { return fixedDesign(n, n) }

func same(e Event) Event { return e }

func groupedScenarios() []groupedScenario {
	poisson := func(q float64) (func(Event) Event, func(int) []outcome) {
		return func(e Event) Event { return Poisson{q, e} }, func(n int) []outcome { return poissonDesign(equalRates(n, q)...) }
	}
	fixed := func(n, of int64) (func(Event) Event, func(int) []outcome) {
		return func(e Event) Event { return WithoutReplacement{n, of, e} }, func(size int) []outcome { return fixedDesign(int(n), size) }
	}
	p4, draw4 := poisson(.4)
	f13, draw13 := fixed(1, 3)
	f12, draw12 := fixed(1, 2)
	f23, draw23 := fixed(2, 3)
	wr := func(e Event) Event { return WithReplacement{2, 2, e} }
	return []groupedScenario{
		{"all", AddRemove, false, nil, 2, same, everyone},
		{"all", ReplaceOne, false, nil, 2, same, everyone},
		{"all, fixed", ReplaceOne, true, nil, 2, same, everyone},
		{"poisson .4", AddRemove, false, nil, 3, p4, draw4},
		{"poisson .4", ReplaceOne, false, nil, 3, p4, draw4},
		{"poisson .4, fixed", ReplaceOne, true, nil, 3, p4, draw4},
		{"1 of 3", ReplaceOne, false, nil, 3, f13, draw13},
		{"2 of 3", ReplaceOne, false, nil, 3, f23, draw23},
		{"1 of 2, fixed", ReplaceOne, true, nil, 2, f12, draw12},
		{"1 of 3, fixed", ReplaceOne, true, nil, 3, f13, draw13},
		{"2 of at least 3", AddRemove, false, nil, 4, f23, draw23},
		{"2 draws of 2", ReplaceOne, false, nil, 2, wr, func(n int) []outcome { return multisetDesign(2, n) }},
		{"1 of 2 clusters, 1 of 2", ReplaceOne, false, nil, 4, stages(Stage{1, 2, 0}, Stage{1, 2, 0}), framed(1, []int{2, 2}, []int{1, 1})},
	}
}

// groupedMechanisms are run group by group on values of a domain of their own.
var groupedMechanisms = []struct {
	enumerated
	values []int
}{
	{discreteLaplaceSum(2, Sensitivity{1, 2}), []int{-1, 1}},
	{discreteLaplaceSum(2, Sensitivity{1, 1}), []int{1}},
	{discreteLaplaceSum(3, Sensitivity{3, 1}), []int{2, 3}},
	{discreteGaussianSum(1.2, Sensitivity{1, 2}), []int{-1, 1}},
	{discreteGaussianSum(.7, Sensitivity{1, 1}), []int{1}},
	{discreteGaussianSum(4, Sensitivity{3, 1}), []int{2, 3}},
	{leakyBit(.8, .02), []int{-1, 1}},
	{countingBit(1), []int{-1, 1}},
	{selection(.7), []int{-1, 1}},
}

// No charged delta lies below the truth, for any design, mechanism run group by group,
// neighbour and direction. Each of the broken twins must be caught: P11's maximum (one
// group has a row replaced), two groups that lose and gain only, and a fixed group
// believed inside a sample of fixed size (P27).
func TestByGroupAgainstEnumeration(t *testing.T) {
	caught, tried, least := map[string]int{}, 0, 5
	for _, s := range groupedScenarios() {
		for _, m := range groupedMechanisms {
			if tried++; testing.Short() && tried%20 != 0 { // minutes of enumeration
				least = 1
				continue
			}
			domain := []int{0}
			for _, v := range m.values {
				domain = append(domain, v, 1000*v)
			}
			truth := s.truth(apart(m.enumerated), domain)
			twins := map[string]Event{"fixed inside a fixed size": s.with(m.event)}
			if !s.fixed {
				twins = map[string]Event{"one group is replaced": s.with(m.event),
					"two groups lose and gain": s.with(Compose{[]Event{addRemoveTwin(m.event), addRemoveTwin(m.event)}})}
			}
			for i, eps := range groupedEpsilons {
				a, err := DeltaAt(s.with(ByGroup{Event: m.event, Fixed: s.fixed}), s.rel, eps)
				if err != nil {
					t.Fatalf("%s, %s: %v", s.name, m.name, err)
				}
				for method, b := range a.Methods {
					if b.Delta < truth[i]*(1-1e-9)-1e-12 {
						t.Errorf("%s under %v, %s %v at ε %g: %s says %g, the truth is %g", s.name, s.rel, m.name, m.event, eps, method, b.Delta, truth[i])
					}
				}
				if a.Lower > a.Delta {
					t.Errorf("%s, %s: a lower bound of %g above %g", s.name, m.name, a.Lower, a.Delta)
				}
				if s.rel == AddRemove {
					continue
				}
				for name, twin := range twins {
					if b, err := DeltaWith(twin, s.rel, eps, Options{Quick: true}); err == nil && b.Delta < truth[i]*(1-1e-6)-1e-9 {
						caught[name]++
					}
				}
			}
		}
	}
	for _, name := range []string{"one group is replaced", "two groups lose and gain", "fixed inside a fixed size"} {
		if caught[name] < least {
			t.Errorf("%q was caught %d times only", name, caught[name])
		}
	}
	t.Log(caught)
}

// addRemoveTwin is e with what it costs under add-remove in the place of what it costs
// under replace-one.
func addRemoveTwin(e Event) Event {
	switch e := e.(type) {
	case DiscreteLaplace:
		e.Sensitivity.ReplaceOne = e.Sensitivity.AddRemove
		return e
	case DiscreteGaussian:
		e.Sensitivity.ReplaceOne = e.Sensitivity.AddRemove
		return e
	}
	return e
}

// P22: two groups of sums on [−1, 1], Gaussian noise of σ = 1.
func TestByGroupIsTheWorseOfTwo(t *testing.T) {
	delta := func(e Event) float64 {
		a, err := DeltaAt(e, ReplaceOne, 1)
		if err != nil {
			t.Fatal(err)
		}
		return a.Delta
	}
	g := Gaussian{Sigma: 1}
	if d := delta(ByGroup{Event: g}); math.Abs(d-.510) > 5e-4 {
		t.Errorf("δ(1) is %g, want 0.510", d)
	}
	once := Gaussian{Sigma: 1, Sensitivity: Sensitivity{1, 1}}
	if d := delta(Repeat{2, once}); math.Abs(d-.286) > 5e-4 {
		t.Errorf("two groups that gain and lose alone claim %g, P22 says 0.286", d)
	}
	// A value of [100, 101] that changes its group is worse than one that stays.
	far := Gaussian{Sigma: 100, Sensitivity: Sensitivity{101, 1}}
	if stays, moves := delta(ByGroup{far, true}), delta(ByGroup{Event: far}); stays > 1e-9 || moves < .29 {
		t.Errorf("δ(1) of a fixed group %g, of one that may change %g", stays, moves)
	}
	// P27: two records in two kept groups, one drawn, sums by group, ε = 1.
	l := Laplace{Scale: 1, Sensitivity: Sensitivity{1, 1}}
	a := mustEpsilon(t, WithoutReplacement{1, 2, ByGroup{l, true}}, ReplaceOne, 0)
	if maximum := mustEpsilon(t, WithoutReplacement{1, 2, l}, ReplaceOne, 0); a.Epsilon < .814 || math.Abs(maximum.Epsilon-.620) > 1e-3 {
		t.Errorf("a kept group in a fixed-size sample costs %g, P11's maximum %g", a.Epsilon, maximum.Epsilon)
	}
	kept := mustEpsilon(t, Poisson{.5, ByGroup{l, true}}, ReplaceOne, 0)
	if plain := mustEpsilon(t, Poisson{.5, l}, ReplaceOne, 0); kept.Epsilon != plain.Epsilon {
		t.Errorf("a kept group in a Poisson sample costs %g, the maximum is %g", kept.Epsilon, plain.Epsilon)
	}
}

func TestByGroupNests(t *testing.T) {
	count := Laplace{Scale: 10, Sensitivity: Sensitivity{1, 1}}
	for _, around := range []func(Event) Event{
		same,
		func(e Event) Event { return Compose{[]Event{e, Pure{.1}}} },
		func(e Event) Event { return Repeat{30, e} },
		func(e Event) Event { return ByGroup{Event: e} },
		func(e Event) Event { return Poisson{.1, Compose{[]Event{e, Gaussian{Sigma: 10}}}} },
		func(e Event) Event { return Repeat{5, Poisson{.1, e}} },
		func(e Event) Event { return WithoutReplacement{10, 100, e} },
		func(e Event) Event { return Multistage{[]Stage{{2, 10, 0}, {5, 50, 0}}, e} },
		func(e Event) Event { return ByGroup{Event: Poisson{.1, e}} },
	} {
		for _, inner := range tier.Some([]Event{count, Gaussian{Sigma: 10}, DiscreteGaussian{Sigma: 10, Sensitivity: Sensitivity{1, 1}}, Compose{[]Event{count, Approx{.1, 1e-9}, BoundedRange{Eps: .1}}}}, 4) {
			e := around(ByGroup{Event: inner})
			for _, rel := range []Relation{AddRemove, ReplaceOne} {
				plain, errP := EpsilonAt(around(inner), rel, 1e-5)
				a, err := EpsilonAt(e, rel, 1e-5)
				if (err == nil) != (errP == nil) {
					t.Errorf("%v under %v: %v, without groups %v", e, rel, err, errP)
				}
				if err != nil {
					continue
				}
				two := mustEpsilon(t, around(Compose{[]Event{inner, inner}}), rel, 1e-5)
				if a.Epsilon < plain.Epsilon*(1-1e-4) || a.Epsilon > two.Epsilon*(1+1e-3) || a.Lower > a.Epsilon {
					t.Errorf("%v under %v costs %g in [%g, %g], one group %g, two %g", e, rel, a.Epsilon, a.Lower, a.Upper, plain.Epsilon, two.Epsilon)
				}
			}
		}
	}
	// A ρ account: the larger of what one replaced row and two moved ones cost.
	f := must(NewZCDPFilter(ReplaceOne, big.NewRat(1, 1)))
	for _, c := range []struct {
		e    Event
		want *big.Rat
	}{
		{ByGroup{Event: Gaussian{Sigma: 4}}, big.NewRat(1, 8)},
		{ByGroup{Event: Compose{[]Event{BoundedRange{Eps: .5}, Gaussian{Sigma: 4}}}}, new(big.Rat).Add(big.NewRat(1, 8), big.NewRat(1, 32))},
		{ByGroup{Event: BoundedRange{Eps: .5}}, big.NewRat(1, 16)},
	} {
		if rho, err := f.Cost(c.e); err != nil || rho[0].Cmp(c.want) != 0 {
			t.Errorf("%v: ρ %v, %v, want %v", c.e, rho, err, c.want)
		}
	}
}

// What has no guarantee for a row that comes or goes has none where a row may change
// its group, and nothing of a fixed size runs on the groups of a sample.
func TestByGroupRefuses(t *testing.T) {
	response := RandomizedResponse{3, 1}
	if a := mustEpsilon(t, ByGroup{response, true}, ReplaceOne, 0); a.Epsilon != 1 {
		t.Errorf("answers in fixed groups cost %g", a.Epsilon)
	}
	for _, c := range []struct {
		e    Event
		rel  Relation
		path string
	}{
		{ByGroup{Event: response}, ReplaceOne, "by_group.event.randomized_response"},
		{WithoutReplacement{2, 4, ByGroup{response, true}}, ReplaceOne, "without_replacement.event.by_group.event.randomized_response"},
		{Poisson{.1, ByGroup{WithoutReplacement{2, 4, Pure{1}}, true}}, ReplaceOne, "poisson.event.by_group.event.without_replacement"},
		{WithoutReplacement{4, 9, ByGroup{Event: WithoutReplacement{2, 4, Pure{1}}}}, ReplaceOne, "without_replacement.event.by_group.event.without_replacement"},
		{ByGroup{Event: Shuffled{10, Laplace{Scale: 1}}}, ReplaceOne, "by_group.event.shuffled"},
		{Poisson{.1, ByGroup{Event: Shuffled{10, Laplace{Scale: 1}}}}, ReplaceOne, "poisson.event.by_group.event.shuffled"},
		{ByGroup{Event: Gaussian{Sigma: 1, Sensitivity: Sensitivity{ReplaceOne: 1}}}, ReplaceOne, "by_group.event.gaussian"},
		{Shuffled{10, ByGroup{response, true}}, ReplaceOne, "shuffled.event.by_group"},
	} {
		a, err := EpsilonAt(c.e, c.rel, 1e-6)
		if err == nil {
			t.Errorf("%v under %v costs %g", c.e, c.rel, a.Epsilon)
			continue
		}
		found := false
		for _, u := range a.Unsupported {
			found = found || u.Path == c.path
		}
		if !found {
			t.Errorf("%v: no refusal names %s: %v", c.e, c.path, err)
		}
	}
}

// P22: a unit that has rows in up to two groups, as a cap allows. Under replace-one the
// worst over groups in which its rows are replaced and groups in which they come or go.
// The twin: what is right for units with one group.
func TestByGroupOfCappedUnits(t *testing.T) {
	// What a unit has in each of three groups: no row, or one of these values.
	var units [][3]int
	for _, values := range tables(3, []int{0, 1, 2}) {
		u := [3]int{values[0], values[1], values[2]}
		groups := 0
		for _, v := range u {
			groups += min(v, 1)
		}
		if groups <= 2 {
			units = append(units, u)
		}
	}
	caught := 0
	for _, m := range tier.Some([]enumerated{discreteLaplaceSum(3, Sensitivity{2, 1}), discreteGaussianSum(3, Sensitivity{2, 1}), leakyBit(.5, .03)}, 3) {
		law := func(u [3]int) []float64 {
			out := []float64{1}
			for _, v := range u {
				var rows []int
				if v > 0 {
					rows = []int{v}
				}
				var next []float64
				for _, y := range m.run(rows) {
					for _, x := range out {
						next = append(next, x*y)
					}
				}
				out = next
			}
			return out
		}
		laws := map[[3]int][]float64{}
		for _, u := range units {
			laws[u] = law(u)
		}
		for _, rel := range relations {
			for _, eps := range []float64{0, .3, 1, 2} {
				worst := 0.0
				for _, u := range units {
					others := [][3]int{{}}
					if rel == ReplaceOne {
						others = units
					}
					for _, o := range others {
						worst = math.Max(worst, hockeyStick(laws[u], laws[o], eps))
					}
				}
				a := must(DeltaAt(Repeat{2, ByGroup{Event: m.event}}, rel, eps))
				for method, b := range a.Methods {
					if b.Delta < worst-1e-12 {
						t.Errorf("%s under %v at ε %g: %s says %g, the truth is %g", m.name, rel, eps, method, b.Delta, worst)
					}
				}
				if a.Lower > a.Delta {
					t.Errorf("%s: a lower bound of %g above %g", m.name, a.Lower, a.Delta)
				}
				if must(DeltaAt(ByGroup{Event: m.event}, rel, eps)).Delta < worst-1e-6 {
					caught++
				}
			}
		}
	}
	if caught < tier.Of(5, 10) {
		t.Errorf("the charge for one group was caught %d times only", caught)
	}
}

// Selections of two groups have together the sum of their ranges. The enumeration is that of every
// pair of losses at the ends of an interval: one group at eps, or two at come. The twin forgets that
// there are two groups.
func TestByGroupOfSelections(t *testing.T) {
	for _, c := range []struct{ eps, come, want float64 }{{1, 0, 2}, {1, 0.5, 1}, {1, 0.9, 1.8}, {1, 1, 2}, {2, 0.25, 2}} {
		e := ByGroup{Event: BoundedRange{Eps: c.eps, Come: c.come}}
		a, err := EpsilonAt(e, ReplaceOne, 0)
		if err != nil || math.Abs(a.Epsilon-c.want) > 1e-9 || a.Epsilon < c.want {
			t.Errorf("%+v costs %v (%v), want %v", e, a.Epsilon, err, c.want)
		}
		if one, err := EpsilonAt(e, AddRemove, 0); err != nil || math.Abs(one.Epsilon-c.eps) > 1e-9 {
			t.Errorf("%+v costs %v under add-remove (%v)", e, one.Epsilon, err)
		}
		if c.come == 0 {
			continue
		}
		// losses are (t, t − r) with the probabilities that make them losses.
		type pair [2][2]float64
		pairs := func(r float64) (out []pair) {
			for k := range 41 {
				x := r * float64(k) / 40
				p := -math.Expm1(x-r) / -math.Expm1(-r)
				out = append(out, pair{{x, p}, {x - r, 1 - p}})
			}
			return out
		}
		worst := func(x float64, come float64) float64 {
			most := 0.0
			for _, a := range pairs(c.eps) {
				d := 0.0
				for _, l := range a {
					d += l[1] * math.Max(0, -math.Expm1(x-l[0]))
				}
				most = math.Max(most, d)
			}
			for _, a := range pairs(come) {
				for _, b := range pairs(come) {
					d := 0.0
					for _, l := range a {
						for _, m := range b {
							d += l[1] * m[1] * math.Max(0, -math.Expm1(x-l[0]-m[0]))
						}
					}
					most = math.Max(most, d)
				}
			}
			return most
		}
		caught := false
		for _, x := range []float64{0, 0.25, 0.5, 0.9, 1.2, 1.7} {
			d, err := DeltaAt(e, ReplaceOne, x)
			if err != nil {
				t.Fatal(err)
			}
			if w := worst(x, c.come); d.Delta < w-1e-12 {
				t.Errorf("%+v: δ(%v) is %v, and %v is attained", e, x, d.Delta, w)
			}
			twin, err := DeltaAt(BoundedRange{Eps: c.eps}, ReplaceOne, x)
			if err != nil {
				t.Fatal(err)
			}
			caught = caught || twin.Delta < worst(x, c.come)-1e-6
		}
		if caught != (c.want > c.eps) {
			t.Errorf("%+v: the twin of one group caught: %v", e, caught)
		}
	}
}

// Two selections one after the other, the second of which follows the outcome of the first, in the
// group of a unit that stays, or in both groups of one that changes its group. The enumeration is
// that of all choices after every outcome, of pairs of losses (t, t − r). Twins: come for both
// groups together, and one selection in the place of two.
func TestByGroupOfRepeatedSelections(t *testing.T) {
	const steps = 8
	// worst is the largest profile at x of selections of range r, chosen one after the other.
	var worst func(n int, r, x float64) float64
	worst = func(n int, r, x float64) float64 {
		if n == 0 {
			return math.Max(0, -math.Expm1(x))
		}
		most := 0.0
		for k := range steps + 1 {
			l := r * float64(k) / steps
			p := -math.Expm1(l-r) / -math.Expm1(-r)
			d := 0.0
			if p > 0 {
				d += p * worst(n-1, r, x-l)
			}
			if p < 1 {
				d += (1 - p) * worst(n-1, r, x-l+r)
			}
			most = math.Max(most, d)
		}
		return most
	}
	var oneGroup, oneSelection int
	for _, c := range [][2]float64{{1, 0.3}, {1, 0.5}, {1, 0.8}, {1, 1}, {0.4, 0.3}, {2, 1.5}} {
		eps, come := c[0], c[1]
		e := BoundedRange{Eps: eps, Come: come}
		for _, x := range []float64{0, 0.2, 0.5, 0.9, 1.4, 2, 3} {
			truth := math.Max(worst(2, eps, x), worst(4, come, x))
			charged := must(DeltaAt(ByGroup{Event: Repeat{2, e}}, ReplaceOne, x))
			for method, b := range charged.Methods {
				if b.Delta < truth-1e-12 {
					t.Errorf("eps %g, come %g at %g: %s says %v, the truth is at least %v", eps, come, x, method, b.Delta, truth)
				}
			}
			if must(DeltaAt(Repeat{2, BoundedRange{Eps: eps}}, ReplaceOne, x)).Delta < truth-1e-6 {
				oneGroup++
			}
			if must(DeltaAt(ByGroup{Event: e}, ReplaceOne, x)).Delta < truth-1e-6 {
				oneSelection++
			}
		}
	}
	if oneGroup < 10 || oneSelection < 15 {
		t.Errorf("the twins were caught %d and %d times only", oneGroup, oneSelection)
	}
}
