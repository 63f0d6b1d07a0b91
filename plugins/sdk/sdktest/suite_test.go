package sdktest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest/insecureshelf"
)

// transcript is a T that keeps what it is told.
type transcript struct{ errors, fatal, log []string }

func (*transcript) Helper()                  {}
func (*transcript) Context() context.Context { return context.Background() }
func (t *transcript) Errorf(f string, a ...any) {
	t.errors = append(t.errors, fmt.Sprintf(f, a...))
}
func (t *transcript) Fatalf(f string, a ...any) { t.fatal = append(t.fatal, fmt.Sprintf(f, a...)) }
func (t *transcript) Logf(f string, a ...any)   { t.log = append(t.log, fmt.Sprintf(f, a...)) }

func TestTestFails(t *testing.T) {
	var good, bad, none transcript
	sdktest.Test(&good, insecureshelf.Sound(), sdktest.Config{Seed: 1, Pairs: 20, Releases: -1})
	if len(good.errors)+len(good.fatal) > 0 || len(good.log) != 1 || !strings.HasPrefix(good.log[0], "NOT REFUTED") {
		t.Errorf("%+v", good)
	}
	for _, s := range insecureshelf.All() {
		if s.Name == "half-sensitivity" {
			sdktest.Test(&bad, s.Mechanism, sdktest.Config{Seed: 1, Pairs: 20, Releases: -1})
		}
	}
	if len(bad.errors) != 1 || !strings.Contains(bad.errors[0], "table A (0 rows)") || !strings.Contains(bad.errors[0], "table B (1 rows)") {
		t.Errorf("not the smallest counterexample: %q", bad.errors)
	}
	sdktest.Test(&none, stubborn{insecureshelf.Sound()}, sdktest.Config{})
	if len(none.fatal) != 1 {
		t.Errorf("a mechanism that refuses everything: %+v", none)
	}
}

// stubborn refuses everything.
type stubborn struct{ sdk.Mechanism }

func (stubborn) Plan(sdk.PlanRequest) (sdk.Plan, error) { return sdk.Plan{}, fmt.Errorf("no") }

// TestSameSeed: a counterexample can be found again.
func TestSameSeed(t *testing.T) {
	var texts []string
	for range 2 {
		for _, s := range insecureshelf.All() {
			if s.Name != "data-dependent-bins" {
				continue
			}
			r, err := sdktest.Check(t.Context(), sdktest.InProcess(s.Mechanism), sdktest.Config{Seed: 5, Releases: -1})
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(b))
		}
	}
	if len(texts) != 2 || texts[0] != texts[1] || !strings.Contains(texts[0], "l1-sensitivity") {
		t.Errorf("the same seed says\n%s", strings.Join(texts, "\n"))
	}
}

// claiming is the median with a claim about its split.
type claiming struct {
	median.Mechanism
	claim sdktest.SmoothClaim
}

func (c claiming) SmoothClaims(sdk.PlanRequest) ([]sdktest.SmoothClaim, error) {
	return []sdktest.SmoothClaim{c.claim}, nil
}

// TestSmoothClaims: where the split is claimed, it is held to it.
func TestSmoothClaims(t *testing.T) {
	all, err := sdktest.Requests(t.Context(), sdktest.InProcess(median.Mechanism{}), 1)
	if err != nil {
		t.Fatal(err)
	}
	var smooth []sdk.PlanRequest
	for _, req := range all {
		if req.Target.Delta > 0 && req.Public.Design.EqualWeights && req.Target.Epsilon == 1 && string(req.Params) == `{"column":"x","method":"smooth-laplace"}` {
			smooth = append(smooth, req)
		}
	}
	if len(smooth) == 0 {
		t.Fatal("no request for a smooth sensitivity")
	}
	for _, c := range []struct {
		claim sdktest.SmoothClaim
		found bool
	}{
		{sdktest.SmoothClaim{Beta: 0.5, Shift: 0.5}, false}, // beta is about 0.04
		{sdktest.SmoothClaim{Beta: 0.001, Shift: 0.5}, true},
		{sdktest.SmoothClaim{Beta: 0.5, Shift: 0.01}, true},
	} {
		r, err := sdktest.Check(t.Context(), sdktest.InProcess(claiming{claim: c.claim}), sdktest.Config{Seed: 1, Requests: smooth[:1], Releases: -1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Found("smooth-sensitivity") != c.found {
			t.Errorf("%+v: %+v", c.claim, r.Findings)
		}
	}
}

// TestRequestsCoverTheSchema: every parameter of a schema is tried, and every design.
func TestRequestsCoverTheSchema(t *testing.T) {
	all, err := sdktest.Requests(t.Context(), sdktest.InProcess(median.Mechanism{}), 1)
	if err != nil {
		t.Fatal(err)
	}
	params, designs := map[string]bool{}, map[string]bool{}
	for _, req := range all {
		var p map[string]any
		if err := json.Unmarshal(req.Params, &p); err != nil {
			t.Fatal(err)
		}
		for k := range p {
			params[k] = true
		}
		designs[req.Public.Design.Kind] = true
	}
	for _, d := range (median.Mechanism{}).Describe().Designs {
		if !designs[d] {
			t.Errorf("design %s is not tried", d)
		}
	}
	for _, p := range []string{"column", "quantile", "method"} {
		if !params[p] {
			t.Errorf("parameter %s is not tried: %v", p, params)
		}
	}
}
