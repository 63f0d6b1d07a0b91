//go:build unix

package privacy

import (
	"math"
	"syscall"
	"testing"
)

// processorTime returns the time that this process has used so far, in seconds.
func processorTime(t *testing.T) float64 {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

// many is a composition of n different events.
func many(n int, f func(i float64) Event) Event {
	c := Compose{}
	for i := range n {
		c.Events = append(c.Events, f(float64(i)))
	}
	return c
}

// nest puts an event around itself.
func nest(n int, e Event, f func(Event) Event) Event {
	for range n {
		e = f(e)
	}
	return e
}

// No question may hang: a second on an idle core is wanted, and this bound leaves room
// for a slow and busy one and for the race detector.
func TestNastyExpressionsAnswerSoon(t *testing.T) {
	const limit = 12.0
	half := Pure{1}
	for i, c := range []struct {
		name  string
		e     Event
		rel   Relation
		delta float64
	}{
		{"5000 laplace", many(5000, func(i float64) Event { return Laplace{Scale: 10 + i/1000} }), AddRemove, 1e-6},
		{"4000 poisson laplace", many(4000, func(i float64) Event { return Poisson{0.01, Laplace{Scale: 1 + i/1000}} }), AddRemove, 1e-6},
		{"4000 poisson laplace replaced", many(4000, func(i float64) Event { return Poisson{0.01, Laplace{Scale: 1 + i/1000}} }), ReplaceOne, 1e-6},
		{"4000 poisson gaussian", many(4000, func(i float64) Event { return Poisson{0.01, Gaussian{Sigma: 1 + i/1000}} }), AddRemove, 1e-6},
		{"4000 rates", many(4000, func(i float64) Event { return Poisson{(1 + i) / 1e6, Gaussian{Sigma: 1}} }), AddRemove, 1e-6},
		{"4000 responses", many(4000, func(i float64) Event { return RandomizedResponse{3, 0.1 + i/1e5} }), ReplaceOne, 1e-6},
		{"4000 discrete gaussian", many(4000, func(i float64) Event { return DiscreteGaussian{Sigma: 10 + i/100} }), AddRemove, 1e-6},
		{"3000 simple random samples", many(3000, func(i float64) Event { return WithoutReplacement{10 + int64(i), 1e5, Laplace{Scale: 1 + i/1000}} }), ReplaceOne, 1e-6},
		{"300 shuffles", many(300, func(i float64) Event { return Shuffled{10_000 + int64(i), half} }), ReplaceOne, 1e-6},
		{"300 draws with replacement", many(300, func(i float64) Event { return WithReplacement{100 + int64(i), 1e5, Laplace{Scale: 1}} }), ReplaceOne, 1e-6},
		{"deep tail", Compose{[]Event{Repeat{1e6, Poisson{0.001, Gaussian{Sigma: 1}}}, Repeat{1000, Laplace{Scale: 10}}, Gaussian{Sigma: 3}}}, AddRemove, 1e-200},
		{"deepest tail", Repeat{10_000, Poisson{0.01, Gaussian{Sigma: 1}}}, ReplaceOne, 1e-300},
		{"nested draws", nest(20, Gaussian{Sigma: 1}, func(e Event) Event { return Poisson{0.9, Compose{[]Event{e, Laplace{Scale: 5}}}} }), AddRemove, 1e-6},
		{"nested repeats", nest(30, Gaussian{Sigma: 1}, func(e Event) Event { return Poisson{0.9, Compose{[]Event{e, Repeat{100, Gaussian{Sigma: 30}}}}} }), AddRemove, 1e-6},
		{"shuffled responses", Shuffled{100_000, RandomizedResponse{10, 4}}, ReplaceOne, 1e-300},
		{"a milliard users", Shuffled{1e9, RandomizedResponse{10, 4}}, ReplaceOne, 1e-6},
	} {
		if testing.Short() && i%16 != 3 {
			continue
		}
		before := processorTime(t)
		a, err := EpsilonAt(c.e, c.rel, c.delta)
		took := processorTime(t) - before
		t.Logf("%-30s %5.2f s  [%.6g, %.6g] %s", c.name, took, a.Lower, a.Upper, a.Method)
		if took > limit {
			t.Errorf("%s took %.1f s", c.name, took)
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !(a.Upper >= a.Lower && a.Upper > 0) {
			t.Errorf("%s: [%v, %v]", c.name, a.Lower, a.Upper)
		}
	}
}

// Joining never lowers a bound, and costs little.
func TestJoinedEventsDominate(t *testing.T) {
	for name, e := range map[string]Event{
		"poisson":  many(maxDistinct+30, func(i float64) Event { return Poisson{0.01 + i/1e5, Laplace{Scale: 2 + i/200}} }),
		"fixed":    many(maxDistinct+30, func(i float64) Event { return WithoutReplacement{10 + int64(i)/10, 2000, Laplace{Scale: 2 + i/200}} }),
		"shuffled": many(maxCostly+4, func(i float64) Event { return Shuffled{1000 + 10*int64(i), Pure{0.5}} }),
	} {
		ts := terms(e, "")
		short, joined, u := worst(ts, maxDistinct)
		if u != nil || !joined || len(short) >= len(ts) {
			t.Fatal(name, len(short), joined, u)
		}
		for _, m := range []string{"basic", "rdp"} {
			if name == "shuffled" && m == "rdp" {
				continue
			}
			sum := func(ts []term) float64 {
				if m == "basic" {
					total := 0.0
					for _, x := range ts {
						p, u := basicTerm(x.event, ReplaceOne, "", 1)
						if u != nil {
							t.Fatal(name, u)
						}
						total += float64(x.runs) * p.delta(0.01)
					}
					return total
				}
				total := 0.0
				for _, x := range ts {
					b, u := renyiTerm(x.event, ReplaceOne, "")
					if u != nil {
						t.Fatal(name, u)
					}
					total += float64(x.runs) * b.curve(8)
				}
				return total
			}
			whole, part := sum(ts), sum(short)
			if part < whole*(1-1e-12) || part > whole*1.15 || math.IsNaN(part) {
				t.Errorf("%s, %s: %v joined, %v apart", name, m, part, whole)
			}
		}
	}
}
