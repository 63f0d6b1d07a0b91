package keys

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/internal/noise/tails"
)

// masses is the law of the noise of a rule: P(Z = z) for z from −reach to reach.
func (r *Threshold) masses(reach int64) func(z int64) float64 {
	of := map[int64]float64{}
	total := 0.0
	for z := -reach; z <= reach; z++ {
		y := float64(z) / r.scale
		switch {
		case r.law == gaussian:
			of[z] = math.Exp(-y * y / 2)
		case r.law == laplace || max(z, -z) <= r.at:
			of[z] = math.Exp(-math.Abs(y))
		}
		total += of[z]
	}
	return func(z int64) float64 { return of[z] / total }
}

// shown is the whole law of what is published of one key of n units: nothing, at 0, or its noisy number.
func (r *Threshold) shown(n int64, mass func(int64) float64, reach int64) map[int64]float64 {
	out := map[int64]float64{}
	for z := -reach; z <= reach; z++ {
		if y := n + z; n > 0 && y > r.at {
			out[y] += mass(z)
		} else {
			out[0] += mass(z)
		}
	}
	return out
}

// apartBy is δ(ε) of two laws of one key, the larger of both directions.
func apartBy(p, q map[int64]float64, eps float64) float64 {
	var a, b float64
	for y, x := range p {
		a += math.Max(0, x-math.Exp(eps)*q[y])
	}
	for y, x := range q {
		b += math.Max(0, x-math.Exp(eps)*p[y])
	}
	return math.Max(a, b)
}

// The noisy numbers of n and n + 1 units, with the key hidden at or below the threshold, are (ε, δ)-indistinguishable, and δ is attained.
// The twins are caught: a threshold lower by one under the same noise, noise that reaches one further than the threshold, and a scale that
// is too small. The scale and the threshold are those of the closed form.
func TestTruncatedAgainstEnumeration(t *testing.T) {
	for _, c := range []struct{ eps, delta float64 }{{1, 1e-6}, {.1, 1e-6}, {.7, .08}, {3, 1e-9}, {.02, 1e-3}} {
		r, err := NewTruncated(1/c.eps*(1+1e-15), 1, c.delta)
		if err != nil {
			t.Fatal(err)
		}
		e := math.Exp(c.eps)
		if at := math.Ceil(math.Log((e-1+2*c.delta)/((e+1)*c.delta)) / c.eps); float64(r.at) != at {
			t.Errorf("%+v: the threshold is %d, the closed form says %g", c, r.at, at)
		}
		worst := func(r *Threshold, mass func(int64) float64, reach int64) (most float64) {
			for n := int64(0); n <= 2*reach+3; n++ {
				most = math.Max(most, apartBy(r.shown(n, mass, reach), r.shown(n+1, mass, reach), c.eps))
			}
			return most
		}
		reach := r.at + 2
		if d := worst(r, r.masses(reach), reach); d > c.delta*(1+1e-9) || d > r.delta*(1+1e-9) || d < r.delta*(1-1e-6) {
			t.Errorf("%+v: δ is %g, %g is charged", c, d, r.delta)
		}
		low, far := *r, *r
		low.at--
		if d := worst(&low, r.masses(reach), reach); d <= c.delta {
			t.Errorf("%+v: a threshold lower by one has δ %g", c, d)
		}
		far.at++
		if d := worst(r, far.masses(reach), reach); d <= r.delta*(1+1e-6) {
			t.Errorf("%+v: noise that reaches one further has δ %g", c, d)
		}
		small := *r
		small.scale *= .9
		if d := worst(&small, small.masses(reach), reach); d <= r.delta*(1+1e-6) && r.at > 3 {
			t.Errorf("%+v: noise of nine tenths has δ %g", c, d)
		}
	}
}

// What is drawn has the law: a rule with a wide and one with a narrow range.
func TestTruncatedDraws(t *testing.T) {
	for _, r := range []*Threshold{must(NewTruncated(3, 1, .05)), must(NewTruncated(40, 1, .01))} {
		const runs = 40_000
		units := make([]int64, runs)
		for i := range units {
			units[i] = 1000
		}
		if err := r.Keep(source(t), units, make([]bool, runs)); err != nil {
			t.Fatal(err)
		}
		mass := r.masses(r.at)
		counts, want := make([]int, 2*r.at+1), make([]float64, 2*r.at+1)
		for _, y := range units {
			if y < 1000-r.at || y > 1000+r.at {
				t.Fatalf("noise of %d beyond %d", y-1000, r.at)
			}
			counts[y-1000+r.at]++
		}
		for i := range want {
			want[i] = mass(int64(i) - r.at)
		}
		noisetest.CheckCells(t, "truncated noise", runs, counts, want)
	}
}

func must(r *Threshold, err error) *Threshold {
	if err != nil {
		panic(err)
	}
	return r
}

func intervalRules(t *testing.T) map[string]*Threshold {
	t.Helper()
	five, err := Calibrate(want(1, 1e-6, 5, addRemove))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Threshold{
		"laplace": must(NewThreshold(false, 1, 1, 6e-7)), "laplace of two": must(NewThreshold(false, 4, 2, 1e-6)),
		"truncated": must(NewTruncated(10, 1, 1e-6)), "truncated, ε 1": must(NewTruncated(1, 1, 1e-6)), "gaussian": five.(*Threshold),
	}
}

// Logarithms of tails are those of the law, also where they cannot be told from 0 or 1.
func TestTails(t *testing.T) {
	for name, r := range intervalRules(t) {
		for m := -2 * r.at; m <= 2*r.at; m++ {
			p := r.exactTail(m)
			if got := math.Exp(r.tails.Log(m)); math.Abs(got-p) > 1e-6*p+1e-300 {
				t.Errorf("%s: P(Z ≥ %d) is %g, not %g", name, m, got, p)
			}
		}
		var square float64
		mass := r.masses(int64(60 * r.scale))
		for z := int64(-60 * r.scale); z <= int64(60*r.scale); z++ {
			square += float64(z*z) * mass(z)
		}
		if got := r.Deviation(); math.Abs(got-math.Sqrt(square)) > 2e-2/r.scale*got && r.law != laplace {
			t.Errorf("%s: a deviation of %g, not %g", name, got, math.Sqrt(square))
		}
	}
	wide := tails.Gaussian(1e5)
	fine := tails.Gaussian(1000)
	for _, x := range []float64{.5, 2, 6, 29, 35, 200} {
		if a, b := wide.Log(int64(x*1e5)), fine.Log(int64(x*1000)); math.Abs(a-b) > 2e-3*x {
			t.Errorf("%g standard deviations out: %g and %g", x, a, b)
		}
	}
}

// The interval of a number that is shown holds the number of units in at least 95 of 100 cases in which it is shown, for every number of
// units, by enumeration of the whole law, and not in many more where hiding plays no part. The twin, which forgets the condition, holds
// small numbers hardly ever.
func TestIntervalsOfShownNumbers(t *testing.T) {
	for name, r := range intervalRules(t) {
		reach := int64(12*r.scale) + 60
		if r.law == laplace {
			reach = int64(40 * r.scale)
		}
		mass, half := r.masses(reach), r.Half(.95)
		type ends struct{ low, high int64 }
		of := map[int64]ends{}
		least, worst, most := 1.0, 1.0, 0.0
		for n := int64(1); n <= 400; n++ {
			var shown, held, naive float64
			for y := max(n-reach, r.at+1); y <= n+reach; y++ {
				e, ok := of[y]
				if !ok {
					e.low, e.high = r.Interval(y, r.at, .95)
					of[y] = e
				}
				if e.low < 1 || e.low > y || e.high < y {
					t.Fatalf("%s: %d has the interval %d to %d", name, y, e.low, e.high)
				}
				p := mass(y - n)
				if shown += p; e.low <= n && n <= e.high {
					held += p
				}
				if y-half <= n && n <= y+half {
					naive += p
				}
			}
			if shown == 0 {
				continue // more than the noise reaches
			}
			least, worst = math.Min(least, held/shown), math.Min(worst, naive/shown)
			if float64(n) > float64(r.at)+6*r.scale {
				most = math.Max(most, held/shown)
			}
		}
		if least < .95 || most > .985 || worst > .3 && r.law != gaussian || worst > .8 {
			t.Errorf("%s: intervals hold in %.4f of cases or more, far above the threshold in up to %.4f; without the condition in %.4f",
				name, least, most, worst)
		}
	}
}

// Where a limit drops keys, a key that stays has beaten the others, as if the threshold were higher: here the larger of two numbers
// stays. The twin forgets that.
func TestIntervalsUnderALimit(t *testing.T) {
	r := must(NewThreshold(false, 3, 1, .05))
	const reach = 60
	mass := r.masses(reach)
	caught, of := 0, map[[2]int64][2]int64{}
	holds := func(y, above, n int64) bool {
		at := [2]int64{y, above}
		if _, ok := of[at]; !ok {
			low, high := r.Interval(y, above, .95)
			of[at] = [2]int64{low, high}
		}
		return of[at][0] <= n && n <= of[at][1]
	}
	for _, other := range []int64{3, 12, 30} {
		for n := int64(1); n <= 60; n++ {
			var shown, held, naive float64
			for y := max(1, n-reach); y <= n+reach; y++ {
				for x := other - reach; x <= other+reach; x++ {
					p := mass(y-n) * mass(x-other)
					s := Selection{Keys: []Key{{"a", y}}}
					if y <= r.at || x > y {
						continue // hidden, or dropped; of equal numbers "a" stays
					}
					if x > r.at {
						s.Cut, s.next = true, Key{"b", x}
					}
					shown += p
					if holds(y, s.Above(s.Keys[0], r.at), n) {
						held += p
					}
					if holds(y, r.at, n) {
						naive += p
					}
				}
			}
			if held < .95*shown {
				t.Errorf("%d units beside %d: the interval holds in %.4f of cases", n, other, held/shown)
			}
			if naive < .95*shown {
				caught++
			}
		}
	}
	if caught == 0 {
		t.Error("an interval that forgets the limit holds as well")
	}
}
