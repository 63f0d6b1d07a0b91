package sgd

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

var models = []string{
	`"model":"linear","target":"y","features":["x1","x2","c"],"log":["x2"]`,
	`"model":"linear","target":"x2","features":["x1"],"log":["x2"]`,
	`"model":"logistic","target":"yes","features":["x2","c","x1"]`,
	`"model":"logistic","target":"two","features":["c"],"positive":"no"`,
}

// norm2 is the exact squared distance of two queries.
func norm2(a, b []int64) *big.Int {
	sum := new(big.Int)
	for i := range a {
		d := new(big.Int).Sub(big.NewInt(a[i]), big.NewInt(b[i]))
		sum.Add(sum, d.Mul(d, d))
	}
	return sum
}

// Every gradient query moves by at most its declared sensitivity between
// neighbouring tables, under both relations, wherever the iterates are: they are
// sent to the same random places, near and far, on both. The calls are the same.
func TestSensitivity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const steps = 6
	largest := map[privacy.Relation]float64{}
	m := planOnce{plans: map[string]sdk.Plan{}}
	for trial := range 400 {
		rel := []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}[trial%2]
		n := 19
		records := make([]record, n, n+1)
		for i := range records {
			records[i] = anyRecord(rng)
		}
		other := append(slices.Clone(records), anyRecord(rng))
		population, rows := int64(0), `"rows":30,`
		if rel == privacy.ReplaceOne {
			records = append(records, anyRecord(rng))
			population, rows = int64(n+1), ""
		}
		model := rng.IntN(len(models))
		params := fmt.Sprintf(`{%s,%s"steps":%d,"rate":%s,"clip":%g,"step_size":%g}`, models[model], rows, steps,
			[]string{"0.3", "1"}[rng.IntN(2)], []float64{0.01, 0.7, 2, 30}[model], []float64{3, 1, 100, 0.2}[model])
		// The same records below the last are in the batch; the last is, or is not,
		// where it exists.
		var left, right script
		for range steps {
			batch := []int64{}
			for i := range n {
				if rng.IntN(3) == 0 {
					batch = append(batch, int64(i))
				}
			}
			withLast := append(slices.Clone(batch), int64(n))
			if rng.IntN(4) == 0 {
				withLast = batch
			}
			right.batches = append(right.batches, withLast)
			if rel == privacy.ReplaceOne {
				batch = withLast
			}
			left.batches = append(left.batches, batch)
		}
		far := math.Exp2(float64(rng.IntN(50)))
		left.noise = func(int) int64 { return int64(rng.NormFloat64() * far) }
		req := request(rel, population, "%s", params)
		a, err := sdktest.Run(m, req, table(records), &left)
		if err != nil {
			t.Fatalf("%s: %v", params, err)
		}
		right.answers = left.gave
		b, err := sdktest.Run(m, req, table(other), &right)
		if err != nil {
			t.Fatal(err)
		}
		ev := a.Calls[len(a.Calls)-1].Event.(privacy.DiscreteGaussian)
		bound := ev.Sensitivity.Under(rel)
		exact := new(big.Int).SetInt64(int64(bound))
		exact.Mul(exact, exact)
		qa, qb := queries(a.Calls), queries(b.Calls)
		if len(qa) != steps || len(qb) != steps || len(qa[0]) != len(qb[0]) {
			t.Fatalf("the calls differ: %d and %d queries", len(qa), len(qb))
		}
		for i := range qa {
			d := norm2(qa[i], qb[i])
			if d.Cmp(exact) > 0 {
				t.Fatalf("trial %d, step %d under %s: the sum moves by more than %g: %s", trial, i, rel, bound, params)
			}
			f, _ := new(big.Float).SetInt(d).Float64()
			largest[rel] = math.Max(largest[rel], math.Sqrt(f)/bound)
			if int64(len(qa[i])) > ev.Coordinates {
				t.Fatalf("a query of %d coordinates, %d declared", len(qa[i]), ev.Coordinates)
			}
		}
		if !reflect.DeepEqual(a.Result, b.Result) {
			t.Fatalf("the same noisy sums gave two results: something besides them is released")
		}
	}
	// The bound is attained but for rounding, so the test looks where it matters.
	for rel, share := range largest {
		if share < 0.99 {
			t.Errorf("under %s the largest move is %.3g of the bound", rel, share)
		}
	}
}

// Every row times its limit is within the norm, in exact arithmetic, and hardly
// less: on corners and on rows of every length.
func TestLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		k := make([]float64, 1+rng.IntN(40))
		e := &encoder{radius: math.Sqrt(float64(2 + len(k)))}
		e.constant = math.RoundToEven(math.Ldexp(1/e.radius, rowBits))
		for i := range k {
			k[i] = []float64{0, e.constant, -e.constant, math.RoundToEven((2*rng.Float64() - 1) * e.constant)}[rng.IntN(4)]
		}
		m := int64(e.limit(k))
		sum := new(big.Int)
		for _, x := range append([]float64{e.constant}, k...) {
			v := big.NewInt(int64(x))
			sum.Add(sum, v.Mul(v, v))
		}
		square := func(m int64) *big.Int {
			v := big.NewInt(m)
			return v.Mul(v, v).Mul(v, sum)
		}
		most := new(big.Int).Lsh(big.NewInt(1), 68)
		if square(m).Cmp(most) > 0 {
			t.Fatalf("m = %d leaves the norm", m)
		}
		if square(m+2).Cmp(most) <= 0 {
			t.Fatalf("m = %d could be larger by 2", m)
		}
	}
}

// The sharpest clip there is bounds a record whose residual is zero, and one whose
// residual is a whole range: at 1e-305 the first moved the sum by 2^63 steps.
func TestSharpestClip(t *testing.T) {
	for _, value := range []float64{y.Lower, (y.Lower + y.Upper) / 2, y.Upper} {
		req := request(privacy.ReplaceOne, 3, `{"model":"linear","target":"y","features":["x1"],"steps":2,"rate":1,"clip":%g}`, minClip)
		a, err := sdktest.Run(Mechanism{}, req, table([]record{{y: value}, {y: value}, {y: value}}), &script{})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queries(a.Calls) {
			if norm2(q, []int64{0, 0}).Cmp(new(big.Int).Mul(big.NewInt(9*normSteps), big.NewInt(normSteps))) > 0 {
				t.Errorf("three records at %g have the sum %d", value, q)
			}
		}
	}
}
