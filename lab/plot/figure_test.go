package plot

import (
	"bytes"
	"math"
	"testing"
)

// Both ends of a logarithmic axis carry a label, and nothing lies outside.
func TestSnapped(t *testing.T) {
	for _, c := range [][2]float64{{0.3, 40}, {1e-9, 1}, {0.11, 0.19}, {1, 1000}, {2.1, 2.2}} {
		lo, hi := snapped(c[0], c[1])
		if lo > c[0] || hi < c[1] {
			t.Errorf("%v became [%g, %g]", c, lo, hi)
		}
		ticks := decades{}.Ticks(lo, hi)
		if len(ticks) < 2 || ticks[len(ticks)-1].Label == "" || math.Abs(ticks[len(ticks)-1].Value/hi-1) > 1e-9 || math.Abs(ticks[0].Value/lo-1) > 1e-9 {
			t.Errorf("%v: ticks %v in [%g, %g]", c, ticks, lo, hi)
		}
	}
	for _, x := range even.Ticks(-1, 1) {
		if x.Label == "-0" {
			t.Error("a tick says −0")
		}
	}
}

// What cannot be drawn is left out, and what is left is drawn the same each time.
func TestPointsThatCannotBeDrawn(t *testing.T) {
	draw := func() []byte {
		f := New(Axes{X: "x", Y: "y", LogX: true, LogY: true})
		f.Line("a", []float64{1, 2, 3, 4}, []float64{1, 0, math.NaN(), math.Inf(1)})
		f.Line("b", []float64{0, 1, 2, 3}, []float64{1, 2, 4, 8})
		f.Points("c", []float64{-1}, []float64{1})
		return f.SVG()
	}
	one := draw()
	if !bytes.Equal(one, draw()) || bytes.Contains(one, []byte("NaN")) {
		t.Error("the drawing changes, or holds NaN")
	}
	if bytes.Contains(one, []byte(">a<")) || !bytes.Contains(one, []byte(">b<")) {
		t.Error("the legend names a line that is not there, or leaves one out")
	}
}

// A density adds up to 1 but for the tails beyond the ends, violins are drawn for every name,
// and a row of figures is drawn the same each time.
func TestViolins(t *testing.T) {
	var values []float64
	for i := range 999 {
		values = append(values, math.Sqrt(2)*math.Erfinv(2*float64(i+1)/1000-1))
	}
	row := func() []byte {
		a, b := New(Axes{Title: "one", Y: "y"}), New(Axes{X: "x"})
		a.Violins([]string{"first", "second"}, [][]float64{values, values[:10]})
		a.Level("level", 0)
		b.Line("line", []float64{0, 1}, []float64{0, 1})
		return Row{a, b}.SVG()
	}
	svg := row()
	if !bytes.Equal(svg, row()) {
		t.Error("the same row was drawn twice in two ways")
	}
	for _, word := range []string{"first", "second", "one", "level"} {
		if !bytes.Contains(svg, []byte(word)) {
			t.Errorf("the row does not say %q", word)
		}
	}
	at, density := New(Axes{}).Density(values)
	sum := 0.0
	for i := 1; i < len(at); i++ {
		sum += (at[i] - at[i-1]) * (density[i] + density[i-1]) / 2
	}
	if math.Abs(sum-1) > 0.01 || math.Abs(density[len(density)/2]*math.Sqrt(2*math.Pi)-1) > 0.05 {
		t.Errorf("the density adds up to %.4f and is %.4f in the middle", sum, density[len(density)/2])
	}
}
