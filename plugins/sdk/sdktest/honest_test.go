package sdktest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/plugins/bounds"
	counts "github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/distinct"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/marginals"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/randomizedresponse"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/regression"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest/insecureshelf"
	"github.com/dprelease/dprelease/plugins/sgd"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/variance"
	"github.com/dprelease/dprelease/privacy"
)

func unrefuted(t *testing.T, m sdk.Mechanism, cfg sdktest.Config) *sdktest.Report {
	t.Helper()
	r, err := sdktest.Check(context.Background(), sdktest.InProcess(m), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("seed %d: %s: %s\n%s\n%s", cfg.Seed, f.Check, f.Detail, f.Request, f.Tables)
	}
	return r
}

// TestHonest: mechanisms that keep their promises are left alone, and the suite sees
// nearly all that they declare being used up: it looks where it matters.
func TestHonest(t *testing.T) {
	for _, c := range []struct {
		mechanism sdk.Mechanism
		tight     string
	}{
		{insecureshelf.Sound(), "l1-sensitivity"}, {insecureshelf.SoundDescent(), "l2-sensitivity"}, {insecureshelf.SoundTurns(), ""}, {insecureshelf.SoundOwnNoise(), ""},
		{mean.Mechanism{}, "l1-sensitivity"}, {counts.Mechanism{}, "l1-sensitivity"},
		{sum.Mechanism{}, "l1-sensitivity"}, {proportion.Mechanism{}, "l1-sensitivity"}, {ratio.Mechanism{}, "l1-sensitivity"}, {variance.Mechanism{}, "l1-sensitivity"},
		{variance.SD(), "l1-sensitivity"}, {distinct.Mechanism{}, "l1-sensitivity"}, {histogram.Mechanism{}, "l1-sensitivity"},
		{marginals.Mechanism{}, "l2-sensitivity"}, {insecureshelf.SoundMargin(), "l2-sensitivity"}, {insecureshelf.SoundWeights(), "l1-sensitivity"},
		{median.Mechanism{}, "scores"}, {quantiles.Mechanism{}, "scores"}, {bounds.Mechanism{}, "scores"}, {randomizedresponse.Mechanism{}, "codes"}, {regression.Mechanism{}, "l2-sensitivity"}, {sgd.Mechanism{}, "l2-sensitivity"},
	} {
		t.Run(c.mechanism.Describe().Name, func(t *testing.T) {
			if fast := []string{"sound", "sum", "bounds", "randomized-response", "regression"}; testing.Short() && !slices.Contains(fast, c.mechanism.Describe().Name) {
				t.Skip("one mechanism for each kind of noise; the full tests run the suite on all")
			}
			cfg := sdktest.Config{Seed: 1}
			if c.mechanism == (sgd.Mechanism{}) {
				cfg = sdktest.Config{Seed: 1, Pairs: 12, Releases: 100} // hundreds of calls a release
			} else if testing.Short() {
				cfg.Releases = 100
			}
			r := unrefuted(t, c.mechanism, cfg)
			t.Logf("%d requests, %d pairs, %d calls, used %v", r.Requests, r.Pairs, r.Calls, r.Used)
			if c.tight != "" && r.Used[c.tight] < 0.99 {
				t.Errorf("%s: only %v of what is declared was seen", c.tight, r.Used[c.tight])
			}
			for _, s := range r.Statistics {
				t.Logf("%+v", s)
			}
		})
	}
}

// TestHonestOverSeeds: no seed of 200 makes tables on which they look dishonest.
func TestHonestOverSeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("TestHonest takes the same path with one seed")
	}
	for _, c := range []struct {
		mechanism       sdk.Mechanism
		requests, pairs int
	}{
		{insecureshelf.Sound(), 12, 12}, {insecureshelf.SoundDescent(), 2, 12}, {mean.Mechanism{}, 14, 8}, {counts.Mechanism{}, 14, 8},
		{sum.Mechanism{}, 8, 4}, {proportion.Mechanism{}, 8, 4}, {ratio.Mechanism{}, 8, 4}, {variance.Mechanism{}, 8, 4}, {distinct.Mechanism{}, 8, 4}, {histogram.Mechanism{}, 8, 4}, {marginals.Mechanism{}, 4, 4},
		{median.Mechanism{}, 6, 4}, {quantiles.Mechanism{}, 6, 4}, {bounds.Mechanism{}, 6, 4}, {randomizedresponse.Mechanism{}, 6, 4}, {regression.Mechanism{}, 8, 4}, {sgd.Mechanism{}, 1, 1}, // sgd calibrates its noise again in every release
	} {
		t.Run(c.mechanism.Describe().Name, func(t *testing.T) {
			requests, err := sdktest.Requests(context.Background(), sdktest.InProcess(c.mechanism), 1)
			if err != nil {
				t.Fatal(err)
			}
			requests = few(c.mechanism, requests, c.requests)
			if len(requests) == 0 {
				t.Fatal("no requests")
			}
			const seeds = 200
			r := unrefuted(t, c.mechanism, sdktest.Config{Seed: 1000, Seeds: seeds, Requests: requests, Pairs: c.pairs, Releases: -1})
			if least := seeds * len(requests) * c.pairs; r.Pairs < least {
				t.Errorf("%d pairs, want %d", r.Pairs, least)
			}
		})
	}
}

// few takes requests that have few calls.
func few(m sdk.Mechanism, all []sdk.PlanRequest, most int) []sdk.PlanRequest {
	var out []sdk.PlanRequest
	for _, req := range all {
		plan, err := m.Plan(req)
		if err != nil {
			continue
		}
		if r, ok := plan.Event.(privacy.Repeat); ok && r.N > 12 {
			continue
		}
		if out = append(out, req); len(out) == most {
			break
		}
	}
	return out
}
