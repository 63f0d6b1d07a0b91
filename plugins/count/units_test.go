package count

import (
	"testing"

	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// P22, P24: all units, under both relations, with and without a cap, behind a filter and by
// group; plans that leave out the cap do not hold.
func TestAllUnits(t *testing.T) {
	lineartest.Check(t, Mechanism{}, lineartest.Cases(`}`)...)
}

// P11: a row that a filter may drop, and that keeps its group, moves one cell. Where it may change its
// group, that is too little noise.
func TestFilteredRowsThatKeepTheirGroup(t *testing.T) {
	g := category("g", "a", "b", "c")
	g.Missing = sdk.MissingDrop
	kept := g
	kept.Immutable = true
	for _, noise := range []string{"laplace", "gaussian"} {
		free, stays := request(`{"by":"g","noise":"`+noise+`"}`, 7, g), request(`{"by":"g","noise":"`+noise+`"}`, 7, kept)
		lineartest.Check(t, Mechanism{}, lineartest.Case{Name: noise + ", kept", Request: stays})
		lineartest.Check(t, Mechanism{}, lineartest.Case{Name: noise + ", free", Request: free, Twins: map[string]sdk.PlanRequest{"taken for kept": stays}})
	}
}
