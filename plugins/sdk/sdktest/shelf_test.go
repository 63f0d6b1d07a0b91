package sdktest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest/insecureshelf"
)

// TestShelf: every broken mechanism is caught, by the check that is named for it.
func TestShelf(t *testing.T) {
	all := insecureshelf.All()
	if len(all) < 20 {
		t.Fatalf("the shelf has only %d specimens", len(all))
	}
	for i, s := range all {
		if testing.Short() && (i%24 != 0 || strings.HasPrefix(s.Name, "quantiles-")) { // a minute
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			cfg := sdktest.Config{Seed: 1, Releases: 300}
			requests, err := sdktest.Requests(context.Background(), sdktest.InProcess(s.Mechanism), cfg.Seed)
			if err != nil {
				requests = nil
			}
			r := &sdktest.Report{}
			for _, req := range requests { // the first request on which it is caught is enough
				cfg.Requests = []sdk.PlanRequest{req}
				if one, err := sdktest.Check(context.Background(), sdktest.InProcess(s.Mechanism), cfg); err == nil && one.Found(s.Caught) {
					r = one
					break
				}
			}
			if cfg.Requests = nil; !r.Found(s.Caught) { // or all of them together
				if r, err = sdktest.Check(context.Background(), sdktest.InProcess(s.Mechanism), cfg); err != nil {
					t.Fatal(err)
				}
			}
			if !r.Found(s.Caught) {
				t.Errorf("%s: not caught by %s: %+v", s.Story, s.Caught, r.Findings)
			}
			for _, f := range r.Findings {
				t.Logf("%s: %s\n%s\n%s", f.Check, f.Detail, f.Request, f.Tables)
			}
		})
	}
}
