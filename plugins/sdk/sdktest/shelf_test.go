package sdktest_test

import (
	"context"
	"strings"
	"testing"

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
			r, err := sdktest.Check(context.Background(), sdktest.InProcess(s.Mechanism), sdktest.Config{Seed: 1, Releases: 300})
			if err != nil {
				t.Fatal(err)
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
