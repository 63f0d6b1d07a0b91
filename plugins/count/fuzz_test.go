package count

import (
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// FuzzParams: no parameters or bounds make a plan panic, or one that is not well
// formed or spends more than its target.
func FuzzParams(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"by":"g"}`, `{"by":["g","h"],"consistent":false}`, `{"by":null}`, `{"by":[null]}`, `{"by":["g","g"]}`, `{"by":"g","noise":"auto"}`, `[]`, `{`,
	} {
		f.Add(s, 1.0, -1.0, 3.0)
	}
	f.Fuzz(func(t *testing.T, params string, epsilon, lower, upper float64) {
		x := sdk.Column{Name: "x", Type: sdk.Number, Lower: lower, Upper: upper, Missing: sdk.MissingRefuse}
		req := request(params, 9, x, category("g", "a", "b"), category("h", "c", "d", "e"))
		req.Target = privacy.Point{Epsilon: epsilon} // no delta: laplace, which is quick to plan
		_, plan, err := sdktest.Plan(Mechanism{}, req)
		if err != nil {
			return
		}
		// The accountant rounds outward, by a unit or two in the last place.
		if a, err := privacy.EpsilonAt(plan.Event, privacy.ReplaceOne, 0); err != nil || a.Epsilon > epsilon*(1+1e-15) {
			t.Errorf("%s at ε=%v, [%v, %v] costs %v (%v)", params, epsilon, lower, upper, a.Epsilon, err)
		}
	})
}
