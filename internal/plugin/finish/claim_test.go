package finish

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// The host finds the reach of expressions, and plugins/linear that of its own vectors. Where both speak of the same vectors they say the same.
func TestClaimsAreThoseOfLinear(t *testing.T) {
	stays := group("a", "b", "c")
	stays.Immutable = true
	cases := 0
	for _, columns := range [][]sdk.Column{nil, {group("a")}, {group("a", "b")}, {group("a", "b", "c")}, {stays}} {
		for _, limit := range []*sdk.Cap{nil, {Groups: 1, Rows: 1}, {Groups: 1, Rows: 2}, {Groups: 2, Rows: 1}, {Groups: 2, Rows: 3, Times: 2},
			{Groups: 9, Rows: 2}} {
			for _, ranges := range [][][2]int64{{{0, 1}}, {{-2, 3}}, {{-3, 0}}, {{0, 1}, {-2, 2}}, {{-1, 4}, {0, 7}, {-5, 5}}} {
				for _, places := range []int64{1, 4} {
					if places > 1 && (len(ranges) > 1 || ranges[0][0] != 0) {
						continue
					}
					public := publicOf(slices.Concat([]sdk.Column{x(-9, 9)}, columns)...)
					public.Cap = limit
					query, by, cells := sdk.Query{}, "", linear.Cells{N: 1, Groups: columns}
					for _, r := range ranges {
						query.Coordinates = append(query.Coordinates, sdk.Coordinate{Value: "x", Low: float64(r[0]), High: float64(r[1]), Lattice: 1})
					}
					reach := linear.Box(ranges...)
					if places > 1 {
						query.Cells = []sdk.Split{{Value: "x", Count: places}}
						reach = linear.Simplex(int(places), 1, ranges[0][1])
					}
					if columns != nil {
						by, cells.N = "g", len(columns[0].Domain)
					}
					q, err := NewQueries(planOf(query), public, by, 1)
					if err != nil {
						t.Fatal(err)
					}
					units := cells.Units(public)
					units.Leaves = true // the host plans as for rows that may vanish
					if got, want := q.Claims[0], reach.Claim(units); got != want {
						t.Errorf("%s, %d places, by %v, cap %+v: %+v, and linear says %+v", fmt.Sprint(ranges), places, columns, limit, got, want)
					}
					cases++
				}
			}
		}
	}
	if cases < 150 {
		t.Errorf("only %d cases", cases)
	}
}
