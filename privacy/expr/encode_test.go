package expr

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// randomEvent builds events with numbers of every size; rand only feeds a test.
func randomEvent(r *rand.Rand, depth int) privacy.Event {
	x := func() float64 { return math.Exp(40 * (r.Float64() - 0.5)) }
	whole := func() int64 { return 1 + r.Int64N(1<<(1+r.IntN(61))) }
	inner := func() privacy.Event { return randomEvent(r, depth-1) }
	sens := func() privacy.Sensitivity {
		switch r.IntN(4) {
		case 0:
			return privacy.Sensitivity{AddRemove: x()}
		case 1:
			return privacy.Sensitivity{ReplaceOne: x()}
		case 2:
			a := x()
			return privacy.Sensitivity{AddRemove: a, ReplaceOne: 2 * a * (1 - r.Float64())}
		}
		return privacy.Sensitivity{}
	}
	choice := r.IntN(20)
	if depth <= 0 {
		choice = r.IntN(11)
	}
	switch choice {
	case 0:
		return privacy.Gaussian{Sigma: x(), Sensitivity: sens()}
	case 1:
		return privacy.Laplace{Scale: x(), Sensitivity: sens()}
	case 2:
		return privacy.DiscreteGaussian{Sigma: x(), Sensitivity: sens(), Coordinates: r.Int64N(5)}
	case 3:
		return privacy.DiscreteLaplace{Scale: x(), Sensitivity: privacy.Sensitivity{AddRemove: float64(1 + r.IntN(1000))}}
	case 4:
		return privacy.Pure{Eps: x()}
	case 5:
		return privacy.Approx{Eps: x(), Delta: r.Float64() * math.Exp(-500*r.Float64())}
	case 6:
		return privacy.ZCDP{Rho: x()}
	case 7:
		return privacy.RandomizedResponse{K: 2 + r.IntN(100), Eps0: x()}
	case 8:
		return privacy.LastIterate{Variant: "full-batch-convex", Sigma: x(), Sensitivity: x(), N: whole(), Steps: whole(), StepSize: 1.5, Smooth: 1, Diameter: x()}
	case 9:
		return privacy.LastIterate{Variant: "cyclic-strongly-convex", Sigma: x(), Sensitivity: x(), N: 1000, Batch: []int64{1, 8, 125, 1000}[r.IntN(4)], Epochs: whole(), StepSize: 0.5, Smooth: 1, StrongConvexity: r.Float64()}
	case 10:
		return privacy.LastIterate{Variant: "one-pass", Sigma: x(), Sensitivity: x(), N: 1000, Batch: 1 + r.Int64N(1000), StepSize: 0.5, Smooth: 1, Early: 1 - r.Float64(), Rounding: x()}
	case 11:
		events := make([]privacy.Event, 1+r.IntN(4))
		for i := range events {
			events[i] = inner()
		}
		return privacy.Compose{Events: events}
	case 12:
		return privacy.Repeat{N: 1 + r.Int64N(1000), Event: inner()}
	case 13:
		return privacy.Poisson{Rate: 1 - r.Float64(), Event: inner()}
	case 14:
		n := whole()
		return privacy.WithoutReplacement{Take: n, Of: n + r.Int64N(1000), Event: inner()}
	case 15:
		return privacy.WithReplacement{Take: whole(), Of: whole(), Event: inner()}
	case 18:
		return privacy.Compose{Events: []privacy.Event{privacy.KeySelection{Eps: x(), Delta: r.Float64()}, privacy.KeyThreshold{Delta: r.Float64()}}}
	case 17:
		return privacy.ByGroup{Event: inner(), Fixed: r.IntN(2) == 0}
	case 16:
		return privacy.Multistage{Stages: []privacy.Stage{{Take: 2, Of: 2 + r.Int64N(10)}, {Take: 5, Of: 10, MaxTake: 5 + r.Int64N(3)}}, Event: inner()}
	}
	return privacy.Shuffled{N: whole(), Event: inner()}
}

func TestParseOfEncodeIsTheEvent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	events := 5000
	if testing.Short() {
		events = 500
	}
	for range events {
		e := randomEvent(r, 5)
		text, err := Encode(e)
		if err != nil {
			t.Fatalf("%#v: %v", e, err)
		}
		back, problems := Parse(text, "")
		if problems != nil {
			t.Fatalf("%s: %v", text, problems)
		}
		if !reflect.DeepEqual(e, back) {
			t.Fatalf("%s: %#v came back as %#v", text, e, back)
		}
		if line := Describe(e); line == "" || strings.Contains(line, "\n") || strings.Contains(line, "%!") {
			t.Fatalf("%s described as %q", text, line)
		}
	}
}

func TestEncodeIsCanonical(t *testing.T) {
	for text, want := range map[string]string{
		`{gaussian: {sensitivity: {replace-one: 2.0, add-remove: 1.0}, sigma: 1.50}}`:     `{"gaussian":{"sigma":1.5,"sensitivity":{"add-remove":1,"replace-one":2}}}`,
		`{repeat: {event: {poisson: {event: {pure: {eps: 1e-7}}, rate: 0.010}}, n: 1e3}}`: `{"repeat":{"n":1000,"event":{"poisson":{"rate":0.01,"event":{"pure":{"eps":1e-7}}}}}}`,
		`{gaussian: {sigma: 1e300, sensitivity: {}}}`:                                     `{"gaussian":{"sigma":1e+300}}`,
	} {
		e, problems := Parse([]byte(text), "")
		if problems != nil {
			t.Fatal(problems)
		}
		if got, err := Encode(e); err != nil || string(got) != want {
			t.Errorf("%s: got %s %v, want %s", text, got, err, want)
		}
	}
}

func TestEncodeRefusesWhatParseRefuses(t *testing.T) {
	deep := privacy.Event(privacy.Pure{Eps: 1})
	for range MaxDepth {
		deep = privacy.Repeat{N: 1, Event: deep}
	}
	for _, e := range []privacy.Event{
		nil, privacy.Gaussian{}, privacy.Gaussian{Sigma: math.NaN()}, privacy.Gaussian{Sigma: math.Inf(1)}, privacy.Pure{Eps: -1},
		privacy.Compose{}, privacy.Compose{Events: []privacy.Event{nil}}, privacy.Repeat{N: 5}, privacy.Repeat{Event: privacy.Pure{}},
		privacy.Poisson{Rate: 2, Event: privacy.Pure{}}, privacy.WithoutReplacement{Take: 2, Of: 1, Event: privacy.Pure{}},
		privacy.LastIterate{Variant: `no"such`}, &privacy.Gaussian{Sigma: 1}, deep,
	} {
		if text, err := Encode(e); err == nil {
			t.Errorf("%#v was written as %s", e, text)
		}
	}
}

func TestDescribe(t *testing.T) {
	g := privacy.Gaussian{Sigma: 1}
	many := privacy.Compose{}
	for range 20 {
		many.Events = append(many.Events, g)
	}
	for _, c := range []struct {
		e    privacy.Event
		want string
	}{
		{privacy.Repeat{N: 1000, Event: privacy.Poisson{Rate: 0.01, Event: g}}, "poisson(0.01, gaussian(σ=1)) ×1000"},
		{privacy.Repeat{N: 2, Event: privacy.Repeat{N: 3, Event: g}}, "(gaussian(σ=1) ×3) ×2"},
		{privacy.Repeat{N: 2, Event: privacy.Compose{Events: []privacy.Event{g, privacy.Compose{Events: []privacy.Event{privacy.Pure{Eps: 1e-9}, privacy.ZCDP{Rho: 1e8}}}}}},
			"(gaussian(σ=1) + (pure(ε=1e-9) + zcdp(ρ=1e8))) ×2"},
		{privacy.Laplace{Scale: 2, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}}, "laplace(scale=2, add-remove 1, replace-one 1)"},
		{privacy.DiscreteGaussian{Sigma: 2, Coordinates: 3}, "discrete_gaussian(σ=2, coordinates=3)"},
		{privacy.DiscreteLaplace{Scale: 2}, "discrete_laplace(scale=2)"},
		{privacy.Approx{Eps: 1, Delta: 1e-6}, "approx(ε=1, δ=1e-6)"},
		{privacy.Shuffled{N: 10, Event: privacy.RandomizedResponse{K: 3, Eps0: 2}}, "shuffled(10, randomized_response(k=3, ε0=2))"},
		{privacy.ByGroup{Event: g}, "by_group(gaussian(σ=1))"},
		{privacy.ByGroup{Event: g, Fixed: true}, "by_group(fixed, gaussian(σ=1))"},
		{privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2}, {Take: 3, Of: 4, MaxTake: 9}}, Event: g}, "multistage(1 of 2 › 3 of 4 (at most 9), gaussian(σ=1))"},
		{privacy.WithoutReplacement{Take: 1, Of: 2, Event: g}, "without_replacement(1 of 2, gaussian(σ=1))"},
		{privacy.WithReplacement{Take: 1, Of: 2}, "with_replacement(1 of 2, ?)"},
		{privacy.LastIterate{Variant: "cyclic-convex", Sigma: 3, N: 100, Batch: 5, Epochs: 2}, "last_iterate(cyclic-convex, σ=3, n=100, batch=5, epochs=2)"},
		{privacy.LastIterate{Variant: "one-pass", Sigma: 3, N: 100, Batch: 5, Early: 0.1}, "last_iterate(one-pass, σ=3, n=100, batch=5, early=0.1)"},
		{many, strings.Repeat("gaussian(σ=1) + ", 8) + "… (20 events)"},
	} {
		if got := Describe(c.e); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	wide := privacy.Event(g)
	for range 50 {
		wide = privacy.Poisson{Rate: 0.5, Event: wide}
	}
	if n := len([]rune(Describe(wide))); n > descriptionLength+1 {
		t.Errorf("a line of %d characters", n)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range accepted {
		f.Add([]byte(c.text))
	}
	for _, c := range refused {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("relation: add-remove\nevent: {repeat: {event: {gaussian: {sigma: 1}}}}\nquery: {calibrate: n, epsilon: 1, delta: 1e-6}\n"))
	f.Add([]byte(`{"relation":"replace-one","event":{"compose":[{"pure":{"eps":1}}]},"query":{"epsilon":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if q, problems := ParseQuery(text, "f"); problems == nil {
			if q.Event == nil || !q.Relation.Valid() || q.Given == 0 {
				t.Fatalf("accepted an incomplete query: %+v", q)
			}
			if p := q.Parameter; p != nil {
				if lo, _ := p.Range(q.Event); p.Set(q.Event, lo) == nil {
					t.Fatal("a parameter that cannot be set")
				}
			}
		} else if q != nil {
			t.Fatal("a query beside problems")
		}
		e, problems := Parse(text, "f")
		if problems != nil {
			for _, p := range problems {
				if p.Line < 1 || p.Column < 1 || p.Message == "" {
					t.Fatalf("a problem without a place: %+v", p)
				}
			}
			return
		}
		out, err := Encode(e)
		if err != nil {
			t.Fatalf("accepted and not written: %v", err)
		}
		if back, problems := Parse(out, ""); problems != nil || !reflect.DeepEqual(e, back) {
			t.Fatalf("%s came back as %#v %v", out, back, problems)
		}
	})
}

func BenchmarkParseQueryJSON(b *testing.B) {
	line := []byte(`{"relation":"add-remove","event":{"repeat":{"n":1000,"event":{"poisson":{"rate":0.01,"event":{"gaussian":{"sigma":1.0}}}}}},"query":{"delta":1e-6}}`)
	for b.Loop() {
		if _, problems := ParseQueryJSON(line, "stdin"); problems != nil {
			b.Fatal(problems)
		}
	}
}

func BenchmarkParseQueryYAML(b *testing.B) {
	text := []byte("relation: add-remove\nevent: {repeat: {n: 1000, event: {poisson: {rate: 0.01, event: {gaussian: {sigma: 1.0}}}}}}\nquery: {delta: 1e-6}\n")
	for b.Loop() {
		if _, problems := ParseQuery(text, "f"); problems != nil {
			b.Fatal(problems)
		}
	}
}
