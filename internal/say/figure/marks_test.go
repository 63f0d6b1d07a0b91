package figure

import (
	"fmt"
	"math"
	"testing"
)

func TestEven(t *testing.T) {
	label := func(x float64) string { return fmt.Sprintf("%.6g", x) }
	for _, c := range [][2]float64{{0, 1}, {-1, 1}, {0, 0.3}, {1e-9, 5e-9}, {-7e6, 3}, {99, 101}} {
		ticks := Even(label).Ticks(c[0], c[1])
		if len(ticks) < 4 || len(ticks) > 14 {
			t.Errorf("%v has %d marks", c, len(ticks))
		}
		for _, m := range ticks {
			if m.Value < c[0]-1e-6*math.Abs(c[0]) || m.Value > c[1]+1e-6*math.Abs(c[1]) || m.Label == "" || m.Label == "-0" {
				t.Errorf("%v has a mark %q at %g", c, m.Label, m.Value)
			}
		}
	}
	if one := Even(label).Ticks(2, 2); len(one) != 1 || one[0].Label != "2" {
		t.Errorf("a point has the marks %v", one)
	}
}

func TestDecades(t *testing.T) {
	d := Decades{Most: 6, Label: func(k int) string { return fmt.Sprintf("1e%d", k) }, Else: Even(func(x float64) string { return "x" })}
	for _, c := range [][2]float64{{1e-3, 1}, {1e-30, 1}, {2e-300, 7}, {0.5, 200}} {
		labels := 0
		for _, m := range d.Ticks(c[0], c[1]) {
			if m.Label != "" {
				labels++
			}
		}
		if labels < 2 || labels > 8 {
			t.Errorf("%v has %d labels", c, labels)
		}
	}
	if got := d.Ticks(2, 8); len(got) == 0 || got[0].Label != "x" {
		t.Errorf("within a decade: %v", got)
	}
}

// An axis that begins at 0, or nowhere, has marks all the same, and few.
func TestDecadesFromNothing(t *testing.T) {
	d := Decades{Most: 6, Label: func(k int) string { return fmt.Sprintf("1e%d", k) }, Else: Even(func(x float64) string { return "x" })}
	for _, c := range [][2]float64{{0, 1}, {-1, 1}, {0, 0}, {1, math.Inf(1)}, {math.NaN(), 1}} {
		if n := len(d.Ticks(c[0], c[1])); n > 14 {
			t.Errorf("%v has %d marks", c, n)
		}
	}
}
