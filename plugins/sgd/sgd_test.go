package sgd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*(1+math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Without noise and clipping the linear model is the least-squares fit, in the
// columns' own units.
func TestLinearIsLeastSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 400
	records := make([]record, n)
	design, target := mat.NewDense(n, 5, nil), mat.NewVecDense(n, nil)
	for i := range records {
		r := record{x1: -3 + 10*rng.Float64(), x2: 10 * math.Exp(math.Log(100)*rng.Float64()), x2ok: true, c: int32(rng.IntN(3))}
		r.y = math.Max(-20, math.Min(30, 3+r.x1-0.8*math.Log(r.x2)+2*float64(r.c)+rng.NormFloat64()))
		records[i] = r
		row := []float64{1, r.x1, math.Log(r.x2), 0, 0}
		if r.c > 0 {
			row[2+r.c] = 1
		}
		design.SetRow(i, row)
		target.SetVec(i, r.y)
	}
	var want mat.VecDense
	if err := want.SolveVec(design, target); err != nil {
		t.Fatal(err)
	}
	out, err := sdktest.Run(Mechanism{}, request(privacy.ReplaceOne, n,
		`{"model":"linear","target":"y","features":["x1","x2","c"],"log":["x2"],"rate":1,"steps":4000,"clip":8,"average":false,"step_size":1}`), table(records), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := released(t, out.Result)
	for i, name := range []string{"(intercept)", "x1", "log(x2)", "c=b", "c=c"} {
		near(t, name, got[name], want.AtVec(i), 1e-3)
	}
}

// Without noise the logistic model sets the sum of the residuals to zero in every
// column, and a yes is what the job says it is.
func TestLogisticSolvesItsEquations(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const n = 400
	records := make([]record, n)
	for i := range records {
		r := record{x1: -3 + 10*rng.Float64(), x2ok: true, x2: 10, c: int32(rng.IntN(3))}
		if rng.Float64() < 1/(1+math.Exp(-(0.3*r.x1-float64(r.c)))) {
			r.yes, r.two = 1, 1
		}
		records[i] = r
	}
	fit := func(target, more string) map[string]float64 {
		out, err := sdktest.Run(Mechanism{}, request(privacy.ReplaceOne, n,
			`{"model":"logistic","target":%q,"features":["x1","c"],"rate":1,"steps":4000,"average":false,"step_size":4%s}`, target, more), table(records), nil)
		if err != nil {
			t.Fatal(err)
		}
		return released(t, out.Result)
	}
	w := fit("yes", "")
	var sums [4]float64
	for _, r := range records {
		z := w["(intercept)"] + w["x1"]*r.x1
		if r.c > 0 {
			z += w[fmt.Sprintf("c=%c", 'a'+r.c)]
		}
		res := 1/(1+math.Exp(-z)) - r.yes
		sums[0] += res
		sums[1] += res * r.x1
		if r.c > 0 {
			sums[1+r.c] += res
		}
	}
	for i, s := range sums {
		near(t, fmt.Sprintf("equation %d", i), s/n, 0, 1e-4)
	}
	same, turned := fit("two", ""), fit("two", `,"positive":"no"`)
	for name, v := range w {
		if name == "x1" || strings.HasPrefix(name, "c=") || name == "(intercept)" {
			near(t, name, same[name], v, 1e-12)
			near(t, name, turned[name], -v, 1e-6)
		}
	}
}

// Batches of any size, features that say nothing or say the same, and noise of any
// size give finite numbers.
func TestNothingIsSpecial(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	m := planOnce{plans: map[string]sdk.Plan{}}
	for trial := range 200 {
		n := rng.IntN(50)
		records := make([]record, n)
		for i := range records {
			records[i] = anyRecord(rng)
			if trial%2 == 0 { // constant features
				records[i].x1, records[i].c = x1.Upper, -1
			}
		}
		h := script{noise: func(int) int64 { return int64(rng.NormFloat64() * math.Exp2(float64(trial%60))) }}
		for range 5 {
			var batch []int64 // also nil
			for i := range n {
				if trial%3 == 0 || rng.IntN(10) == 0 {
					batch = append(batch, int64(i))
				}
			}
			h.batches = append(h.batches, batch)
		}
		req := request(privacy.AddRemove, 0, `{%s,"rows":1,"rate":0.5,"steps":5,"step_size":1e6,"l2":%g}`, models[trial%len(models)], float64(trial%3)*500)
		out, err := sdktest.Run(m, req, table(records), &h)
		if err != nil {
			t.Fatal(err)
		}
		released(t, out.Result)
	}
	// Two columns that say the same share what one of them would have.
	records := make([]record, 100)
	for i := range records {
		records[i] = record{x1: -3 + 0.1*float64(i), x2: 10 + 9.9*float64(i), x2ok: true, y: 0.1 * float64(i)}
	}
	out, err := sdktest.Run(Mechanism{}, request(privacy.ReplaceOne, 100,
		`{"model":"linear","target":"y","features":["x1","x2"],"rate":1,"steps":4000,"clip":8,"step_size":1}`), table(records), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := released(t, out.Result)
	near(t, "their sum", w["x1"]*10+w["x2"]*990, 10, 1e-2)
	near(t, "their shares", w["x1"]*10, w["x2"]*990, 1e-6)
}

// The steps are scaled by public numbers: a batch of twice the records moves the
// coefficients twice as far, which dividing by its size would hide.
func TestDivisorIsPublic(t *testing.T) {
	fit := func(copies int) float64 {
		h := script{batches: [][]int64{{}}}
		var records []record
		for i := range copies {
			records = append(records, record{x1: 7, y: 30})
			h.batches[0] = append(h.batches[0], int64(i))
		}
		out, err := sdktest.Run(Mechanism{}, request(privacy.AddRemove, 0,
			`{"model":"linear","target":"y","features":["x1"],"rate":0.25,"steps":1,"rows":1000}`), table(records), &h)
		if err != nil {
			t.Fatal(err)
		}
		return released(t, out.Result)["x1"]
	}
	near(t, "twice the batch", fit(6)/fit(3), 2, 1e-9)
}

// The plan meets its target under what it is asked for, is the same when asked
// twice (sdktest.Plan asks twice), and says its noise.
func TestPlanMeetsTarget(t *testing.T) {
	for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
		for _, rate := range tier.Some([]float64{0.2, 0.01, 1}, 3) {
			population, rows := int64(5000), ""
			if rel == privacy.AddRemove {
				population, rows = 0, `,"rows":5000`
			}
			req := request(rel, population, `{"model":"linear","target":"y","features":["x1","c"],"rate":%g,"epochs":2%s}`, rate, rows)
			_, plan, err := sdktest.Plan(Mechanism{}, req)
			if err != nil {
				t.Fatal(err)
			}
			a, err := privacy.EpsilonAt(plan.Event, rel, req.Target.Delta)
			if err != nil || a.Epsilon > req.Target.Epsilon || a.Epsilon < 0.999*req.Target.Epsilon {
				t.Errorf("%s, rate %g: epsilon %v of %v, %v", rel, rate, a.Epsilon, req.Target.Epsilon, err)
			}
			if !strings.Contains(plan.Errors[0].Note, "noise multiplier") {
				t.Errorf("the plan does not say its noise: %+v", plan.Errors)
			}
		}
	}
	both := request(privacy.ReplaceOne, 100, `{"model":"linear","target":"y","features":["x1"],"epochs":2}`)
	both.Public.SampleRelations = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	if _, _, err := sdktest.Plan(Mechanism{}, both); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	noDelta := request(privacy.ReplaceOne, 100, `{"model":"linear","target":"y","features":["x1"]}`)
	noDelta.Target.Delta = 0
	sampled := request(privacy.ReplaceOne, 100, `{"model":"linear","target":"y","features":["x1"]}`)
	sampled.Public.Design.Kind = "srswor"
	good := func(params string) sdk.PlanRequest { return request(privacy.ReplaceOne, 100, "%s", params) }
	for name, c := range map[string]struct {
		req  sdk.PlanRequest
		want string
	}{
		"pure":             {noDelta, "delta"},
		"sampled":          {sampled, "from: all"},
		"unknown model":    {good(`{"model":"cubic","target":"y","features":["x1"]}`), "model"},
		"unknown key":      {good(`{"model":"linear","target":"y","features":["x1"],"colour":1}`), "colour"},
		"no feature":       {good(`{"model":"linear","target":"y","features":[]}`), "features"},
		"feature twice":    {good(`{"model":"linear","target":"y","features":["x1","x1"]}`), "twice"},
		"target a feature": {good(`{"model":"linear","target":"y","features":["y"]}`), "target"},
		"undeclared":       {good(`{"model":"linear","target":"y","features":["z"]}`), "not declared"},
		"category target":  {good(`{"model":"linear","target":"two","features":["x1"]}`), "not a number"},
		"three values":     {good(`{"model":"logistic","target":"c","features":["x1"]}`), "two values"},
		"wide target":      {good(`{"model":"logistic","target":"y","features":["x1"]}`), "0 and 1"},
		"no such yes":      {good(`{"model":"logistic","target":"two","features":["x1"],"positive":"maybe"}`), "domain"},
		"yes of a number":  {good(`{"model":"logistic","target":"yes","features":["x1"],"positive":"yes"}`), "number"},
		"yes of a line":    {good(`{"model":"linear","target":"y","features":["x1"],"positive":"yes"}`), "logistic"},
		"log of minus":     {good(`{"model":"linear","target":"y","features":["x1"],"log":["x1"]}`), "positive lower"},
		"log of a word":    {good(`{"model":"linear","target":"y","features":["c"],"log":["c"]}`), "not a number"},
		"log elsewhere":    {good(`{"model":"linear","target":"y","features":["x1"],"log":["x2"]}`), "log"},
		"log of a yes":     {good(`{"model":"logistic","target":"yes","features":["x1"],"log":["yes"]}`), "log"},
		"rows are public":  {good(`{"model":"linear","target":"y","features":["x1"],"rows":9}`), "rows"},
		"rows are secret":  {request(privacy.AddRemove, 0, `{"model":"linear","target":"y","features":["x1"]}`), "rows"},
		"two rates":        {good(`{"model":"linear","target":"y","features":["x1"],"rate":0.1,"batch_size":3}`), "rate, batch_size"},
		"two lengths":      {good(`{"model":"linear","target":"y","features":["x1"],"epochs":1,"steps":3}`), "epochs, steps"},
		"large batch":      {good(`{"model":"linear","target":"y","features":["x1"],"batch_size":101}`), "batch_size"},
		"rate 2":           {good(`{"model":"linear","target":"y","features":["x1"],"rate":2}`), "rate"},
		"clip 0":           {good(`{"model":"linear","target":"y","features":["x1"],"clip":0}`), "clip"},
		"clip 1e-305":      {good(`{"model":"linear","target":"y","features":["x1"],"clip":1e-305}`), "clip"},
		"l2 negative":      {good(`{"model":"linear","target":"y","features":["x1"],"l2":-1}`), "l2"},
		"steps 0":          {good(`{"model":"linear","target":"y","features":["x1"],"steps":0}`), "steps"},
		"too many steps":   {good(`{"model":"linear","target":"y","features":["x1"],"rate":1e-6,"epochs":1}`), "epochs"},
		"rate too small":   {good(`{"model":"linear","target":"y","features":["x1"],"rate":1e-15,"steps":1}`), "rate"},
	} {
		if _, err := (Mechanism{}).Plan(c.req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
