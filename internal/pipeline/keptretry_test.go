package pipeline_test

import (
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// A retry is what it was, however much other jobs spent on the draw since: the noise,
// and with it the lattice, of a plan that is made today is another one (P21).
func TestRetryAfterOthersUsedTheDraw(t *testing.T) {
	tier.Full(t, "TestSecondRunReturnsTheSame")
	for _, kept := range []bool{true, false} {
		replace := []string{"limit: {epsilon: 4", "limit: {epsilon: 40"}
		if !kept {
			replace = append(replace, "  unit: row", "  unit: row\n  collected: {method: srswor, population: 61940}", "size: 800, keep: true", "size: 800")
		}
		first, _, later := keeping(t, replace...)
		o, err := run(t, first)
		if err != nil {
			t.Fatal(err)
		}
		id := ""
		if kept {
			id = o.Report.Draws[0].Kept.ID
		}
		job := func(name, epsilon string) string {
			replace := []string{"guarantee: {epsilon: \"0.5\"}", "guarantee: {epsilon: \"" + epsilon + "\"}"}
			if !kept {
				replace = append(replace, "{method: srswor, size: 800, keep: true}", "{method: srswor, size: 800}")
			}
			if name == "small" {
				replace = append(replace, "{name: api, from: panel, mechanism: mean, params: {column: api00}", "{name: api, from: panel, mechanism: randomized-response, params: {column: school_type}")
			}
			return later(id, name, replace...)
		}
		small := job("small", "0.1")
		for _, path := range []string{small, job("large", "12"), job("larger", "20")} {
			if _, err := run(t, path); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{first, small} {
			if again, err := run(t, path); err != nil || !again.Already {
				t.Errorf("kept %v: a retry: %v", kept, err)
			}
		}
	}
}
