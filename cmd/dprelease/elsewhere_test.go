//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
)

// The tables of marginals share one budget: what their noises cost together is what was asked for. MST and AIM of
// another tool spent more (docs/sabotage.md).
func TestElsewhereSynthesis(t *testing.T) {
	for _, columns := range []string{"[day]", "[day, kind]", "[day, kind, zone]"} {
		path := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(path, []byte(`version: 1
job: synthesis
dataset:
  id: people
  source: {path: none.csv}
  relation: add-remove
  columns:
    day: {domain: [a, b, c]}
    kind: {domain: [u, v]}
    zone: {domain: [x, y, z, w]}
budget: {limit: {rho: "0.1"}}
releases:
  - {name: m, mechanism: marginals, params: {columns: `+columns+`, ways: 1}, guarantee: {rho: "0.1"}}
output: {dir: out}
`), 0o600); err != nil {
			t.Fatal(err)
		}
		exit, out, errs := reallyRun(t, []string{"plan", "--json", path})
		var r struct {
			Guarantee struct{ Event json.RawMessage }
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil || exit != 0 {
			t.Fatalf("exit %d: %v\n%s%s", exit, err, out, errs)
		}
		event, problems := expr.Parse(r.Guarantee.Event, "event")
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if rho := rhoOf(t, event); rho > 0.1*(1+1e-12) || rho < 0.099 {
			t.Errorf("%s: the noises cost ρ %v together, and 0.1 was asked for", columns, rho)
		}
	}
}

// rhoOf adds up what Gaussian noises cost, from their definition.
func rhoOf(t *testing.T, e privacy.Event) (rho float64) {
	t.Helper()
	switch e := e.(type) {
	case privacy.Compose:
		for _, part := range e.Events {
			rho += rhoOf(t, part)
		}
	case privacy.Repeat:
		rho = float64(e.N) * rhoOf(t, e.Event)
	case privacy.DiscreteGaussian:
		rho = e.Sensitivity.AddRemove * e.Sensitivity.AddRemove / (2 * e.Sigma * e.Sigma)
	case privacy.Gaussian:
		rho = e.Sensitivity.AddRemove * e.Sensitivity.AddRemove / (2 * e.Sigma * e.Sigma)
	default:
		t.Fatalf("%T among the noises of tables", e)
	}
	return rho
}
