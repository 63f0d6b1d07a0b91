package plan

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	total "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

const spendingJob = `version: 1
job: spending
dataset:
  id: people
  source: {path: people.arrow}
  RELATION
  columns:
    income: {lower: 0, upper: 1000, assume: {mean: 40, sd: 30}}
    age: {lower: 0, upper: 120}
    sex: {domain: [f, m]}
budget: {LIMIT, SPEND}
samples:
  some: {method: poisson, rate: 0.2}
releases:
  - {name: incomes, mechanism: sum, params: {column: income}, weight: 2}
  - {name: counts, mechanism: count, params: {by: sex, noise: gaussian}}
  - {name: ages, from: some, mechanism: sum, params: {column: age}, weight: 0.5}
  - {name: middle, mechanism: median, params: {column: age}}
  - {name: own, mechanism: count, params: {by: sex}, guarantee: OWN}
output: {dir: out}
`

var spendingMechanisms = direct{"count": count.Mechanism{}, "sum": total.Mechanism{}, "median": median.Mechanism{}, "mean": mean.Mechanism{}}

func spending(t *testing.T, replace ...string) *job.Job {
	t.Helper()
	text := strings.NewReplacer(append(replace, "RELATION", "relation: replace-one\n  size: 10000", "LIMIT", `limit: {epsilon: 3, delta: "1e-5"}`,
		"SPEND", `spend: {epsilon: "1", delta: "1e-6"}`, "OWN", `{epsilon: "0.2"}`)...).Replace(spendingJob)
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

var (
	inRho   = []string{"LIMIT", "limit: {rho: 1}", "SPEND", `spend: {rho: "0.05"}`, "OWN", `{rho: "0.01"}`}
	secret  = []string{"RELATION", "relation: add-remove"}
	noDelta = []string{"SPEND", `spend: {epsilon: "1"}`, "gaussian", "laplace"}
)

// A job costs at most what it spends, and uses nearly all of it. Releases whose errors are
// public have relative errors in the proportions of the weights.
func TestSpendIsKept(t *testing.T) {
	for _, replace := range tier.Some([][]string{nil, noDelta, append(secret, inRho...)}, 3) {
		j := spending(t, replace...)
		p, err := Make(context.Background(), j, spendingMechanisms, nil)
		if err != nil {
			t.Fatalf("%v: %v", replace, err)
		}
		s := j.Budget.Spend
		if s.Rho != nil {
			cost, err := rhoOf(p.Event, j.Dataset.Relation)
			if err != nil || cost.Cmp(s.Rho) > 0 || new(big.Rat).Quo(cost, s.Rho).Cmp(big.NewRat(9, 10)) < 0 {
				t.Errorf("%v: costs ρ %v of %v (%v)", replace, cost, s.Rho, err)
			}
		} else {
			a, err := privacy.EpsilonAt(p.Event, j.Dataset.Relation, rational.Down(s.Delta))
			if err != nil || p.Answer.Epsilon > rational.Down(s.Epsilon) || p.Answer.Epsilon < 0.9*rational.Down(s.Epsilon) || p.Answer.Delta > rational.Down(s.Delta) {
				t.Errorf("%v: charged %v (by the events ε %v, %v)", replace, p.Answer, a.Epsilon, err)
			}
		}
		var errors []float64
		for _, r := range p.Releases() {
			if !r.Job.Shares {
				continue
			}
			w, _ := r.Job.Weight.Float64()
			if r.Balanced != (r.Job.Name != "middle") {
				t.Errorf("%v: %s is balanced: %v", replace, r.Job.Name, r.Balanced)
			} else if r.Balanced {
				errors = append(errors, r.Relative*w)
			}
		}
		for _, e := range errors {
			if math.Abs(e/errors[0]-1) > 0.05 {
				t.Errorf("%v: relative errors times weights are %v", replace, errors)
			}
		}
	}
}

// The twin: a division that does not take off what other releases are guaranteed, or that
// gives every release the whole, costs more than the job spends, and is refused.
func TestSpendIsComparedWithThePlan(t *testing.T) {
	for _, replace := range tier.Some([][]string{noDelta, nil, inRho}, 3) {
		j := spending(t, replace...)
		whole, _ := j.Rest()
		for name, broken := range map[string]job.Guarantee{"the rest": whole, "all of it": *j.Budget.Spend} {
			shared, err := j.Divide(broken, []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 1), big.NewRat(1, 1), big.NewRat(1, 1)})
			if err != nil {
				t.Fatal(err)
			}
			draft, err := newDraft(context.Background(), shared, spendingMechanisms, nil)
			if err != nil {
				t.Fatal(err)
			}
			p, err := draft.price(context.Background(), shared)
			if err != nil {
				t.Fatal(err)
			}
			err = p.withinSpend()
			if name == "the rest" && err != nil {
				t.Errorf("%v: %v", replace, err)
			}
			if name == "all of it" && j.Budget.Spend.Delta.Sign() == 0 && (err == nil || !strings.Contains(err.Error(), "more than budget.spend")) {
				t.Errorf("%v: a division of %s passes: %v", replace, name, err)
			}
		}
	}
}

// Shares never add up to more than the whole, exactly, and nearly use it up. To the nearest
// digit, which is the twin, they do.
func TestSharesAddUpToAtMostTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	j := spending(t)
	over := 0
	for range 500 {
		whole := job.Guarantee{Epsilon: big.NewRat(1+rng.Int64N(100_000), 1+rng.Int64N(1000)), Delta: big.NewRat(rng.Int64N(5), 1e9)}
		parts := make([]*big.Rat, 4)
		for i := range parts {
			parts[i] = new(big.Rat).SetFloat64(rng.ExpFloat64() + 1e-9)
		}
		shared, err := j.Divide(whole, parts)
		if err != nil {
			t.Fatal(err)
		}
		eps, delta, nearest := new(big.Rat), new(big.Rat), 0.0
		all := new(big.Rat).Add(new(big.Rat).Add(parts[0], parts[1]), new(big.Rat).Add(parts[2], parts[3]))
		at := 0
		for _, r := range shared.Releases {
			if !r.Shares {
				continue
			}
			eps.Add(eps, r.Guarantee.Epsilon)
			delta.Add(delta, r.Guarantee.Delta)
			share, _ := new(big.Rat).Quo(new(big.Rat).Mul(whole.Epsilon, parts[at]), all).Float64()
			unit := math.Pow(10, math.Floor(math.Log10(share))-3)
			nearest += math.Round(share/unit) * unit
			at++
		}
		used, _ := new(big.Rat).Quo(eps, whole.Epsilon).Float64()
		if eps.Cmp(whole.Epsilon) > 0 || delta.Cmp(whole.Delta) > 0 || used < 0.999 {
			t.Fatalf("shares add up to %v of %v", eps, whole.Epsilon)
		}
		if most, _ := whole.Epsilon.Float64(); nearest > most*(1+1e-12) {
			over++
		}
	}
	if over < 50 {
		t.Errorf("shares to the nearest digit exceed the whole in %d of 500 cases only", over)
	}
}

// The shares, and so the noise, are a function of the job: it is planned twice before a run
// may begin, and after a crash once more. They are no part of its digest.
func TestSharesAreAFunctionOfTheJob(t *testing.T) {
	var told []string
	for range 2 {
		j := spending(t, noDelta...)
		p, err := Make(context.Background(), j, spendingMechanisms, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Job.Digest() != j.Digest() {
			t.Error("the shares change the digest")
		}
		text := ""
		for _, r := range p.sharing() {
			text += rational.Format(r.Job.Guarantee.Epsilon) + " "
		}
		told = append(told, text)
	}
	if told[0] != told[1] {
		t.Errorf("shares are %s, and then %s", told[0], told[1])
	}
	plain, heavy := spending(t, noDelta...), spending(t, append([]string{"weight: 2", "weight: 3"}, noDelta...)...)
	if plain.Digest() == heavy.Digest() {
		t.Error("another weight has the same digest")
	}
}
