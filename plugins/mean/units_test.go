package mean

import (
	"testing"

	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// P22, P24: all units, under both relations, with and without a cap, behind a filter and by
// group; plans that leave out the cap, or that rows may vanish, do not hold.
func TestAllUnits(t *testing.T) {
	for _, b := range [][2]float64{{0, 1}, {100, 101}, {-3, 12}} {
		for _, missing := range []sdk.Missing{sdk.MissingRefuse, sdk.MissingDrop} {
			x := sdk.Column{Name: "x", Type: sdk.Number, Lower: b[0], Upper: b[1], Missing: missing}
			lineartest.Check(t, Mechanism{}, lineartest.Cases(`,"column":"x"}`, x)...)
			whole := lineartest.Request(`{"column":"x"}`, 7, x)
			lineartest.Check(t, Mechanism{}, lineartest.Case{Name: "whole table", Request: whole},
				lineartest.Case{Name: "whole table, cap", Request: lineartest.With(whole, 1, 3), Twins: map[string]sdk.PlanRequest{"no cap": whole}})
		}
	}
}
