package sdktest

import (
	"context"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// T is the part of testing.TB that Test uses.
type T interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Test runs the suite on m and fails t with every counterexample.
func Test(t T, m sdk.Mechanism, cfg Config) {
	t.Helper()
	r, err := Check(t.Context(), InProcess(m), cfg)
	if err != nil {
		t.Fatalf("the suite could not be run: %v", err)
		return
	}
	for _, f := range r.Findings {
		t.Errorf("%s: %s\n%s\n%s", f.Check, f.Detail, f.Request, f.Tables)
	}
	t.Logf("%s: %d requests, %d pairs of tables, %d noise calls", r.Verdict(), r.Requests, r.Pairs, r.Calls)
}
