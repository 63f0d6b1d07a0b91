package sdktest_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	counts "github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/distinct"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/regression"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/variance"
	"github.com/dprelease/dprelease/privacy"
)

// extreme is a request at the ends of what a job may say: bounds, guarantees, weights
// and sizes.
func extreme(rng *rand.Rand, params string) sdk.PlanRequest {
	missing := []sdk.Missing{sdk.MissingRefuse, sdk.MissingDrop, sdk.MissingImpute}
	bounds := [][2]float64{
		{0, 1e-150}, {-1e150, 1e150}, {1e15, 1e15 + 2}, {-1e15 - 1, -1e15}, {0.1, 0.3}, {1e150 - 1e135, 1e150},
		{-1e-150, 1e150}, {-1e150, 1e-150}, {math.Nextafter(1, 0), 1}, {-1e-150, 1e-151},
	}
	var req sdk.PlanRequest
	req.Params = json.RawMessage(params)
	req.Target.Epsilon = []float64{1e-9, 1e-6, 1e-3, 1, 20, 700, 1e4, 1e7}[rng.IntN(8)]
	req.Target.Delta = []float64{1e-300, 1e-9, 0.1, 1 - 0x1p-53}[rng.IntN(4)]
	w := []float64{1, math.Nextafter(1, 2), 3.7, 1e9, 1e18}[rng.IntN(5)]
	n, pub, both := int64(1+rng.IntN(6)), &req.Public, []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	pub.Relation, pub.SampleRelations = both[0], both[:1]
	pub.Design = sdk.Design{Kind: "full", Rate: 1, MinWeight: 1, MaxWeight: 1, EqualWeights: true}
	switch rng.IntN(6) {
	case 0:
		pub.Relation, pub.SampleRelations, pub.Population = both[1], both[1:], n
		pub.Design.SampleSize, pub.Design.LargestCount = n, n
	case 1:
		pub.Relation, pub.SampleRelations, pub.Population = both[1], both, 1<<53
		pub.Design = sdk.Design{Kind: "poisson", Rate: 1 / w, MinWeight: w, MaxWeight: w, EqualWeights: true, LargestCount: 1 << 53}
	case 2:
		weight := (1 << 53) / float64(n)
		pub.Relation, pub.SampleRelations, pub.Population = both[1], both[1:], 1<<53
		pub.Design = sdk.Design{Kind: "srswor", Rate: 1 / weight, SampleSize: n, MinWeight: weight, MaxWeight: weight, EqualWeights: true, LargestCount: n}
	case 3:
		pub.Design = sdk.Design{Kind: "stratified", MinWeight: 1, MaxWeight: w}
	case 4:
		pub.Relation, pub.SampleRelations, pub.Population = both[1], both, 1<<53
		pub.Design = sdk.Design{Kind: "multistage", MinWeight: 1, MaxWeight: w, LargestCount: 8}
	}
	same := pub.Design.Kind == "full" || pub.Design.Kind == "poisson"
	for _, name := range []string{"x", "y"} {
		b := bounds[rng.IntN(len(bounds))]
		pub.Columns = append(pub.Columns, sdk.Column{Name: name, Type: sdk.Number, Lower: b[0], Upper: b[1], Missing: missing[rng.IntN(3)]})
	}
	for _, name := range []string{"g", "h"} {
		pub.Columns = append(pub.Columns, sdk.Column{Name: name, Type: sdk.Category, Domain: []string{"a", "b", "c"}[:2+rng.IntN(2)], Missing: missing[rng.IntN(3)], Immutable: same && rng.IntN(2) == 0})
	}
	return req
}

// TestExtremes: what is planned at the ends of what a job may say holds there too, and
// its result is finite. A mean whose noise is a million times its range was once all noise: not a number.
func TestExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		mechanism sdk.Mechanism
		params    []string
	}{
		{mean.Mechanism{}, []string{`{"column":"x"}`, `{"columns":["x","y"]}`, `{"column":"x","by":"g"}`, `{"column":"x","noise":"gaussian"}`, `{"columns":["x","y"],"by":"g","noise":"gaussian"}`}},
		{counts.Mechanism{}, []string{`{"by":"g"}`, `{"by":["g","h"]}`, `{"by":"g","noise":"gaussian"}`, `{}`}},
		{sum.Mechanism{}, []string{`{"column":"x"}`, `{"column":"x","by":"g"}`, `{"column":"y","by":["g","h"],"noise":"gaussian"}`}},
		{proportion.Mechanism{}, []string{`{"column":"g","values":"a"}`, `{"column":"x","from":0,"by":"g"}`, `{"column":"h","values":["a","b"],"by":"h"}`}},
		{ratio.Mechanism{}, []string{`{"numerator":"x","denominator":"y"}`, `{"numerator":"y","denominator":"x","by":"g"}`}},
		{variance.Mechanism{}, []string{`{"column":"x"}`, `{"column":"x","by":"g"}`, `{"column":"y","noise":"gaussian"}`}},
		{variance.SD(), []string{`{"column":"x"}`, `{"column":"x","by":["g","h"]}`}},
		{distinct.Mechanism{}, []string{`{"by":"g"}`, `{"by":["g","h"]}`, `{}`}},
		{histogram.Mechanism{}, []string{`{"column":"x","edges":[0,1,10]}`, `{"column":"x","edges":[-1e9,0,1e-300,5],"by":"g"}`}},
		{median.Mechanism{}, []string{`{"column":"x"}`, `{"column":"x","method":"exponential"}`, `{"column":"x","method":"exponential","quantiles":[0.0001,0.5,0.9999]}`, `{"column":"x","method":"exponential","points":2}`, `{"column":"x","quantiles":[0.25,0.999]}`}},
		{quantiles.Mechanism{}, []string{`{"column":"x","quantiles":[0.25,0.999]}`, `{"column":"x","by":"g"}`, `{"column":"x","method":"recursion"}`, `{"column":"x","method":"tree","by":["g","h"]}`, `{"column":"x","by":"g","interval":{"level":95,"square":0.9,"mean":0.1,"rows":6}}`, `{"column":"x","quantiles":"deciles","by":["g","h"]}`}},
		{regression.Mechanism{}, []string{`{"target":"x","features":["y"]}`, `{"target":"x","features":["g","y","h"],"noise":"laplace"}`, `{"target":"y","features":["h"],"ridge":1000}`}},
	} {
		planned, trials := 0, tier.Of(4, 60)
		for trial := range trials {
			req := extreme(rng, c.params[rng.IntN(len(c.params))])
			if _, err := c.mechanism.Plan(req); err != nil {
				continue
			}
			planned++
			r, err := sdktest.Check(context.Background(), sdktest.InProcess(c.mechanism), sdktest.Config{Requests: []sdk.PlanRequest{req}, Seed: uint64(trial), Pairs: 12, Releases: -1, Sizes: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				t.Errorf("%s: %s: %s\n%s\n%+v", r.Mechanism, f.Check, f.Detail, f.Tables, req.Public)
			}
		}
		if planned < trials/3 {
			t.Errorf("%s plans %d of %d requests", c.mechanism.Describe().Name, planned, trials)
		}
	}
}
