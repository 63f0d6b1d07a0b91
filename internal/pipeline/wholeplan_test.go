package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomReleases asks for one to three releases from the sample s.
func randomReleases(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		params, delta := pick(r, "mean, params: {column: api00}", "mean, params: {column: api00, noise: gaussian}", "median, params: {column: api00, method: exponential}"), ""
		if strings.Contains(params, "gaussian") || r.IntN(3) == 0 {
			delta = ", delta: " + pick(r, "1e-9", "1e-5", "1e-3", "0.02")
		}
		fmt.Fprintf(&b, "  - {name: r%d, from: s, mechanism: %s, guarantee: {epsilon: %s%s}}\n", i, params, pick(r, "0.000001", "0.001", "0.05", "0.3", "1", "3", "8", "20"), delta)
	}
	return b.String()
}

var secretSize = []string{"relation: replace-one\n  size: 6194", "relation: add-remove\n  at_least: 6194", "dataset:", "dataset:"}

// Of whole plans, drawn at random with rates and sizes at the edge: what is printed of
// a job, and of each of its releases alone, is never less than what some record can be
// told by, whichever method priced it: events, shares, or a raised budget.
func TestRandomPlansAgainstAttacks(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	tries := tier.Of(8, 20)
	raised, tight, plans := 0, 0, 0
	for range tries {
		sample := pick(rng, "poisson, rate: 0.000001", "poisson, rate: 0.0001", "poisson, rate: 0.05", "poisson, rate: 0.4", "poisson, rate: 0.7", "poisson, rate: 0.99", "poisson, rate: 1",
			"srswor, size: 1", "srswor, size: 2", "srswor, size: 600", "srswor, size: 6193", "srswor, size: 6194")
		replace := []string{"limit: {epsilon: 2}", "limit: {epsilon: 99, delta: 0.2}"}
		relation := privacy.ReplaceOne
		if rng.IntN(3) == 0 {
			relation = privacy.AddRemove
			replace = append(replace, secretSize...)
		}
		text := randomReleases(rng, 1+rng.IntN(3))
		path := design(t, "samples: {s: {method: "+sample+"}}\n", text, replace...)
		p, err := plan(t, path)
		if err != nil {
			// A δ that allows everything at such a rate is refused, and nothing else.
			if exit, code := exitOf(err); exit != failure.ExitInvalidJob || !strings.Contains(err.Error(), ": samples.s: the delta of its releases") {
				t.Errorf("%s, %s\n%s: %s %v", sample, relation, text, code, err)
			}
			continue
		}
		r := p.Report()
		check := func(what string, g report.Guarantee) {
			d := drawnBy(t, g.Event)
			replace := relation == privacy.ReplaceOne
			if found := strongest(t, g.Epsilon, replace, d); found > g.Delta*(1+1e-9)+rounding(g.Epsilon) {
				t.Errorf("%s, %s, %s\n%s: charged (%g, %g), true δ %g", sample, relation, what, text, g.Epsilon, g.Delta, found)
			}
			plans++
			if strongest(t, g.Epsilon*0.9, replace, d) > g.Delta+rounding(g.Epsilon) {
				tight++
			}
		}
		check("job", r.Guarantee)
		for _, x := range r.Releases {
			check(x.Name, x.Guarantee)
		}
		if r.Draws[0].SampleArrival != nil {
			raised++
		}
	}
	if raised == 0 || tier.Of(3, 2)*tight < plans {
		t.Errorf("of %d figures %d would be found too small at nine tenths, %d plans were raised", plans, tight, raised)
	}
}

// Of sequences of jobs on one draw that is kept, or on a table that is itself a
// sample, beside releases from the whole table: what the account holds in the end is
// never less than what some record can be told by from all of it.
func TestRandomSequencesAgainstAttacks(t *testing.T) {
	tier.Full(t, "TestRandomPlansAgainstAttacks")
	rng := rand.New(rand.NewPCG(31, 7))
	tight, done := 0, 0
	for range 3 {
		sample := pick(rng, "poisson, rate: 0.02", "poisson, rate: 0.6", "poisson, rate: 0.98", "srswor, size: 60", "srswor, size: 3000", "srswor, size: 6194", "collected")
		replace := []string{"limit: {epsilon: 4, delta: 1e-5}", "limit: {epsilon: 99, delta: 0.5}"}
		relation := privacy.ReplaceOne
		switch {
		case sample == "collected":
			replace = append(replace, "  unit: row", "  unit: row\n  collected: {method: srswor, population: 20000}", "samples:\n  panel: {method: srswor, size: 800, keep: true}\n", "", "from: panel", "from: all")
		case rng.IntN(3) == 0:
			relation = privacy.AddRemove
			replace = append(replace, "relation: replace-one\n  size: 6194", "relation: add-remove\n  at_least: 6194")
		}
		replace = append(replace, "method: srswor, size: 800", "method: "+sample)
		_, at, _ := keeping(t)
		id, told := "", []drawing{{q: 1}, {q: 1}}
		for i := range 2 + rng.IntN(2) {
			text := strings.NewReplacer("job: first", fmt.Sprintf("job: j%d", i)).Replace(keepJob)
			params := pick(rng, "mean, params: {column: api00}", "mean, params: {column: api00, noise: gaussian}", "median, params: {column: api00, method: exponential}")
			target := "epsilon: " + pick(rng, "0.01", "0.4", "2", "6")
			if strings.Contains(params, "gaussian") || rng.IntN(3) == 0 {
				target += ", delta: " + pick(rng, "1e-7", "1e-4", "0.01")
			}
			text = strings.Replace(text, `mean, params: {column: api00}, guarantee: {epsilon: "0.5"}`, params+", guarantee: {"+target+"}", 1)
			if sample != "collected" && rng.IntN(2) == 0 {
				text = strings.Replace(text, "output:", "  - {name: whole, mechanism: mean, params: {column: api00}, guarantee: {epsilon: 0.3}}\noutput:", 1)
			}
			if id != "" {
				text = strings.Replace(text, "{method: srswor, size: 800, keep: true}", "{method: kept, id: "+id+"}", 1)
			}
			// Two rounds: the names of the sample are replaced before its method.
			text = strings.NewReplacer(replace...).Replace(text)
			o, err := run(t, write(t, text, "LEDGER", at))
			if err != nil {
				t.Logf("%s, %s: %v", sample, relation, err)
				continue
			}
			for _, d := range o.Report.Draws {
				if d.Kept != nil {
					id = d.Kept.ID
				}
			}
			for _, x := range o.Report.Releases {
				d, k := drawnBy(t, x.Guarantee.Event), 0
				if x.From == "all" && sample != "collected" {
					k = 1
				}
				told[k].q, told[k].fixed, told[k].events = d.q, d.fixed, append(told[k].events, d.events...)
			}
		}
		accounts, err := openAt(t, at).Accounts(background)
		if err != nil || len(accounts) != 1 {
			t.Logf("%s, %s: no job was done", sample, relation)
			continue
		}
		eps, _ := accounts[0].Spent[0].Float64()
		delta, _ := accounts[0].Spent[1].Float64()
		if found := strongest(t, eps, relation == privacy.ReplaceOne, told...); found > delta*(1+1e-9)+rounding(eps) {
			t.Errorf("%s, %s: %+v: charged (%g, %g), true δ %g", sample, relation, told, eps, delta, found)
		}
		if done++; strongest(t, eps*0.8, relation == privacy.ReplaceOne, told...) > delta+rounding(eps) {
			tight++
		}
	}
	if done == 0 || tight == 0 {
		t.Errorf("of %d sequences %d would be found too small at eight tenths", done, tight)
	}
}
