package plan

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/bounds"
	"github.com/dprelease/dprelease/plugins/sdk"
	total "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/samplers"
)

// unnamed sums the column x, which its params do not name.
type unnamed struct{ total.Mechanism }

func (u unnamed) Describe() sdk.Description {
	d := u.Mechanism.Describe()
	d.Params = json.RawMessage(`{"type": "object"}`)
	return d
}

func (u unnamed) Plan(r sdk.PlanRequest) (sdk.Plan, error) {
	r.Params = json.RawMessage(`{"column": "x"}`)
	return u.Mechanism.Plan(r)
}

const boundedJob = `version: 1
job: bounded
dataset:
  id: people
  source: {path: people.csv}
  relation: add-remove
  columns:
    x: {bounds: {private: {epsilon: "0.5"}, at_most: 1e6}, missing: drop}
budget: {limit: {epsilon: 10}}
samples:
  first: {method: poisson, rate: 0.2}
  second: {method: poisson, rate: 0.2}
releases:
  - {name: a, from: first, mechanism: FIRST, params: {column: x}, guarantee: {epsilon: 1}}
  - {name: b, from: second, mechanism: SECOND, params: {column: x}, guarantee: {epsilon: 1}}
output: {dir: out}
`

// Values are divided by a bound, so the bound must be found before they are read: the noise is that of values up to 1.
func TestTheBoundIsFoundFirst(t *testing.T) {
	set := direct{"sum": total.Mechanism{}, "unnamed": unnamed{}, "bounds": bounds.Mechanism{}}
	for _, c := range []struct {
		first, second string
		good          bool
	}{{"sum, params: {column: x}", "sum, params: {column: x}", true}, {"sum, params: {column: x}", "unnamed", true}, {"unnamed", "sum, params: {column: x}", false}} {
		text := strings.NewReplacer("FIRST, params: {column: x}", c.first, "SECOND, params: {column: x}", c.second).Replace(boundedJob)
		j, err := language.Parse("job.yaml", []byte(text), language.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Make(t.Context(), j, set, nil); (err == nil) != c.good {
			t.Errorf("%s, then %s: %v", c.first, c.second, err)
		}
	}
}

// A mechanism is told the bounds to which values are clipped: the float64 numbers next to the exact bounds, inside of them (P17).
func TestToldBoundsAreInside(t *testing.T) {
	design, err := samplers.NewFull(10)
	if err != nil {
		t.Fatal(err)
	}
	exactly := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for n := int64(1); n < 40; n++ {
		for _, sign := range []int64{-1, 1} {
			lower, upper := big.NewRat(sign*n-20, 30), big.NewRat(sign*n+1, 30)
			j := &job.Job{Dataset: job.Dataset{Size: 10, Columns: []job.Column{{Name: "x", Type: job.Number, Lower: lower, Upper: upper}}}}
			c := planned.Facts(j, design, nil, &job.Release{}).Columns[0]
			if exactly(c.Lower).Cmp(lower) < 0 || exactly(math.Nextafter(c.Lower, math.Inf(-1))).Cmp(lower) >= 0 ||
				exactly(c.Upper).Cmp(upper) > 0 || exactly(math.Nextafter(c.Upper, math.Inf(1))).Cmp(upper) <= 0 {
				t.Errorf("%s to %s is told as %.20g to %.20g", lower, upper, c.Lower, c.Upper)
			}
		}
	}
}
