package planned

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/samplers"
)

const weighted = `version: 1
job: demo
dataset:
  id: people
  source: {path: none.csv}
  relation: replace-one
  size: 1000
  weights: {column: w, at_most: 40, shrink: {to: 20.7, keep: 0.3}}
  columns:
    w: {type: number}
    age: {lower: 0, upper: 120}
budget: {limit: {epsilon: 30, delta: "0.1"}}
samples: {s: {method: srswor, size: 100}}
releases:
  - {name: r, from: s, mechanism: mean, params: {column: age}, guarantee: {epsilon: 1, delta: "1e-6"}}
output: {dir: out}
`

// No weight, however odd, leaves the public bounds, and none falls as the survey's grows. A
// weigher that does not clip leaves them.
func TestWeigherKeepsToItsBounds(t *testing.T) {
	j, err := language.Parse("job.yaml", []byte(weighted), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	design, err := samplers.NewSRSWOR(100, 1000)
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewWeigher(j, design, &j.Releases[0])
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	loose := *g
	loose.low, loose.high = math.Inf(-1), math.Inf(1)
	caught, before := false, g.Least
	for i := range 100_000 {
		w := float64(i) / 1000
		if i%10 == 0 {
			if v := g.Of(w); v < before {
				t.Fatalf("%v falls at %v", v, w)
			} else {
				before = v
			}
		}
		odd := []float64{w, -w, math.Exp2(rng.Float64()*2000 - 1000), math.MaxFloat64, 0}[i%5]
		if v := g.Of(odd); !(v >= g.Least && v <= g.Most) || v != math.Round(v/g.times/g.Step)*g.Step*g.times {
			t.Fatalf("a weight of %v becomes %v, not in [%v, %v]", odd, v, g.Least, g.Most)
		}
		v := loose.Of(odd)
		caught = caught || v > g.Most || v < g.Least
	}
	if !caught {
		t.Error("a weigher that does not clip is not caught")
	}
}
