package sdktest_test

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	counts "github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/marginals"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest/insecureshelf"
	"github.com/dprelease/dprelease/plugins/sum"
)

// oneEach are a request whose number of rows is secret, and one whose number of rows is public.
func oneEach(t *testing.T, m sdk.Mechanism) []sdk.PlanRequest {
	all, err := sdktest.Requests(t.Context(), sdktest.InProcess(m), 1)
	if err != nil {
		t.Fatal(err)
	}
	var out [2][]sdk.PlanRequest
	for _, req := range all {
		at := 0
		if req.Public.Design.SampleSize > 1 {
			at = 1
		} else if req.Public.Design.LargestCount > 0 || req.Public.Cap != nil {
			continue
		}
		out[at] = append(out[at][:0], req)
	}
	if len(out[0]) != 1 || len(out[1]) != 1 {
		t.Fatal("not both kinds of request")
	}
	return append(out[0], out[1]...)
}

// A linear mechanism that is right on small tables is found on large ones, with the smallest table at which it is wrong
// where there is one; without large tables it is not.
func TestLargeTables(t *testing.T) {
	for _, s := range insecureshelf.All() {
		if !strings.Contains(s.Story, "large tables") || testing.Short() && s.Name != "sum-wrong-beyond-60000" && s.Name != "sum-wrong-by-hash" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			cfg := sdktest.Config{Seed: 1, Requests: oneEach(t, s.Mechanism), Pairs: 4, Releases: -1}
			r, err := sdktest.Check(t.Context(), sdktest.InProcess(s.Mechanism), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Found(s.Caught) {
				t.Fatalf("not found: %+v", r.Findings)
			}
			if f := r.Findings[0]; strings.HasSuffix(s.Name, "beyond-1500") &&
				(!strings.HasPrefix(f.Detail, "beside 1500 rows, one row more moves the query by ") || strings.Count(f.Tables, "\n") > 100) {
				t.Errorf("%s\n%s", f.Detail, f.Tables)
			}
			if cfg.Sizes = -1; !strings.HasSuffix(s.Name, "beyond-1500") {
				if r, err = sdktest.Check(t.Context(), sdktest.InProcess(s.Mechanism), cfg); err != nil || r.Refuted() {
					t.Errorf("without large tables: %+v, %v", r, err)
				}
			}
		})
	}
}

// Sound mechanisms stay unrefuted on large tables.
func TestLargeTablesHonest(t *testing.T) {
	for _, m := range tier.Some([]sdk.Mechanism{sum.Mechanism{}, counts.Mechanism{}, mean.Mechanism{}, marginals.Mechanism{}}, 4) {
		unrefuted(t, m, sdktest.Config{Seed: 3, Requests: oneEach(t, m), Pairs: 1, Releases: -1})
	}
}
