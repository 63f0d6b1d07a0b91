package sgd

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

var lastModels = []string{
	`"model":"linear","target":"y","features":["x1","x2","c"],"log":["x2"],"radius":3,"l2":0.1`,
	`"model":"linear","target":"y","features":["x1"],"radius":0.05`,
	`"model":"logistic","target":"yes","features":["x2","c","x1"],"radius":5,"l2":0.02`,
	`"model":"logistic","target":"two","features":["c"],"radius":0.1`,
}

// inTurn are models that take their records in turn, with as many batches as 40 full
// steps leave room for.
var inTurn = []string{
	`"model":"linear","target":"y","features":["x1","x2","c"],"log":["x2"],"radius":3,"l2":0.1,"batches":"cyclic","batch_size":7,"epochs":13`,
	`"model":"linear","target":"y","features":["x1"],"radius":0.05,"batches":"cyclic","batch_size":3,"epochs":40`,
	`"model":"logistic","target":"yes","features":["x2","c","x1"],"radius":5,"batches":"one-pass","batch_size":2,"early_noise":0.1`,
	`"model":"linear","target":"y","features":["x1"],"radius":0.5,"l2":0.02,"batches":"one-pass","batch_size":6`,
}

// The gradient queries of the last-iterate descent move by at most what its event
// says, wherever in the ball the iterates are.
func TestLastIterateSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	m := planOnce{plans: map[string]sdk.Plan{}}
	largest := 0.0
	for trial := range 320 {
		records := make([]record, 20)
		for i := range records {
			records[i] = anyRecord(rng)
		}
		other := slices.Clone(records)
		changed := trial % 20
		other[changed] = anyRecord(rng)
		model := (lastModels[trial%len(lastModels)]) + `,"accounting":"last-iterate","steps":40`
		if trial%2 == 1 {
			model = inTurn[trial/2%len(inTurn)]
		}
		req := request(privacy.ReplaceOne, 20, `{%s}`, model)
		far := math.Exp2(float64(25 + rng.IntN(20)))
		left := script{noise: func(int) int64 { return int64(rng.NormFloat64() * far) }}
		a, err := sdktest.Run(m, req, table(records), &left)
		if err != nil {
			t.Fatal(err)
		}
		right := script{answers: left.gave}
		b, err := sdktest.Run(m, req, table(other), &right)
		if err != nil {
			t.Fatal(err)
		}
		e := a.Plan.Event.(privacy.LastIterate)
		bound := e.Step().Sensitivity.ReplaceOne
		qa, qb := queries(a.Calls), queries(b.Calls)
		if int64(len(qa)) != e.Calls() || int64(len(qb)) != e.Calls() {
			t.Fatal("the calls differ")
		}
		for i := range qa {
			f, _ := new(big.Float).SetInt(norm2(qa[i], qb[i])).Float64()
			if e.Batch > 0 && int64(i)%e.Batches() != int64(changed)/e.Batch && f != 0 {
				t.Fatalf("trial %d, step %d: moved by %g, and the record is no part of it", trial, i, math.Sqrt(f))
			}
			if largest = math.Max(largest, math.Sqrt(f)/bound); math.Sqrt(f) > bound {
				t.Fatalf("trial %d, step %d: moved by %g, %g is declared", trial, i, math.Sqrt(f), bound)
			}
		}
	}
	if largest < 0.5 {
		t.Errorf("the largest move is %.3g of the bound", largest)
	}
}

// The computed sum is the exact one, in rationals, to what is allowed for it.
func TestUnclippedIsTheGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	e, m := random(rng, 3000, 9, false)
	req := request(privacy.ReplaceOne, 3000, `{"model":"linear","target":"y","features":["x1"],"radius":2,"l2":0.1,"accounting":"last-iterate","steps":10}`)
	l, err := newLayout(req)
	if err != nil {
		t.Fatal(err)
	}
	l.encoder, l.iterate = e, privacy.LastIterate{Sigma: 0.01, N: 3000, StepSize: 1, Sensitivity: 4}
	g := newGradient(e, m, 1)
	g.lattice = l.lattice()
	w := make([]float64, 10)
	exactW := make([]*big.Rat, 10)
	for j := range w {
		w[j] = rng.NormFloat64() / 3
		exactW[j] = new(big.Rat).SetFloat64(w[j])
	}
	want := make([]*big.Rat, 10)
	for j := range want {
		want[j] = new(big.Rat)
	}
	unit := big.NewRat(1, 1<<rowBits)
	for i := range m.n {
		r := m.row(i)
		if r[m.width+1] == 0 {
			continue
		}
		k := []*big.Rat{new(big.Rat).Mul(new(big.Rat).SetFloat64(e.constant), unit)}
		for _, x := range r[:m.width] {
			k = append(k, new(big.Rat).Mul(new(big.Rat).SetFloat64(x), unit))
		}
		res := new(big.Rat).Neg(new(big.Rat).SetFloat64(r[m.width]))
		for j := range k {
			res.Add(res, new(big.Rat).Mul(k[j], exactW[j]))
		}
		for j := range k {
			want[j].Add(want[j], k[j].Mul(k[j], res))
		}
	}
	h := new(big.Rat).SetFloat64(g.lattice)
	squares := 0.0
	for j, v := range g.over(nil, w) {
		d, _ := new(big.Rat).Sub(new(big.Rat).SetInt64(v), want[j].Quo(want[j], h)).Float64()
		squares += d * d
	}
	rounded := (3000./together + 2*mostWorkers) * math.Sqrt(10) / 2
	if got := math.Sqrt(squares); got > rounded || got == 0 {
		t.Errorf("the sum is off by %g steps of the lattice, %g are allowed", got, rounded)
	}
}

// A step without noise brings two iterates together by at least the factor that the
// bound charges for, and leaves none outside the ball.
func TestStepContracts(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	records := make([]record, 50)
	for i := range records {
		records[i] = anyRecord(rng)
	}
	all := slices.Clone(inTurn)
	for _, model := range lastModels {
		all = append(all, model+`,"accounting":"last-iterate","steps":40`)
	}
	for _, model := range all {
		req := request(privacy.ReplaceOne, 50, `{%s}`, model)
		plan, err := Mechanism{}.Plan(req)
		if err != nil {
			t.Fatal(err)
		}
		l, err := newLayout(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.planned(plan.Event); err != nil {
			t.Fatal(err)
		}
		rows := table(records)
		var cols []sdk.Values
		for _, name := range plan.Columns {
			cols = append(cols, rows.Columns[name])
		}
		b := &sdk.Batch{Rows: 50, Columns: cols}
		m := newMatrix(l.encoder.Width)
		encoded := make([]float64, 50*m.stride)
		l.encoder.encode(b, encoded, m.stride, make([]bool, 50))
		m.add(encoded)
		g := newGradient(l.encoder, m, l.clip)
		g.lattice = l.lattice()
		e, radius := l.iterate, *l.params.Radius
		c := math.Max(math.Abs(1-e.StepSize*e.StrongConvexity), math.Abs(1-e.StepSize*e.Smooth))
		for range 200 {
			var at [2]*walk
			for i := range at {
				w := l.newWalk()
				for j := range w.at {
					w.at[j] = int64(rng.NormFloat64() * radius / w.step)
				}
				w.move(make([]int64, len(w.at))) // into the ball
				at[i] = w
			}
			before := distance(at[0].float, at[1].float)
			var batch []int64
			if l.params.inTurn() {
				batch = []int64{}
				for i := range l.schedule.batch {
					batch = append(batch, i)
				}
			}
			for _, w := range at {
				w.move(slices.Clone(g.over(batch, w.float)))
				if distance(w.float, make([]float64, len(w.at))) > radius*(1+1e-12) {
					t.Fatal("outside the ball")
				}
			}
			if after := distance(at[0].float, at[1].float); after > c*before*(1+1e-9)+1e-9 {
				t.Fatalf("%s: two iterates at %g are at %g after a step, c = %g", model, before, after, c)
			}
		}
	}
}

// What is charged for rounding is a small part of a percent, also of the most steps
// that can be planned.
func TestRoundingCostsLittle(t *testing.T) {
	for model, most := range map[string]float64{
		inTurn[0]: 1e-4, inTurn[2]: 1e-4, inTurn[3]: 1e-4,
		`"model":"logistic","target":"yes","features":["x1"],"radius":5,"l2":0.001,"batches":"cyclic","batch_size":10,"epochs":100`: 1e-3,
		`"model":"logistic","target":"yes","features":["x1"],"radius":5,"batches":"one-pass","batch_size":1,"early_noise":0.01`:     1e-4,
	} {
		req := request(privacy.ReplaceOne, 10_000, `{%s}`, model)
		_, plan, err := sdktest.Plan(Mechanism{}, req)
		if err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		with := plan.Event.(privacy.LastIterate)
		exact := with
		exact.Rounding = 0
		a, err1 := privacy.EpsilonAt(with, privacy.ReplaceOne, 1e-6)
		b, err2 := privacy.EpsilonAt(exact, privacy.ReplaceOne, 1e-6)
		if err1 != nil || err2 != nil || a.Epsilon < b.Epsilon || a.Epsilon > b.Epsilon*(1+most) {
			t.Errorf("%s: epsilon %v, %v of exact steps (%v, %v)", model, a.Epsilon, b.Epsilon, err1, err2)
		}
	}
}

// The next iterate is a function of where the noise puts it: two iterates, sums and
// noises that lead to the same place leave the same, and it is a whole number of steps.
func TestWalkStaysOnTheLattice(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for _, model := range inTurn {
		l, err := newLayout(request(privacy.ReplaceOne, 50, `{%s}`, model))
		if err != nil {
			t.Fatal(err)
		}
		l.iterate = l.bound(0.5)
		for range 200 {
			a, b := l.newWalk(), l.newWalk()
			sumA, sumB := make([]int64, len(a.at)), make([]int64, len(a.at))
			for j := range a.at {
				a.at[j], b.at[j] = rng.Int64N(1<<30), rng.Int64N(1<<30)
				to := int64(rng.NormFloat64() * l.walkRange())
				sumA[j] = a.at[j] - int64(math.RoundToEven(a.shrink*float64(a.at[j]))) - to
				sumB[j] = b.at[j] - int64(math.RoundToEven(b.shrink*float64(b.at[j]))) - to
			}
			a.move(sumA)
			b.move(sumB)
			if !slices.Equal(a.at, b.at) || !slices.Equal(a.float, b.float) {
				t.Fatalf("%v and %v from one place", a.at, b.at)
			}
			for j, x := range a.float {
				if x != float64(a.at[j])*a.step {
					t.Fatalf("coordinate %d is %g, %d steps of %g", j, x, a.at[j], a.step)
				}
			}
		}
	}
}

// walkRange is the radius in steps.
func (l *layout) walkRange() float64 { return *l.params.Radius / l.walkStep() }

func distance(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(s)
}

// Many steps cost no more than the bound for infinitely many: less noise than
// paying for each.
func TestLastIterateCostsLess(t *testing.T) {
	sigma := func(steps int) float64 {
		req := request(privacy.ReplaceOne, 1000, `{"model":"logistic","target":"yes","features":["x1"],"radius":5,"l2":0.1,"accounting":"last-iterate","steps":%d}`, steps)
		_, plan, err := sdktest.Plan(Mechanism{}, req)
		if err != nil {
			t.Fatal(err)
		}
		a, err := privacy.EpsilonAt(plan.Event, privacy.ReplaceOne, req.Target.Delta)
		if err != nil || a.Epsilon > req.Target.Epsilon || a.Epsilon < 0.999*req.Target.Epsilon {
			t.Errorf("%d steps: epsilon %v, %v", steps, a.Epsilon, err)
		}
		if _, err := privacy.EpsilonAt(plan.Event, privacy.AddRemove, req.Target.Delta); err == nil {
			t.Error("the bound is charged under add-remove")
		}
		return plan.Event.(privacy.LastIterate).Sigma
	}
	few, many := sigma(1000), sigma(100_000)
	near(t, "noise of 100,000 steps", many, few, 1e-6)
	if plain := sigma(1) * math.Sqrt(1000); few > plain/5 {
		t.Errorf("1000 steps need noise %g, %g if each is paid for", few, plain)
	}
}

func TestLastIterateRefusals(t *testing.T) {
	const model = `"model":"logistic","target":"yes","features":["x1"],"accounting":"last-iterate"`
	good := func(more string) sdk.PlanRequest { return request(privacy.ReplaceOne, 100, "{%s%s}", model, more) }
	both := good(`,"radius":1,"l2":0.1,"steps":10`)
	both.Public.SampleRelations = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	for name, c := range map[string]struct {
		req  sdk.PlanRequest
		want string
	}{
		"add-remove":  {request(privacy.AddRemove, 0, `{%s,"rows":100,"radius":1,"l2":0.1,"steps":10}`, model), "replace-one"},
		"both":        {both, "replace-one only"},
		"batches":     {good(`,"radius":1,"l2":0.1,"steps":10,"rate":0.5`), "rate 1"},
		"poisson":     {good(`,"radius":1,"l2":0.1,"batches":"poisson"`), "drawn afresh"},
		"paid twice":  {request(privacy.ReplaceOne, 100, `{"model":"logistic","target":"yes","features":["x1"],"accounting":"steps","batches":"cyclic"}`), "last iterate"},
		"few cycles":  {good(`,"radius":5,"batches":"cyclic","epochs":2`), "epochs: must be at least"},
		"no ball 2":   {good(`,"l2":0.1,"batches":"one-pass"`), "radius"},
		"long step 2": {good(`,"radius":1,"batches":"one-pass","step_size":20`), "step_size"},
		"two passes":  {good(`,"radius":1,"batches":"one-pass","epochs":2`), "epochs"},
		"part pass":   {good(`,"radius":1,"l2":0.1,"batches":"cyclic","epochs":2.5`), "epochs"},
		"steps":       {good(`,"radius":1,"l2":0.1,"batches":"cyclic","steps":7`), "steps"},
		"half record": {good(`,"radius":1,"l2":0.1,"batches":"cyclic","batch_size":2.5`), "batch_size"},
		"early":       {good(`,"radius":1,"l2":0.1,"batches":"cyclic","early_noise":0.5`), "early_noise"},
		"no noise":    {good(`,"radius":1,"batches":"one-pass","early_noise":0.0001`), "early_noise"},
		"clip 2":      {good(`,"radius":1,"batches":"one-pass","clip":1`), "clip"},
		"add-remove2": {request(privacy.AddRemove, 0, `{%s,"rows":100,"radius":1,"batches":"one-pass"}`, model), "replace-one"},
		"unknown":     {good(`,"radius":1,"batches":"shuffled"`), "batches"},
		"clip":        {good(`,"radius":1,"l2":0.1,"steps":10,"clip":1`), "clip"},
		"average":     {good(`,"radius":1,"l2":0.1,"steps":10,"average":true`), "average"},
		"no ball":     {good(`,"l2":0.1,"steps":10`), "radius"},
		"long step":   {good(`,"radius":1,"l2":0.1,"steps":10,"step_size":20`), "step_size"},
		"few steps":   {good(`,"radius":5,"steps":10`), "steps: must be at least"},
		"ball alone":  {request(privacy.ReplaceOne, 100, `{"model":"logistic","target":"yes","features":["x1"],"radius":1}`), "radius"},
		"other":       {request(privacy.ReplaceOne, 100, `{"model":"logistic","target":"yes","features":["x1"],"accounting":"none"}`), "accounting"},
		"no delta":    {noDelta(good(`,"radius":1,"l2":0.1,"steps":10`)), "delta"},
		"astronomic":  {request(privacy.ReplaceOne, 1<<50, "{%s%s}", model, `,"radius":1,"l2":0.1,"steps":10`), "precision"},
		"wide circle": {good(`,"radius":1e9,"l2":0.1,"steps":10`), "radius"},
	} {
		if _, err := (Mechanism{}).Plan(c.req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A plan that is another's, or has another noise, is not carried out.
	req := good(`,"radius":1,"l2":0.1,"steps":10`)
	l, err := newLayout(req)
	if err != nil {
		t.Fatal(err)
	}
	other := l.bound(1)
	other.Steps++
	for _, e := range []privacy.Event{other, privacy.Repeat{N: 10, Event: l.gaussian(1)}, privacy.Pure{Eps: 1}} {
		if err := l.planned(e); err == nil {
			t.Errorf("%s is carried out", fmt.Sprintf("%+v", e))
		}
	}
}

func noDelta(r sdk.PlanRequest) sdk.PlanRequest {
	r.Target.Delta = 0
	return r
}

// The conformance suite finds nothing, under either accounting.
func TestConformance(t *testing.T) {
	requests := []sdk.PlanRequest{
		request(privacy.AddRemove, 0, `{%s,"rows":9,"rate":0.4,"steps":3}`, models[0]),
		request(privacy.ReplaceOne, 9, `{%s,"rate":1,"steps":3}`, models[2]),
	}
	for _, m := range lastModels {
		requests = append(requests, request(privacy.ReplaceOne, 9, `{%s,"accounting":"last-iterate","steps":40}`, m))
	}
	for _, m := range inTurn {
		requests = append(requests, request(privacy.ReplaceOne, 9, `{%s}`, m))
	}
	sdktest.Test(t, Mechanism{}, sdktest.Config{Requests: requests, Seed: 5, Pairs: tier.Of(10, 60), Releases: 100})
}
