package pld

import (
	"fmt"
	"math"
	"testing"
)

// oneWay brackets ε of one direction of a mechanism.
func oneWay(t *testing.T, m Mechanism, d direction, delta float64) Interval {
	t.Helper()
	q := &question{c: composition{[]term{{m.(node), 1}}}, epsilon: true, at: delta, space: &workspace{}, o: Options{RelTol: 0.01, AbsTol: 1e-4}}
	q.below = q.c
	l, err := q.look(d)
	if err != nil {
		t.Fatal(err)
	}
	iv, err := q.direction(l, Interval{})
	if err != nil {
		t.Fatal(err)
	}
	return iv
}

// Each unit is in one of t waves with Gaussian noise of deviation σ. The brackets, of ε with
// the unit against without it and the other way round, were made by another program, which
// rounds sums up and down.
func TestOneOfManyGaussians(t *testing.T) {
	for _, c := range []struct {
		waves       int64
		sigma       float64
		remove, add [2]float64
		known       float64
	}{
		{2, 0.5, [2]float64{9.301, 9.313}, [2]float64{7.262, 7.270}, 9.997},
		{2, 1, [2]float64{3.693, 3.702}, [2]float64{3.076, 3.084}, 4.377},
		{2, 2, [2]float64{1.458, 1.466}, [2]float64{1.377, 1.385}, 1.993},
		{4, 0.5, [2]float64{8.608, 8.627}, [2]float64{5.312, 5.325}, 9.997},
		{4, 1, [2]float64{3.023, 3.039}, [2]float64{2.162, 2.175}, 4.377},
		{4, 2, [2]float64{1.021, 1.035}, [2]float64{0.949, 0.962}, 1.993},
		{8, 1, [2]float64{2.369, 2.408}, [2]float64{1.512, 1.544}, 4.377},
		{8, 2, [2]float64{0.688, 0.722}, [2]float64{0.644, 0.677}, 1.993},
		{12, 1, [2]float64{2.005, 2.058}, [2]float64{1.222, 1.267}, 4.377},
		{12, 2, [2]float64{0.539, 0.585}, [2]float64{0.510, 0.555}, 1.993},
	} {
		m := OneOf(Part{1, c.waves, Gaussian(c.sigma)})
		for d, want := range [][2]float64{forward: c.remove, backward: c.add} {
			iv := oneWay(t, m, direction(d), 1e-5)
			if !(iv.Upper >= want[0] && iv.Upper <= want[1]) {
				t.Errorf("%d waves, σ=%g, direction %d: charged %g, the truth lies in %v", c.waves, c.sigma, d, iv.Upper, want)
			}
			if !(iv.Lower <= want[1] && iv.Lower >= 0.98*iv.Upper) {
				t.Errorf("%d waves, σ=%g, direction %d: a lower bound of %g beside %g", c.waves, c.sigma, d, iv.Lower, iv.Upper)
			}
		}
		both, err := Epsilon(m, 1e-5, Options{UpperOnly: true})
		if err != nil || both.Upper != oneWay(t, m, forward, 1e-5).Upper || both.Upper > c.known {
			t.Errorf("%d waves, σ=%g: %v %v", c.waves, c.sigma, both, err)
		}
	}
}

// The same with many waves, in several blocks. The values are those of a program that finds the
// law of the sum by one long Fourier transform, right to the digits that are given.
func TestOneOfVeryManyGaussians(t *testing.T) {
	for _, c := range []struct {
		waves         int64
		sigma, delta  float64
		blocks        int64
		remove, added float64
	}{
		{24, 2, 1e-6, 1, 0.4472, 0.4264},
		{48, 2, 1e-6, 1, 0.3054, 0.2959},
		{52, 1.5, 1e-5, 1, 0.3730, 0.3447},
		{52, 1.5, 1e-5, 3, 0.6599, 0.6322},
		{60, 1, 1e-6, 1, 1.1729, 0.6295},
		{100, 2, 1e-6, 1, 0.2049, 0.2007},
		{100, 2, 1e-6, 10, 0.6959, 0.6911},
		{200, 2, 1e-6, 1, 0.1409, 0.1389},
		{1000, 1, 1e-6, 1, 0.1717, 0.1494},
	} {
		m := Repeat(c.blocks, OneOf(Part{1, c.waves, Gaussian(c.sigma)}))
		for d, want := range []float64{forward: c.remove, backward: c.added} {
			iv := oneWay(t, m, direction(d), c.delta)
			if !(iv.Upper >= want*(1-1e-3) && iv.Upper <= want*1.007) {
				t.Errorf("1 of %d waves in %d blocks, σ=%g, direction %d: charged %g for %g", c.waves, c.blocks, c.sigma, d, iv.Upper, want)
			}
			if !(iv.Lower <= want*1.001 && iv.Lower >= 0.99*want) {
				t.Errorf("1 of %d waves in %d blocks, σ=%g, direction %d: a lower bound of %g for %g", c.waves, c.blocks, c.sigma, d, iv.Lower, want)
			}
		}
	}
}

// binaryPanel is the profile of one of n waves of a binary response, exactly: the answers of the
// waves matter by their number alone.
func binaryPanel(n int, eps0, eps float64, d direction) (delta float64) {
	yes := 1 / (1 + math.Exp(-eps0))
	for k := range n + 1 {
		l1, _ := math.Lgamma(float64(n + 1))
		l2, _ := math.Lgamma(float64(k + 1))
		l3, _ := math.Lgamma(float64(n - k + 1))
		q := math.Exp(l1 - l2 - l3 + float64(k)*math.Log(1-yes) + float64(n-k)*math.Log(yes))
		ratio := (float64(k)*math.Exp(eps0) + float64(n-k)*math.Exp(-eps0)) / float64(n)
		if d == forward {
			delta += q * math.Max(0, ratio-math.Exp(eps))
		} else {
			delta += q * math.Max(0, 1-math.Exp(eps)*ratio)
		}
	}
	return delta
}

// The law of a sum of many ratios lies on the safe side of the exact one, however coarse its
// lattice is and however much is cut off. Each twin breaks one step on purpose: sums that are
// rounded down, cells that stand for their upper end in a lower bound, and a tail that is cut off
// for nothing are on the wrong side.
func TestSumsOfRatios(t *testing.T) {
	twins := map[string]int{}
	for _, n := range []int{2, 5, 17, 64, 200, 1000} {
		for _, h := range []float64{0.3, 0.02, 0.003} {
			for _, cut := range []float64{1e-300, 1e-3, 0.3} {
				for _, d := range []direction{forward, backward} {
					for _, s := range []side{upper, lower} {
						checkSums(t, n, h, cut, d, s, twins)
					}
				}
			}
		}
	}
	for _, name := range []string{"rounded down", "upper ends", "cut off for nothing"} {
		if twins[name] == 0 {
			t.Errorf("sums that are %s are never on the wrong side", name)
		}
	}
}

func checkSums(t *testing.T, n int, h, cut float64, d direction, s side, twins map[string]int) {
	t.Helper()
	const eps0 = 1.1
	law := func(l ladder) (ratios, float64) {
		one, inf, err := l[0].ratios(RandomizedResponse(2, eps0).(node), d,
			request{side: s, grid: newGrid(0, l[0].h), tail: 1e-300, maxCells: mostCells, work: &effort{}})
		if err == nil {
			one, err = l.times(one, float64(n), 1/float64(n), cut, &effort{})
		}
		if err != nil {
			t.Fatal(err)
		}
		return one, inf
	}
	l := newLadder(h, float64(n), d, s)
	end := l[len(l)-1]
	sum, inf := law(l)
	shift := -math.Log(float64(n))
	wrong := func(m measure) (wrong bool) {
		for _, x := range []float64{0.01, 0.1, 0.3, 0.9} {
			exact, got := binaryPanel(n, eps0, eps0*x, d), sumProfile(m.loss, m.mass, m.infP, eps0*x)
			wrong = wrong || s == upper && got < exact*(1-1e-10)-1e-300 || s == lower && got > exact*(1+1e-10)+1e-300
		}
		return wrong
	}
	if wrong(end.losses(sum, shift, inf)) {
		t.Errorf("1 of %d, step %g, cut %g, direction %d, side %d: the wrong side of the exact profile", n, h, cut, d, s)
	}
	if s == lower {
		ends := sum
		ends.m = nil
		for j, q := range sum.q {
			r := math.Exp(float64(sum.lo+j)*end.h + math.Copysign(end.h, float64(backward-d)*2-1))
			ends.m = append(ends.m, q*r)
		}
		if wrong(end.losses(ends, shift, inf)) {
			twins["upper ends"]++
		}
		return
	}
	if sum.lost = 0; d == forward && wrong(end.losses(sum, shift, inf)) {
		twins["cut off for nothing"]++
	}
	for _, a := range l {
		a.reach(1 << 16)
		for k := range a.up {
			a.up[k], a.stay[k] = 0, 1
			if d == backward {
				a.up[k], a.stay[k] = 1, 0
			}
		}
	}
	if down, inf := law(l); wrong(end.losses(down, shift, inf)) {
		twins["rounded down"]++
	}
}

// A unit is in two of four waves with a binary response that is true with probability ¾.
// By exact sums δ(log 3) is 30/256 where all pairs of waves are alike, and 58/256 for the
// blocks {1, 2} and {3, 4} (P34).
func TestPatternsMatter(t *testing.T) {
	one := RandomizedResponse(2, math.Log(3))
	at := math.Log(3)
	blocks, err := Delta(OneOf(Part{1, 2, Repeat(2, one)}), at, Options{})
	if err != nil || !(blocks.Lower <= 58./256 && blocks.Upper >= 58./256 && blocks.Upper < 58.1/256) {
		t.Errorf("blocks: %v %v, want 58/256", blocks, err)
	}
	// The bound for uniform pairs tells two groups of two waves.
	uniform, err := Delta(Repeat(2, OneOf(Part{1, 2, one})), at, Options{UpperOnly: true})
	if err != nil || !(uniform.Upper >= 30./256) {
		t.Errorf("uniform: %v %v, want at least 30/256", uniform, err)
	}
	if remove, _ := exactMixture(at, []pattern{{1, []int{0, 1}}, {1, []int{2, 3}}}, binaryLaw(math.Log(3)), 4); math.Abs(remove-58./256) > 1e-12 {
		t.Errorf("enumeration of blocks: %g", remove)
	}
	var pairs []pattern
	for i := range 4 {
		for j := range i {
			pairs = append(pairs, pattern{1, []int{j, i}})
		}
	}
	if remove, _ := exactMixture(at, pairs, binaryLaw(math.Log(3)), 4); math.Abs(remove-30./256) > 1e-12 {
		t.Errorf("enumeration of pairs: %g", remove)
	}
}

// pattern is a set of waves with a weight; outcomes are the laws of one wave with the unit
// and without it.
type pattern struct {
	weight float64
	waves  []int
}

type outcomes struct{ with, without []float64 }

func binaryLaw(eps float64) outcomes {
	p := 1 / (1 + math.Exp(-eps))
	return outcomes{[]float64{p, 1 - p}, []float64{1 - p, p}}
}

// ternaryLaw is 3-ary randomized response of a unit that answers 0, against one that answers 1.
func ternaryLaw(eps float64) outcomes {
	lie := 1 / (math.Exp(eps) + 2)
	return outcomes{[]float64{1 - 2*lie, lie, lie}, []float64{lie, 1 - 2*lie, lie}}
}

// exactMixture is δ(ε) by a sum over all outputs of all waves: with the unit against without
// it, and the other way round.
func exactMixture(eps float64, patterns []pattern, one outcomes, waves int) (remove, add float64) {
	total := 0.0
	for _, p := range patterns {
		total += p.weight
	}
	n := len(one.with)
	for code := range int(math.Pow(float64(n), float64(waves))) {
		out := make([]int, waves)
		q := 1.0
		for w := range out {
			out[w] = code % n
			code /= n
			q *= one.without[out[w]]
		}
		p := 0.0
		for _, a := range patterns {
			x := q * a.weight / total
			for _, w := range a.waves {
				x *= one.with[out[w]] / one.without[out[w]]
			}
			p += x
		}
		remove += math.Max(0, p-math.Exp(eps)*q)
		add += math.Max(0, q-math.Exp(eps)*p)
	}
	return remove, add
}

// The bounds hold the exact value for every way of allotting that one node can express:
// parts of different chances and lengths that share no wave.
func TestAllotmentsByEnumeration(t *testing.T) {
	for _, c := range []struct {
		patterns []pattern
		waves    int
	}{
		{[]pattern{{1, []int{0}}, {1, []int{1}}}, 2},
		{[]pattern{{1, []int{0}}, {1, []int{1}}, {1, []int{2}}, {1, []int{3}}, {1, []int{4}}}, 5},
		{[]pattern{{3, []int{0}}, {1, []int{1}}}, 2},
		{[]pattern{{2, []int{0, 1}}, {1, []int{2}}}, 3},
		{[]pattern{{1, []int{0, 1}}, {5, []int{2}}, {2, []int{3, 4, 5}}}, 6},
	} {
		for _, eps0 := range []float64{0.3, 1, 3} {
			for name, one := range map[string]struct {
				law  outcomes
				mech Mechanism
			}{
				"binary": {binaryLaw(eps0), RandomizedResponse(2, eps0)},
				"3-ary":  {ternaryLaw(eps0), RandomizedResponse(3, eps0)},
			} {
				var parts []Part
				for _, p := range c.patterns {
					parts = append(parts, Part{p.weight, 1, Repeat(int64(len(p.waves)), one.mech)})
				}
				m := OneOf(parts...)
				for _, share := range []float64{0.05, 0.3, 0.8} {
					eps := share * eps0 * 2
					remove, add := exactMixture(eps, c.patterns, one.law, c.waves)
					exact := math.Max(remove, add)
					iv, err := Delta(m, eps, Options{})
					if err != nil && iv.Upper == 0 {
						t.Fatal(err)
					}
					at := fmt.Sprintf("%v, %s response, ε0=%g, ε=%g", c.patterns, name, eps0, eps)
					if !(iv.Lower <= exact*(1+1e-9)+1e-15 && iv.Upper >= exact*(1-1e-12)) {
						t.Errorf("%s: %v, exactly %g", at, iv, exact)
					}
					if iv.Upper > exact*1.01+1e-6 {
						t.Errorf("%s: %v is far above %g", at, iv, exact)
					}
				}
			}
		}
	}
}

// A told part is the mean over the parts, and no better than an allotment that is kept.
func TestKnownParts(t *testing.T) {
	a, b := RandomizedResponse(2, 1), RandomizedResponse(2, 2)
	m := Known(Part{3, 1, a}, Part{1, 1, b})
	for _, eps := range []float64{0, 0.5, 1.5} {
		one, _ := Delta(a, eps, Options{})
		two, _ := Delta(b, eps, Options{})
		got, err := Delta(m, eps, Options{})
		want := 0.75*one.Upper + 0.25*two.Upper
		if err != nil || math.Abs(got.Upper-want) > 1e-9 {
			t.Errorf("ε=%g: %v %v, want %g", eps, got, err, want)
		}
		kept, err := Delta(OneOf(Part{3, 1, a}, Part{1, 1, b}), eps, Options{UpperOnly: true})
		if err != nil || kept.Upper > got.Upper*(1+1e-3) {
			t.Errorf("ε=%g: kept %v %v, told %v", eps, kept, err, got)
		}
	}
}

func TestAllotmentRefused(t *testing.T) {
	for _, m := range []Mechanism{OneOf(), Known(), OneOf(Part{0, 1, Gaussian(1)}), OneOf(Part{1, 0, Gaussian(1)}), OneOf(Part{1.5, 2, Gaussian(1)}), OneOf(Part{1, 2, nil}), OneOf(Part{1 << 51, 1, Gaussian(1)})} {
		if _, err := Epsilon(m, 1e-6, Options{}); err == nil {
			t.Errorf("%v was answered", m)
		}
	}
}
