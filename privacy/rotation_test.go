package privacy

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// rotated is a rotation of a few units with whole values, small enough to list everything.
type rotated struct {
	waves    int
	patterns [][]int
	kernel   kernel
	answers  int
}

// kernel is the chance of an output of a wave, from the sum of the values of its units and what
// came out before. All sums that differ are within e^ε0 of each other.
type kernel func(sum int, before []int, out int) float64

// laws lists the outputs of all waves with their chances, for units with these values.
func (p rotated) laws(values []int) []float64 {
	n := 1
	for range p.waves {
		n *= p.answers
	}
	out := make([]float64, n)
	allotments := 1
	for range values {
		allotments *= len(p.patterns)
	}
	for code := range allotments {
		sums := make([]int, p.waves)
		rest := code
		for _, v := range values {
			for _, w := range p.patterns[rest%len(p.patterns)] {
				sums[w] += v
			}
			rest /= len(p.patterns)
		}
		for i := range out {
			out[i] += p.chance(sums, i) / float64(allotments)
		}
	}
	return out
}

// chance is that of the output with number i.
func (p rotated) chance(sums []int, i int) float64 {
	x := 1.0
	before := make([]int, 0, p.waves)
	for w := range p.waves {
		o := i % p.answers
		x *= p.kernel(sums[w], before, o)
		before, i = append(before, o), i/p.answers
	}
	return x
}

// tellApart is δ(ε) of two laws, both directions.
func tellApart(p, q []float64, eps float64) float64 {
	var a, b float64
	for i := range p {
		a += math.Max(0, p[i]-math.Exp(eps)*q[i])
		b += math.Max(0, q[i]-math.Exp(eps)*p[i])
	}
	return math.Max(a, b)
}

// truthUnderAddRemove is the worst δ(ε) over all tables of up to two units and one more.
func (p rotated) truthUnderAddRemove(values int, eps float64) float64 {
	worst := 0.0
	var tables [][]int
	tables = append(tables, nil)
	for a := range values {
		tables = append(tables, []int{a})
		for b := range a + 1 {
			tables = append(tables, []int{a, b})
		}
	}
	for _, t := range tables {
		q := p.laws(t)
		for x := range values {
			worst = math.Max(worst, tellApart(p.laws(append(slices.Clone(t), x)), q, eps))
		}
	}
	return worst
}

// responses are kernels that are pure: k-ary randomized response of the sum, and one whose
// question follows what came out before.
func responses(k int, eps0 float64) map[string]kernel {
	truth := math.Exp(eps0) / (math.Exp(eps0) + float64(k) - 1)
	answer := func(s, out int) float64 {
		if s%k == out {
			return truth
		}
		return (1 - truth) / float64(k-1)
	}
	return map[string]kernel{
		"plain": func(s int, _ []int, out int) float64 { return answer(s, out) },
		"adaptive": func(s int, before []int, out int) float64 {
			// Whether the sum is asked, or whether there is anybody, follows the outputs.
			shift := 0
			for _, b := range before {
				shift += b
			}
			if shift%2 == 1 {
				s = min(s, 1) * (k - 1)
			}
			return answer(s+shift, out)
		},
	}
}

func subsetsOf(t, k int) (out [][]int) {
	var walk func(from int, set []int)
	walk = func(from int, set []int) {
		if len(set) == k {
			out = append(out, slices.Clone(set))
			return
		}
		for w := from; w < t; w++ {
			walk(w+1, append(set, w))
		}
	}
	walk(0, nil)
	return out
}

func eventOf(waves int, patterns [][]int, inner Event) Rotation {
	e := Rotation{Waves: int64(waves), Event: inner}
	for _, p := range patterns {
		var ws []int64
		for _, w := range p {
			ws = append(ws, int64(w+1))
		}
		e.Patterns = append(e.Patterns, Pattern{Waves: ws})
	}
	return e
}

func deltaOf(t *testing.T, e Event, rel Relation, eps float64) Answer {
	t.Helper()
	a, err := DeltaAt(e, rel, eps)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What is charged is never below the truth of any neighbours, and amplifies.
func TestRotationsByEnumeration(t *testing.T) {
	for _, c := range []struct {
		name     string
		waves    int
		in       int
		patterns [][]int
		answers  int
	}{
		{"1 of 2", 2, 1, subsetsOf(2, 1), 2},
		{"1 of 3", 3, 1, subsetsOf(3, 1), 2},
		{"1 of 3, 3-ary", 3, 1, subsetsOf(3, 1), 3},
		{"2 of 3", 3, 2, subsetsOf(3, 2), 2},
		{"2 of 4", 4, 2, subsetsOf(4, 2), 2},
		{"all", 2, 2, subsetsOf(2, 2), 2},
		{"blocks", 4, 0, [][]int{{0, 1}, {2, 3}}, 2},
		{"blocks that overlap", 4, 0, [][]int{{0, 1}, {1, 2}, {2, 3}}, 2},
		{"a gap, and unequal chances", 3, 0, [][]int{{0, 2}, {1}, {1}}, 2},
	} {
		for _, eps0 := range []float64{0.5, 1.5} {
			e := eventOf(c.waves, c.patterns, Pure{eps0})
			if c.in > 0 {
				e = Rotation{Waves: int64(c.waves), In: int64(c.in), Event: Pure{eps0}}
			}
			for name, k := range responses(c.answers, eps0) {
				p := rotated{c.waves, c.patterns, k, c.answers}
				for _, eps := range []float64{0.1, 0.4, 1.2} {
					truth, a := p.truthUnderAddRemove(c.answers, eps), deltaOf(t, e, AddRemove, eps)
					at := fmt.Sprintf("%s, %s, ε0=%g, ε=%g", c.name, name, eps0, eps)
					if a.Upper < truth*(1-1e-12) {
						t.Errorf("%s: charged %g, the truth is at least %g", at, a.Upper, truth)
					}
					if a.Lower > a.Upper {
						t.Errorf("%s: the truth is said to be at least %g, above %g", at, a.Lower, a.Upper)
					}
				}
			}
		}
	}
}

// The claims that P34 warns of are below the truth: blocks charged as uniform sets, and only
// the waves of one unit's own pattern, each as a sample by itself.
func TestWrongClaimsForRotations(t *testing.T) {
	eps0, eps := math.Log(3), math.Log(3)
	blocks := [][]int{{0, 1}, {2, 3}}
	p := rotated{4, blocks, responses(2, eps0)["plain"], 2}
	truth := p.truthUnderAddRemove(2, eps)
	uniform := rotated{4, subsetsOf(4, 2), responses(2, eps0)["plain"], 2}
	// The truth for uniform sets, with the unit against without it and nobody else, is what a
	// program would charge that does not ask for the patterns.
	claim := 0.0
	for i, x := range uniform.laws([]int{1}) {
		claim += math.Max(0, x-3*uniform.laws(nil)[i])
	}
	if math.Abs(claim-30./256) > 1e-12 || truth < 58./256*(1-1e-12) {
		t.Errorf("claimed %g, truth %g", claim*256, truth*256)
	}
	if a := deltaOf(t, eventOf(4, blocks, Pure{eps0}), AddRemove, eps); a.Upper < truth*(1-1e-12) || a.Upper > truth*1.01 {
		t.Errorf("charged %g, the truth is %g", a.Upper, truth)
	}

	// One wave alone, as a Poisson sample of its own: the other waves are forgotten.
	small := rotated{3, subsetsOf(3, 1), responses(2, 1.5)["plain"], 2}
	truth = small.truthUnderAddRemove(2, 0.4)
	if a := deltaOf(t, Poisson{1. / 3, Pure{1.5}}, AddRemove, 0.4); !(a.Upper < truth) {
		t.Errorf("a wave alone: %g, not below the truth %g", a.Upper, truth)
	}
}

// Groups of fixed sizes under replace-one: three values, one unit in each of two waves. The
// worst other unit has neither of the two values of the one that changes, and the known
// waves are charged.
func TestTwoValuesAreNotEnough(t *testing.T) {
	truthful, lie := 3./5, 1./5
	answer := func(v, o int) float64 {
		if v == o {
			return truthful
		}
		return lie
	}
	fixed := func(x, y int) (out []float64) {
		for a := range 3 {
			for b := range 3 {
				out = append(out, answer(x, a)*answer(y, b)/2+answer(y, a)*answer(x, b)/2)
			}
		}
		return out
	}
	eps := math.Log(1.5)
	two, all := 0.0, 0.0
	for y := range 3 {
		d := tellApart(fixed(0, y), fixed(1, y), eps)
		if all = math.Max(all, d); y < 2 {
			two = math.Max(two, d)
		}
	}
	if math.Abs(two-0.18) > 1e-12 || math.Abs(all-0.22) > 1e-12 {
		t.Errorf("two values %g, all %g: want 0.18 and 0.22", two, all)
	}
	e := Rotation{Waves: 2, In: 1, Event: RandomizedResponse{3, math.Log(3)}}
	if a := deltaOf(t, e, ReplaceOne, eps); a.Upper < all || a.Upper < two {
		t.Errorf("charged %g, the truth is %g", a.Upper, all)
	}
}

// Gaussian panels: the charge is that of the pair, never above that of known waves, and known
// waves cost what replace-one costs.
func TestGaussianRotations(t *testing.T) {
	for _, c := range []struct {
		e        Rotation
		from, to float64
	}{
		{Rotation{Waves: 12, In: 1, Event: Gaussian{Sigma: 2}}, 0.539, 0.585},
		{Rotation{Waves: 4, In: 1, Event: Gaussian{Sigma: 1}}, 3.023, 3.039},
		// Two runs with σ = √2·σ0 in a block are one with σ0.
		{eventOf(4, [][]int{{0, 1}, {2, 3}}, Gaussian{Sigma: math.Sqrt2}), 3.693, 3.702},
		// Windows of two waves: classes of two blocks each.
		{eventOf(5, [][]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}}, Gaussian{Sigma: math.Sqrt2}), 3.693, 3.702},
		// Discrete noise costs what it is close to.
		{Rotation{Waves: 4, In: 1, Event: DiscreteGaussian{Sigma: 400, Sensitivity: Sensitivity{AddRemove: 400}, Coordinates: 3}}, 3.023, 3.045},
	} {
		a, err := EpsilonAt(c.e, AddRemove, 1e-5)
		if err != nil || !(a.Epsilon >= c.from && a.Epsilon <= c.to) || a.Method != "pld" {
			t.Errorf("%v: ε=%g by %s (%v), want %g to %g", c.e, a.Epsilon, a.Method, err, c.from, c.to)
		}
		known, err := EpsilonAt(Repeat{c.e.size(), c.e.Event}, AddRemove, 1e-5)
		if err != nil || !(a.Epsilon < known.Epsilon) {
			t.Errorf("%v: ε=%g, known waves cost %g", c.e, a.Epsilon, known.Epsilon)
		}
		replaced, err := EpsilonAt(c.e, ReplaceOne, 1e-5)
		whole, err2 := EpsilonAt(Repeat{c.e.size(), c.e.Event}, ReplaceOne, 1e-5)
		if err != nil || err2 != nil || replaced.Epsilon < whole.Lower || replaced.Epsilon > whole.Epsilon*(1+1e-6) {
			t.Errorf("%v: %g under replace-one, known waves %g (%v %v)", c.e, replaced.Epsilon, whole.Epsilon, err, err2)
		}
	}
	// Many waves cost what the law of the sum says, within 1 %, and less than Poisson samples at
	// the same rate.
	for _, c := range []struct {
		waves, in int64
		want      float64
	}{{48, 1, 0.3054}, {100, 1, 0.2049}, {200, 1, 0.1409}, {1000, 10, 0.6959}} {
		e := Rotation{Waves: c.waves, In: c.in, Event: Gaussian{Sigma: 2}}
		a, err := EpsilonAt(e, AddRemove, 1e-6)
		poisson, err2 := EpsilonAt(Repeat{c.waves, Poisson{float64(c.in) / float64(c.waves), e.Event}}, AddRemove, 1e-6)
		if err != nil || err2 != nil || !(a.Epsilon >= c.want*0.999 && a.Epsilon <= c.want*1.01 && a.Epsilon < poisson.Epsilon) {
			t.Errorf("%d of %d waves: ε=%g (%v), want %g, Poisson samples %g (%v)", c.in, c.waves, a.Epsilon, err, c.want, poisson.Epsilon, err2)
		}
	}
	// The pair of one Gaussian wave in four has a lower bound as well.
	if a, _ := EpsilonAt(Rotation{Waves: 4, In: 1, Event: Gaussian{Sigma: 1}}, AddRemove, 1e-5); !(a.Lower > 2.9 && a.Lower <= 3.039) {
		t.Errorf("a lower bound of %g", a.Lower)
	}
}

func TestRotationRefused(t *testing.T) {
	g := Gaussian{Sigma: 1}
	for _, c := range []struct {
		e    Rotation
		want string
	}{
		{Rotation{Waves: 3, Event: g}, "rotation.in: is missing: say in how many waves a unit is, or list the patterns"},
		{Rotation{Waves: 3, In: 4, Event: g}, "rotation.in: must be at most waves (4 > 3)"},
		{Rotation{Waves: 3, In: 1, Patterns: []Pattern{{Waves: []int64{1}}}, Event: g}, "rotation.patterns: cannot stand beside in"},
		{Rotation{Waves: 3, Patterns: []Pattern{{Waves: []int64{2, 1}}}, Event: g}, "rotation.patterns[0].waves: must be different waves from 1 to 3, in their order"},
		{Rotation{Waves: 3, Patterns: []Pattern{{Waves: []int64{4}}}, Event: g}, "rotation.patterns[0].waves: must be different waves from 1 to 3, in their order"},
		{Rotation{Waves: 3, Patterns: []Pattern{{}}, Event: g}, "rotation.patterns[0].waves: must hold at least one"},
	} {
		if err := Validate(c.e); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.e, err, c.want)
		}
	}
	// An event that fixes the number of units of a wave cannot stand in it, and a panel is no draw that jobs
	// share step by step.
	if _, err := EpsilonAt(Rotation{Waves: 3, In: 1, Event: WithoutReplacement{1, 10, g}}, AddRemove, 1e-6); err == nil {
		t.Error("a fixed size inside a wave was charged")
	}
	if _, err := NewReuse(Rotation{Waves: 3, In: 1}, AddRemove); err == nil {
		t.Error("a panel was kept")
	}
}

// The chances of the waves, and what a wave may spend at least.
func TestRotationBudget(t *testing.T) {
	e := Rotation{Waves: 4, Patterns: []Pattern{{[]int64{1, 2}, 3}, {[]int64{2, 3}, 0}}, Event: Gaussian{Sigma: 1}}
	for w, want := range []string{1: "3/4", 2: "1", 3: "1/4", 4: "0"} {
		if w > 0 && e.Chance(int64(w)).RatString() != want {
			t.Errorf("wave %d: %s, want %s", w, e.Chance(int64(w)).RatString(), want)
		}
	}
	b, err := SampleBudget(e, AddRemove, Point{1, 1e-6})
	if err != nil || b.Epsilon*2 > 1 || b.Delta*2 > 1e-6 || b.Epsilon < 0.4999 {
		t.Errorf("%v %v", b, err)
	}
	under, err := SampleRelations(e, AddRemove)
	if err != nil || len(under) != 1 || under[0] != AddRemove {
		t.Errorf("%v %v", under, err)
	}
}
