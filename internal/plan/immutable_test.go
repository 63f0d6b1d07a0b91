package plan

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
)

const immutableJob = `version: 1
job: groups
dataset:
  id: people
  source: {path: people.arrow}
  relation: replace-one
  size: 1000COLLECTED
  columns: {region: {domain: [north, south], immutable: true}}
budget: {limit: {epsilon: 10}}
samples:
  srs: {method: srswor, size: 100}
  pois: {method: poisson, rate: 0.5}
releases:
  - {name: all, from: table, mechanism: count, params: {by: region}, guarantee: {epsilon: 1}}
  - {name: some, from: srs, mechanism: count, params: {by: region}, guarantee: {epsilon: 1}}
  - {name: half, from: pois, mechanism: count, params: {by: region}, guarantee: {epsilon: 1}}
output: {dir: out}
`

// In a sample of fixed size another unit, of another group, takes the place of the
// one that is left out: there no group is fixed, whatever the table says (P3, P11).
func TestImmutableOnlyWhereTheUnitStays(t *testing.T) {
	for _, c := range []struct {
		collected, sample string
		want              bool
	}{
		{"", "table", true}, {"", "pois", true}, {"", "srs", false},
		{"\n  collected: {method: srswor, population: 5000}", "table", false},
	} {
		j, err := job.Parse("job.yaml", []byte(strings.Replace(immutableJob, "COLLECTED", c.collected, 1)), job.Options{})
		if err != nil {
			t.Fatal(err)
		}
		design, err := newDesign(j, c.sample, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := public(j, &Draw{Design: design}).Columns[0].Immutable; got != c.want {
			t.Errorf("%s%s: immutable %v, want %v", c.sample, c.collected, got, c.want)
		}
	}
}
