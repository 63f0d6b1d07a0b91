package randomizedresponse

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/shuffle"
)

func request(params string, n int64, domain ...string) sdk.PlanRequest {
	return sdk.PlanRequest{
		Params: json.RawMessage(params),
		Public: sdk.Public{
			Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne}, Population: n,
			Design:  sdk.Design{Kind: "full", Rate: 1, SampleSize: n, MinWeight: 1, MaxWeight: 1, EqualWeights: true, LargestCount: n},
			Columns: []sdk.Column{{Name: "c", Type: sdk.Category, Domain: domain, Missing: sdk.MissingRefuse}},
		},
		Target: privacy.Point{Epsilon: 1, Delta: 1e-6},
	}
}

func answers(counts ...int) sdktest.Table {
	var codes []int32
	for c, n := range counts {
		for range n {
			codes = append(codes, int32(c))
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(codes))))
	rng.Shuffle(len(codes), func(i, j int) { codes[i], codes[j] = codes[j], codes[i] })
	return sdktest.Table{Rows: len(codes), BatchRows: 7, Columns: map[string]sdk.Values{"c": {Codes: codes}}}
}

func values(o sdktest.Outcome, name string) sdk.ResultColumn {
	for _, c := range o.Result.Columns {
		if c.Name == name {
			return c
		}
	}
	return sdk.ResultColumn{}
}

// respond draws as the host does, with the probability that the plan's ε0 stands
// for.
type respond struct {
	sdk.Host
	src *noise.Source
}

func (r respond) RandomizeCategories(_ context.Context, ev privacy.RandomizedResponse, codes []int32) ([]int32, error) {
	const den = 1 << 50
	keep := 1 / (1 + float64(ev.K-1)*math.Exp(-ev.Eps0))
	for i, c := range codes {
		out, err := noise.RandomizedResponse(r.src, int(c), ev.K, uint64(keep*den), den)
		if err != nil {
			return nil, err
		}
		codes[i] = int32(out)
	}
	return codes, nil
}

func TestLocalPlan(t *testing.T) {
	_, plan, err := sdktest.Plan(Mechanism{}, request(`{"column":"c"}`, 1000, "a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (privacy.RandomizedResponse{K: 3, Eps0: 1}); !reflect.DeepEqual(plan.Event, want) {
		t.Errorf("event %+v, want %+v", plan.Event, want)
	}
	if note := plan.Errors[1].Note; !strings.Contains(note, "trust: ") || !strings.Contains(note, "local model") {
		t.Errorf("the trust assumption is not said: %q", note)
	}
}

// The inverse of the shuffled guarantee: what is charged for the ε0 is within the
// target and close to it, and never below what was computed exactly.
func TestShuffledPlanInvertsTheTarget(t *testing.T) {
	domain := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for _, k := range tier.Some([]int{2, 10}, 2) {
		for _, n := range []int64{200, 30_000} {
			for _, epsilon := range []float64{0.1, 2} {
				req := request(`{"column":"c","shuffle":true}`, n, domain[:k]...)
				req.Target.Epsilon = epsilon
				plan, err := Mechanism{}.Plan(req)
				if err != nil {
					t.Fatal(err)
				}
				s, ok := plan.Event.(privacy.Shuffled)
				if !ok || s.N != n || s.Event.(privacy.RandomizedResponse).K != k {
					t.Fatalf("event %+v", plan.Event)
				}
				eps0 := s.Event.(privacy.RandomizedResponse).Eps0
				a, err := privacy.EpsilonAt(s, privacy.ReplaceOne, 1e-6)
				if err != nil || a.Epsilon > epsilon || eps0 < epsilon || eps0 > epsilon*(1+1e-3) && a.Epsilon < epsilon*0.99 {
					t.Errorf("k=%d n=%d ε=%g: ε0=%g is charged %g (%v)", k, n, epsilon, eps0, a.Epsilon, err)
				}
				clones, err := shuffle.LargestLocal(n, epsilon, 1e-6)
				if err != nil || eps0 < clones*(1-1e-6) {
					t.Errorf("k=%d n=%d ε=%g: ε0=%g is below the %g of the clones", k, n, epsilon, eps0, clones)
				}
			}
		}
	}
}

// The vector of P8 from the other side: 100,000 users at δ = 1e-6 and ε = 0.1728,
// the upper end of the bracket for ε0 = 4, may spend about 4, and no more than
// that at ε = 0.1675.
func TestShuffledVector(t *testing.T) {
	domain := make([]string, 40)
	for i := range domain {
		domain[i] = string(rune('A' + i))
	}
	for _, c := range []struct{ epsilon, low float64 }{{0.1728, 3.95}, {0.1675, 3.8}} {
		clones, err := shuffle.LargestLocal(100_000, c.epsilon, 1e-6)
		if err != nil || clones < c.low || clones > 4.05 {
			t.Errorf("ε=%g: the clones allow ε0=%g (%v)", c.epsilon, clones, err)
		}
	}
	req := request(`{"column":"c","shuffle":true}`, 100_000, domain...)
	req.Target.Epsilon = 0.1728
	l, err := newLayout(req)
	if err != nil || l.local.Eps0 < 3.95 || l.local.Eps0 > 9 {
		t.Errorf("ε0=%+v (%v)", l, err)
	}
}

// Without noise the reports are the truth, and debiasing takes them apart by the
// known probabilities.
func TestDebiasing(t *testing.T) {
	l := &layout{reports: 1000, weight: 2, local: privacy.RandomizedResponse{K: 4, Eps0: 1.2}, column: sdk.Column{Domain: []string{"a", "b", "c", "d"}}}
	keep, other, gap := l.chances()
	if math.Abs(keep+3*other-1) > 1e-15 || math.Abs(keep/other-math.Exp(1.2)) > 1e-12 || math.Abs(gap-(keep-other)) > 1e-15 {
		t.Errorf("probabilities %v %v %v", keep, other, gap)
	}
	// Expected reports for counts 700, 300, 0, 0.
	truth := []float64{700, 300, 0, 0}
	counts := make([]int64, 4)
	for i, c := range truth {
		counts[i] = int64(math.Round(c*keep + (1000-c)*other))
	}
	res := l.result(counts)
	for i, want := range truth {
		if got := res.Columns[2].Float64[i]; math.Abs(got-2*want) > 2/gap {
			t.Errorf("category %d: %v, want %v", i, got, 2*want)
		}
	}
	huge := layout{reports: 10, weight: 1, local: privacy.RandomizedResponse{K: 3, Eps0: 800}}
	if s := huge.spread(5); s != 0 {
		t.Errorf("at an ε0 that lies never, the error is %v", s)
	}
}

// Over many releases estimates are unbiased, their spread is noise_sd, and the
// intervals hold the truth as often as they say. For each of three categories and 300
// runs: the mean lies beyond 6 standard errors with probability 2e-9; the ratio of
// variances beyond 1 ± 0.6 with 4e-10 (χ² with 299 degrees of freedom); a category is
// missed more than 45 times with 1e-9 (binomial, Chernoff's bound).
func TestEstimatesAreUnbiased(t *testing.T) {
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	truth := []int{1200, 700, 100}
	req := request(`{"column":"c"}`, 2000, "a", "b", "c")
	tab := answers(truth...)
	tab.BatchRows = 1000
	const runs = 300
	sum, squares, missed := make([]float64, 3), make([]float64, 3), make([]int, 3)
	for range runs {
		out, err := sdktest.Run(Mechanism{}, req, tab, respond{src: src})
		if err != nil {
			t.Fatal(err)
		}
		e, low, high := values(out, "estimate").Float64, values(out, "noise_low").Float64, values(out, "noise_high").Float64
		if total := e[0] + e[1] + e[2]; math.Abs(total-2000) > 1e-6 {
			t.Fatalf("estimates add up to %v", total)
		}
		for i, c := range truth {
			d := e[i] - float64(c)
			sum[i], squares[i] = sum[i]+d, squares[i]+d*d
			if float64(c) < low[i] || high[i] < float64(c) {
				missed[i]++
			}
		}
	}
	l, err := newLayout(req)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range truth {
		sd := l.spread(float64(c))
		if mean := sum[i] / runs; math.Abs(mean) > 6*sd/math.Sqrt(runs) {
			t.Errorf("category %d: bias %v at a standard error of %v", i, mean, sd/math.Sqrt(runs))
		}
		if ratio := squares[i] / runs / sd / sd; math.Abs(ratio-1) > 0.6 {
			t.Errorf("category %d: variance is %v times that of noise_sd", i, ratio)
		}
		if sd > l.expected()[0].NoiseSD {
			t.Errorf("category %d: the error %v is above the planned %v", i, sd, l.expected()[0].NoiseSD)
		}
		if missed[i] > 45 {
			t.Errorf("category %d: %d of %d intervals miss the truth", i, missed[i], runs)
		}
	}
}

func TestEveryUserReportsOnce(t *testing.T) {
	out, err := sdktest.Run(Mechanism{}, request(`{"column":"c"}`, 30, "a", "b", "c"), answers(10, 15, 5), nil)
	if err != nil || len(out.Calls) != 1 || len(out.Calls[0].Codes) != 30 {
		t.Fatalf("%v, %+v", err, out.Calls)
	}
	if got := values(out, "reports").Int64; !reflect.DeepEqual(got, []int64{10, 15, 5}) {
		t.Errorf("reports %v", got)
	}
	if _, err := sdktest.Run(Mechanism{}, request(`{"column":"c"}`, 31, "a", "b", "c"), answers(10, 15, 5), nil); err == nil {
		t.Error("fewer reports than public are accepted")
	}
	// A neighbour changes one report and nothing else of the call.
	other, err := sdktest.Run(Mechanism{}, request(`{"column":"c"}`, 30, "a", "b", "c"), answers(10, 14, 6), nil)
	if err != nil || !reflect.DeepEqual(out.Calls[0].Event, other.Calls[0].Event) || len(other.Calls[0].Codes) != 30 {
		t.Errorf("%v, %+v", err, other.Calls)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		params string
		change func(*sdk.PlanRequest)
		want   string
	}{
		"number":       {`{"column":"c"}`, func(r *sdk.PlanRequest) { r.Public.Columns[0].Type = sdk.Number }, "public domain"},
		"no column":    {`{"column":"d"}`, nil, "not declared"},
		"one category": {`{"column":"c"}`, func(r *sdk.PlanRequest) { r.Public.Columns[0].Domain = []string{"a"} }, "at least two"},
		"missing":      {`{"column":"c"}`, func(r *sdk.PlanRequest) { r.Public.Columns[0].Missing = sdk.MissingDrop }, "impute"},
		"secret size": {`{"column":"c"}`, func(r *sdk.PlanRequest) {
			r.Public.SampleRelations = []privacy.Relation{privacy.AddRemove}
		}, "replace-one"},
		"poisson": {`{"column":"c"}`, func(r *sdk.PlanRequest) {
			r.Public.SampleRelations = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
			r.Public.Design.SampleSize = 0
		}, "fixed size"},
		"weights":    {`{"column":"c"}`, func(r *sdk.PlanRequest) { r.Public.Design.EqualWeights = false }, "simple random sample"},
		"pure":       {`{"column":"c","shuffle":true}`, func(r *sdk.PlanRequest) { r.Target.Delta = 0 }, "needs a guarantee with a delta"},
		"tiny":       {`{"column":"c"}`, func(r *sdk.PlanRequest) { r.Target.Epsilon = 1e-9 }, "at least 1e-06"},
		"large":      {`{"column":"c"}`, func(r *sdk.PlanRequest) { r.Public.Design.SampleSize = 1 << 40 }, "at most"},
		"a mistake":  {`{"column":"c","shuffled":true}`, nil, "unknown field"},
		"no epsilon": {`{"column":"c"}`, func(r *sdk.PlanRequest) { r.Target.Epsilon = 0 }, "positive"},
	} {
		req := request(c.params, 1000, "a", "b")
		if c.change != nil {
			c.change(&req)
		}
		if _, err := (Mechanism{}).Plan(req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestCodeBytes(t *testing.T) {
	for k, want := range map[int]int64{2: 1, 128: 1, 129: 2, 1 << 14: 2, 1<<14 + 1: 3, 1 << 20: 3} {
		if got := codeBytes(k); got != want {
			t.Errorf("%d categories: %d bytes, want %d", k, got, want)
		}
	}
}

// From a local ε0: charged is what the shuffled reports cost, by the accountant, and
// the guarantee is a limit.
func TestFromLocal(t *testing.T) {
	req := request(`{"column":"c","shuffle":true,"local_epsilon":2}`, 2000, "a", "b", "c")
	_, plan, err := sdktest.Plan(Mechanism{}, req)
	if err != nil {
		t.Fatal(err)
	}
	want := privacy.Shuffled{N: 2000, Event: privacy.RandomizedResponse{K: 3, Eps0: 2}}
	if !reflect.DeepEqual(plan.Event, want) {
		t.Fatalf("event %+v", plan.Event)
	}
	a, err := privacy.EpsilonAt(want, privacy.ReplaceOne, req.Target.Delta)
	if err != nil || a.Epsilon > 0.6 {
		t.Fatalf("costs %v, %v", a.Epsilon, err)
	}
	// At exactly its cost it is accepted, below refused.
	req.Target.Epsilon = a.Epsilon
	if _, err := (Mechanism{}).Plan(req); err != nil {
		t.Error(err)
	}
	req.Target.Epsilon = math.Nextafter(a.Epsilon, 0)
	if _, err := (Mechanism{}).Plan(req); err == nil || !strings.Contains(err.Error(), "local_epsilon: 2000 shuffled reports") {
		t.Errorf("above the target: %v", err)
	}
	for _, c := range []struct {
		params string
		delta  float64
		want   string
	}{
		{`{"column":"c","local_epsilon":2}`, 1e-6, "is for shuffle"},
		{`{"column":"c","shuffle":true,"local_epsilon":0}`, 1e-6, "must be between"},
		{`{"column":"c","shuffle":true,"local_epsilon":51}`, 1e-6, "must be between"},
		{`{"column":"c","shuffle":true,"local_epsilon":2}`, 0, "needs a guarantee with a delta"},
	} {
		bad := request(c.params, 2000, "a", "b", "c")
		bad.Target.Delta = c.delta
		if _, err := (Mechanism{}).Plan(bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.params, err, c.want)
		}
	}
}
