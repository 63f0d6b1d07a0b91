package run

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
)

// A key is a whole number that no rounding may have made of another one, or it is missing: so two units never become one.
func TestKeysAreExact(t *testing.T) {
	x := []float64{1, math.Copysign(0, -1), -7, 1 << 53, 1<<53 - 1, 1 - 1<<53, 1.5, math.NaN(), math.Inf(1), 1e300}
	want := []struct {
		key int64
		ok  bool
	}{{1, true}, {0, true}, {-7, true}, {0, false}, {1<<53 - 1, true}, {1 - 1<<53, true}, {}, {}, {}, {}}
	got := keyOf(table.Values{Kind: table.Float, Float64: x}, len(x))
	for i, w := range want {
		if got.Null(i) == w.ok || w.ok && got.Int64[i] != w.key {
			t.Errorf("%v is the key %d, missing: %t", x[i], got.Int64[i], got.Null(i))
		}
	}
	big := keyOf(table.Values{Kind: table.Int, Unsigned: true, Int64: []int64{5, -1}}, 2) // the second is 2^64 - 1
	if big.Null(0) || big.Int64[0] != 5 || !big.Null(1) {
		t.Errorf("%v", big)
	}
}
