package keys

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/privacy"
)

var (
	addRemove  = []privacy.Relation{privacy.AddRemove}
	replaceOne = []privacy.Relation{privacy.ReplaceOne}
	both       = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
)

func want(eps, delta float64, keys int64, under []privacy.Relation) Want {
	return Want{Target: privacy.Point{Epsilon: eps, Delta: delta}, Keys: keys, Relations: under}
}

func source(t testing.TB) *noise.Source {
	t.Helper()
	s, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exponential brackets e^x, by its series: after n terms less than the last term is left for x < n/2.
func exponential(x *big.Rat) (lo, hi *big.Rat) {
	f, _ := x.Float64()
	sum, term := big.NewRat(1, 1), big.NewRat(1, 1)
	for n := int64(1); n < 60+4*int64(f); n++ {
		term.Mul(term, x).Mul(term, big.NewRat(1, n))
		sum.Add(sum, term)
		// The fractions would grow without end: a hundred digits are plenty, cut down.
		term = cutDown(term)
		sum = cutDown(sum)
	}
	return sum, new(big.Rat).Mul(sum, new(big.Rat).Add(big.NewRat(1, 1), new(big.Rat).SetFloat64(0x1p-90)))
}

func cutDown(x *big.Rat) *big.Rat {
	whole := new(big.Int).Lsh(x.Num(), 400)
	whole.Quo(whole, x.Denom())
	return new(big.Rat).SetFrac(whole, new(big.Int).Lsh(big.NewInt(1), 400))
}

// indistinguishable says whether the coins with probabilities a and b, over 2^63, meet the four conditions, by lower bounds
// on e^ε.
func indistinguishable(a, b uint64, e, delta *big.Rat) bool {
	prob := func(k uint64) (p, q *big.Rat) {
		p = new(big.Rat).SetFrac(new(big.Int).SetUint64(k), new(big.Int).SetUint64(one))
		return p, new(big.Rat).Sub(big.NewRat(1, 1), p)
	}
	within := func(x, y *big.Rat) bool { // x ≤ e·y + δ
		return x.Cmp(new(big.Rat).Add(new(big.Rat).Mul(e, y), delta)) <= 0
	}
	p, notP := prob(a)
	q, notQ := prob(b)
	return within(p, q) && within(q, p) && within(notP, notQ) && within(notQ, notP)
}

// The coins that are drawn are (ε, δ)-indistinguishable, exactly; the nearest float64 to what the rule says is not.
func TestGeometricIsExact(t *testing.T) {
	broken := 0
	for _, eps := range tier.Some([]float64{.01, .1, .3, 1, 2.5, 7, 30, 800}, 4) {
		for _, delta := range []float64{1e-15, 1e-12, 1e-9, 1e-6, 1e-3, .05, .4} {
			g, err := NewGeometric(eps, delta, 1)
			if err != nil {
				t.Fatal(err)
			}
			e := new(big.Rat).SetInt64(math.MaxInt64) // no more is needed to see that the conditions hold
			if eps < 40 {
				e, _ = exponential(fraction(eps))
			}
			d := fraction(delta)
			real, before := 0.0, uint64(0)
			for n := int64(0); n <= int64(len(g.keep)); n++ {
				a, b := g.probability(n), g.probability(n+1)
				if a > b || !indistinguishable(a, b, e, d) {
					t.Fatalf("ε %g, δ %g: the coins of %d and %d units", eps, delta, n, n+1)
				}
				real = math.Min(1, math.Min(math.Exp(eps)*real+delta, 1-math.Exp(-eps)*(1-real-delta)))
				if math.Abs(real-float64(b)/one) > 2e-4*real {
					t.Fatalf("ε %g, δ %g: %d units are kept with %g, not %g", eps, delta, n+1, float64(b)/one, real)
				}
				if eps < 40 {
					naive := uint64(real*one + .5)
					if !indistinguishable(before, naive, e, d) {
						broken++
					}
					before = naive
				}
			}
			if g.probability(0) != 0 || g.probability(math.MaxInt64) != one {
				t.Errorf("ε %g, δ %g: a key of nobody is kept, or a key of everybody is not", eps, delta)
			}
		}
	}
	if broken < 10 {
		t.Errorf("probabilities rounded to the nearest were caught %d times only", broken)
	}
}

// P25: at ε = 1 and δ = 1e-6 a key of 14 units is kept with probability 0.70, one of 13 with 0.26.
func TestGeometricFigures(t *testing.T) {
	r, err := Calibrate(want(1, 1e-6, 1, addRemove))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := r.Chance(14), r.Chance(13); math.Abs(a-.70) > 5e-3 || math.Abs(b-.26) > 5e-3 {
		t.Errorf("14 units are kept with %g, 13 with %g", a, b)
	}
	if n, ok := Size(r, .5); n != 14 || !ok {
		t.Errorf("half of the keys with %d units are kept", n)
	}
	// At 10 % half of the keys with 46 units are kept.
	budget, err := privacy.SampleBudget(privacy.Poisson{Rate: .1}, privacy.AddRemove, privacy.Point{Epsilon: 1, Delta: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Calibrate(Want{Target: budget, Keys: 1, Relations: addRemove})
	if err != nil {
		t.Fatal(err)
	}
	if p := sampledChance(s, .1, 46); math.Abs(p-.5) > .01 {
		t.Errorf("46 units of which a tenth is drawn are kept with %g", p)
	}
	if n, _ := SizeSampled(s, .1, .95); n < 80 || n > 100 {
		t.Errorf("95 %% of the keys with %d units are kept", n)
	}
}

// Which words of the source keep a key is known to the last bit.
func TestGeometricDraws(t *testing.T) {
	g, err := NewGeometric(1, .01, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n < 12; n++ {
		p := g.probability(n)
		for _, c := range []struct {
			word uint64
			kept bool
		}{{2*p - 2, p > 0}, {2*p - 1, p > 0}, {2 * p, false}, {2*p + 1, false}} {
			if p == one && !c.kept || p == 0 && c.kept {
				continue
			}
			var tape [8]byte
			for i := range tape {
				tape[i] = byte(c.word >> (8 * i))
			}
			if p == 0 && c.word > 1 {
				continue
			}
			units, kept := []int64{n}, make([]bool, 1)
			if err := g.Keep(insecurenoise.NewTape(tape[:]), units, kept); err != nil || kept[0] != c.kept || units[0] != 0 {
				t.Errorf("%d units, word %x: kept %v, %d, %v", n, c.word, kept, units, err)
			}
		}
	}
}

// exactTail is P(Z ≥ m) of the noise of a rule, by its law.
func (r *Threshold) exactTail(m int64) float64 {
	weight := func(x int64) float64 {
		y := float64(x) / r.scale
		switch {
		case r.law == gaussian:
			return math.Exp(-y * y / 2)
		case r.law == truncated && max(x, -x) > r.at:
			return 0
		}
		return math.Exp(-math.Abs(y))
	}
	var tail, total float64
	for x := int64(60*r.scale) + max(m, -m) + 100; x >= 0; x-- {
		w := weight(x)
		if total += w; x >= m {
			tail += w
		}
		if x > 0 {
			if total += w; -x >= m {
				tail += w
			}
		}
	}
	return tail / total
}

// A threshold is passed by keys of single units with the probability that the event claims, or less, and no lower one is.
func TestThresholdTail(t *testing.T) {
	for _, normal := range []bool{false, true} {
		for _, scale := range []float64{.3, 1, 2.7, 15, 126.3} {
			for _, keys := range []int64{1, 2, 10, 1000} {
				for _, delta := range []float64{1e-15, 1e-9, 1e-6, .01, .2} {
					r, err := NewThreshold(normal, scale, keys, delta)
					if err != nil {
						t.Fatal(err)
					}
					one := r.exactTail(r.At())
					truth := -math.Expm1(float64(keys) * math.Log1p(-one))
					if r.delta > delta || truth > r.delta {
						t.Errorf("gaussian %v, scale %g, %d keys: passes %g, claims %g, asked %g", normal, scale, keys, truth, r.delta, delta)
					}
					// Two lower would not do; for small Gaussian noise the crude bound may cost more.
					if at := r.At() - 2; at >= 1 && (!normal || float64(at) > scale+1) {
						if lower := -math.Expm1(float64(keys) * math.Log1p(-r.exactTail(at))); lower <= delta {
							t.Errorf("gaussian %v, scale %g, %d keys, δ %g: a threshold of %d would do, not %d", normal, scale, keys, delta, at, r.At())
						}
					}
				}
			}
		}
	}
}

// The example of a known library: Laplace noise of scale 80 needs a threshold of 1,714. Gaussian noise with δ split between
// noise and threshold needs 804, and 772 where most of δ is spent once.
func TestGaussianBeatsLaplace(t *testing.T) {
	w := want(.125, 2.5e-9, 10, addRemove)
	w.Counts = true
	l, err := laplaceRule(w)
	if err != nil {
		t.Fatal(err)
	}
	if l := l.(*Threshold); l.At() != 1714 || math.Abs(l.scale-80) > 1e-9 {
		t.Errorf("Laplace noise of scale %g needs a threshold of %d", l.scale, l.At())
	}
	r, err := Calibrate(w)
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := r.(*Threshold); !ok || g.law != gaussian || g.At() != 772 {
		t.Errorf("%+v", r)
	}
}

// Five keys a unit at ε 1 and δ 1e-6: half of the keys with 50 units appear, and nothing of ε is left over. Google's library needs 51.
func TestSeveralKeysUseTheBudget(t *testing.T) {
	r, err := Calibrate(want(1, 1e-6, 5, addRemove))
	if err != nil {
		t.Fatal(err)
	}
	a, err := privacy.EpsilonAt(r.Event(), privacy.AddRemove, 1e-6)
	if n, _ := Size(r, .5); n > 50 || r.Deviation() > 9.6 || err != nil || a.Epsilon > 1 || a.Epsilon < .9999 {
		t.Errorf("%d units, σ %g, ε %g: %v", n, r.Deviation(), a.Epsilon, err)
	}
}

// Whatever is asked for, the rule costs at most that under every relation, by an independent question to the accountant.
// The twin: what holds under add-remove does not hold under replace-one.
func TestCalibrateMeetsTheTarget(t *testing.T) {
	caught := 0
	for _, eps := range tier.Some([]float64{.2, .01, 1, 4, 15}, 3) {
		for _, delta := range tier.Some([]float64{1e-6, 1e-12, 1e-3}, 3) {
			for _, keys := range tier.Some([]int64{1, 2, 7, 100}, 2) {
				for _, under := range [][]privacy.Relation{addRemove, replaceOne, both} {
					for _, counts := range []bool{false, true} {
						w := want(eps, delta, keys, under)
						w.Counts = counts
						r, err := Calibrate(w)
						if err != nil {
							t.Fatalf("%+v: %v", w, err)
						}
						if counts && !r.Counts() {
							t.Errorf("%+v: no counts", w)
						}
						for _, rel := range under {
							if a, err := privacy.EpsilonWith(r.Event(), rel, delta, privacy.Options{Quick: true}); err != nil || a.Epsilon > eps {
								t.Errorf("%+v costs %g under %v: %v", w, a.Epsilon, rel, err)
							}
						}
						if len(under) == 1 && under[0] == privacy.AddRemove {
							if a, err := privacy.EpsilonWith(r.Event(), privacy.ReplaceOne, delta, privacy.Options{Quick: true}); err != nil || a.Epsilon > eps*1.2 {
								caught++
							}
						}
						n, ok := Size(r, .5)
						if more, _ := Size(r, .95); !ok || more < n || r.Chance(n) < .5 || n > 1 && r.Chance(n-1) >= .5 {
							t.Errorf("%+v: sizes %d and %d", w, n, more)
						}
					}
				}
			}
		}
	}
	if caught < tier.Of(5, 100) {
		t.Errorf("%d rules for add-remove fail under replace-one", caught)
	}
}

func TestCalibrateRefuses(t *testing.T) {
	for _, w := range []Want{want(0, 1e-6, 1, addRemove), want(1, 1e-6, 0, addRemove), want(1, 1e-6, 1, nil), want(math.NaN(), .1, 1, addRemove), want(1, 2, 1, both)} {
		if r, err := Calibrate(w); err == nil {
			t.Errorf("%+v: %+v", w, r)
		}
	}
	if _, err := Calibrate(want(1, 0, 1, addRemove)); !errors.Is(err, ErrDelta) {
		t.Error(err)
	}
}

// Sizes behind a sample are those of a sum over all samples.
func TestSizeSampled(t *testing.T) {
	r, err := Calibrate(want(2, 1e-5, 3, both))
	if err != nil {
		t.Fatal(err)
	}
	for _, rate := range []float64{.05, .3, .9} {
		for _, n := range []int64{1, 10, 57, 300} {
			p, sum := math.Pow(1-rate, float64(n)), 0.0
			for m := int64(0); m <= n; m++ {
				sum += p * r.Chance(m)
				p *= float64(n-m) / float64(m+1) * rate / (1 - rate)
			}
			if got := sampledChance(r, rate, n); math.Abs(got-sum) > 1e-9 {
				t.Errorf("rate %g, %d units: %g, by hand %g", rate, n, got, sum)
			}
		}
	}
	all, _ := Size(r, .5)
	if same, ok := SizeSampled(r, 1, .5); same != all || !ok {
		t.Errorf("%d at rate 1, %d unsampled", same, all)
	}
	if n, ok := SizeSampled(r, 1e-9, .5); !ok || n < 1e9 {
		t.Errorf("%d at a rate of 1e-9", n)
	}
}

// list is the counts of a few keys.
func list(units map[string]int64) Counts {
	return func(visit func(string, int64) error) error {
		for k, n := range units {
			if err := visit(k, n); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestSelect(t *testing.T) {
	ctx := context.Background()
	for _, counts := range []bool{false, true} {
		w := want(1, 1e-12, 1, addRemove)
		w.Counts = counts
		r, err := Calibrate(w)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Select(ctx, list(map[string]int64{"b": 1000, "a": 2000, "rare": 1, "nobody": 0, "c": 500}), r, 10, source(t))
		if err != nil || s.Cut {
			t.Fatal(s, err)
		}
		got := ""
		for _, k := range s.Keys {
			got += k.Text
			if (k.Units != 0) != counts {
				t.Errorf("%s has %d units", k.Text, k.Units)
			}
		}
		if got != "abc" { // "rare" is kept once in 10¹² runs
			t.Errorf("kept %s", got)
		}
	}
}

// A limit drops kept keys: at random where nothing is counted, else the smallest. The number of candidates that are not
// kept does not matter to which keys stay.
func TestSelectLimit(t *testing.T) {
	ctx := context.Background()
	g, err := NewGeometric(1, .01, 1)
	if err != nil {
		t.Fatal(err)
	}
	src := source(t)
	stays := map[string]int{}
	const runs = 3000
	for range runs {
		s, err := Select(ctx, list(map[string]int64{"a": 100, "b": 100, "c": 100, "none": 0}), g, 2, src)
		if err != nil || !s.Cut || len(s.Keys) != 2 || s.Keys[0].Text >= s.Keys[1].Text {
			t.Fatal(s, err)
		}
		for _, k := range s.Keys {
			stays[k.Text]++
		}
	}
	noisetest.CheckCells(t, "keys that stay", runs, []int{stays["a"], stays["b"], stays["c"]}, []float64{2. / 3, 2. / 3, 2. / 3})
	w := want(1, 1e-6, 1, addRemove)
	w.Counts = true
	r, err := Calibrate(w)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Select(ctx, list(map[string]int64{"small": 300, "large": 10_000, "middle": 3000}), r, 2, src)
	if err != nil || !s.Cut || len(s.Keys) != 2 || s.Keys[0].Text != "large" || s.Keys[1].Text != "middle" {
		t.Error(s, err)
	}
}

// Ten million keys take the room of those that are kept.
func TestSelectOfMany(t *testing.T) {
	g, err := NewGeometric(1, 1e-6, 1)
	if err != nil {
		t.Fatal(err)
	}
	keys := int64(10_000_000)
	if testing.Short() {
		keys = 200_000
	}
	s, err := Select(context.Background(), func(visit func(string, int64) error) error {
		var text []byte
		for i := range keys {
			text = fmt.Appendf(text[:0], "key %d", i)
			units := int64(1)
			if i%(keys/100) == 0 {
				units = 50
			}
			if err := visit(string(text), units); err != nil {
				return err
			}
		}
		return nil
	}, g, 1000, source(t))
	// A key of one unit is kept once in a million: more than 45 of ten million in less than one run in a million.
	if err != nil || len(s.Keys) < 100 || len(s.Keys) > 145 || s.Cut {
		t.Fatal(len(s.Keys), s.Cut, err)
	}
}

func TestSelectStops(t *testing.T) {
	g, err := NewGeometric(1, .01, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	endless := func(visit func(string, int64) error) error {
		for {
			if err := visit("x", 1); err != nil {
				return err
			}
		}
	}
	if s, err := Select(ctx, endless, g, 1, source(t)); !errors.Is(err, context.Canceled) || s != nil {
		t.Error(s, err)
	}
	mine := errors.New("mine")
	if _, err := Select(context.Background(), func(func(string, int64) error) error { return mine }, g, 1, source(t)); !errors.Is(err, mine) {
		t.Error(err)
	}
	if _, err := Select(context.Background(), list(map[string]int64{"a": 5}), g, 1, insecurenoise.NewTape(nil)); !errors.Is(err, ErrNoise) {
		t.Error(err)
	}
	if _, err := Select(context.Background(), list(nil), g, 0, source(t)); err == nil {
		t.Error("a limit of 0 is taken")
	}
}
