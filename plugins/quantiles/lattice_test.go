package quantiles

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// TestLattice: values ascend, lie within the bounds, are found again, and numbers between
// them go to the nearest.
func TestLattice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		lower, upper, step float64
		groups             int
	}{
		{0, 1000, 0, 1}, {0, 100_000, 0, 50}, {-1000, 1000, 0, 1}, {-3, 70_000, 0, 1}, {200, 1000, 0, 1}, {200, 1000, 1, 1}, {0, 5000, 0.01, 1},
		{1e6, 1e6 + 1, 0, 1}, {-1e-7, 1e-9, 0, 3}, {-1000, -200, 0, 1}, {-70_000, -3, 0, 1}, {0.5, 99.5, 1, 1}, {0, 1, 0.3, 1}, {0, 1e12, 0, 20_000}, {0, 1e299, 0, 1},
		{0, 200_000, 0.01, 1}, {0, 200_000, 0.01, 1 << 20}, {-4e9, 6e9, 0.01, 3},
	} {
		l, err := newLattice(sdk.Column{Name: "x", Lower: c.lower, Upper: c.upper}, c.step, c.groups)
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if l.cells < 2 || l.cells > mostMultiples || c.step == 0 && l.cells > mostCells/int64(c.groups) {
			t.Errorf("%v: %d cells", c, l.cells)
		}
		check := func(i int64) {
			if i < 0 || i >= l.cells {
				return
			}
			x := l.value(i)
			if x < c.lower || x > c.upper || i > 0 && l.value(i-1) >= x {
				t.Errorf("%v: value %d is %v, before it %v", c, i, x, l.value(max(0, i-1)))
			}
			if got := l.cell(x); got != i {
				t.Errorf("%v: value %d, %v, is in cell %d", c, i, x, got)
			}
		}
		for _, s := range l.stretches {
			for d := int64(-2); d <= 2; d++ {
				check(s.at + d)
				check(2*l.stretches[0].at - s.at + d)
			}
		}
		check(0)
		check(l.cells - 1)
		for range 2000 {
			i := rng.Int64N(l.cells)
			check(i)
			y := c.lower + (c.upper-c.lower)*math.Pow(rng.Float64(), 3)
			if i = l.cell(y); i > 0 && i < l.cells-1 {
				here := math.Abs(l.value(i) - y)
				if here > math.Abs(l.value(i-1)-y)*(1+1e-9) || here > math.Abs(l.value(i+1)-y)*(1+1e-9) {
					t.Errorf("%v: %v goes to %v, not to %v or %v", c, y, l.value(i), l.value(i-1), l.value(i+1))
				}
			}
		}
	}
	// Decimals are released as they are written.
	l, err := newLattice(sdk.Column{Lower: 0, Upper: 5000}, 0.01, 1)
	if err != nil || l.value(l.cell(0.57)) != 0.57 || l.value(l.cell(1234.56)) != 1234.56 {
		t.Error(l.value(l.cell(0.57)), err)
	}
	for _, c := range []struct {
		lower, upper, step float64
		groups             int
	}{{0, 1, 2, 1}, {0, 1e11, 0.01, 1}, {0, 1, 1e-320, 1}, {1e15, 1e15 + 1e6, 0.1, 1}, {0, 1000, 0, 1 << 20}, {0, 0x1p-1070, 0, 1}} {
		if _, err := newLattice(sdk.Column{Lower: c.lower, Upper: c.upper}, c.step, c.groups); err == nil {
			t.Errorf("%v is accepted", c)
		}
	}
}
