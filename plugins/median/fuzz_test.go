package median

import (
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// FuzzParams: no parameters make a plan panic, or one that is not well formed or
// spends more than its target.
func FuzzParams(f *testing.F) {
	for _, s := range []string{
		`{"column":"x"}`, `{"column":"x","quantiles":[0.1,1e-1,0.9999]}`, `{"column":"x","quantile":1e-999999999}`, `{"column":"x","quantile":"0.5"}`,
		`{"column":"x","method":"exponential","points":2}`, `{"column":"x","noise_share":1e-300}`, `{"column":"x","calibration":"published"}`, `{"column":"x","quantile":null}`, `[]`, `{`,
	} {
		f.Add(s, 1.0, 1e-6)
	}
	f.Fuzz(func(t *testing.T, params string, epsilon, delta float64) {
		req := request(params, privacy.AddRemove)
		req.Target = privacy.Point{Epsilon: epsilon, Delta: delta}
		_, plan, err := sdktest.Plan(Mechanism{}, req)
		if err != nil {
			return
		}
		if a, err := privacy.EpsilonAt(plan.Event, privacy.AddRemove, delta); err == nil && a.Epsilon > epsilon {
			t.Errorf("%s at (%v, %v) costs %v", params, epsilon, delta, a.Epsilon)
		}
	})
}
