package expr

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/describe"
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

// encode returns the bytes of an event where all of its numbers may stand in one.
func encode(e privacy.Event) ([]byte, error) {
	text, err := privacy.Canonical(e)
	if err == nil {
		err = privacy.Validate(e)
	}
	return text, err
}

func TestParseOfEncodeIsTheEvent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	events := 5000
	if testing.Short() {
		events = 500
	}
	for range events {
		e := randomEvent(r, 5)
		text, err := encode(e)
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
		if line := describe.Event(e); line == "" || strings.Contains(line, "\n") || strings.Contains(line, "%!") {
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
		if got, err := encode(e); err != nil || string(got) != want {
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
		text, err := encode(e)
		if err == nil {
			t.Errorf("%#v was written as %s", e, text)
		}
		if text != nil {
			if _, problems := Parse(text, ""); problems == nil {
				t.Errorf("%s: %v, and Parse takes it", text, err)
			}
		}
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
		out, err := encode(e)
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
