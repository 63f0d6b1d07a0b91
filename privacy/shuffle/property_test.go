package shuffle

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

func TestVector(t *testing.T) {
	v, err := Epsilon(100_000, 4, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if v.Lower < 0.1675 || v.Upper > 0.1728 || v.Lower > v.Upper {
		t.Errorf("[%g, %g], want a part of [0.1675, 0.1728]", v.Lower, v.Upper)
	}
	c, err := ClosedForm(100_000, 4, 1e-6)
	if err != nil || math.Abs(c-0.5378) > 5e-5 {
		t.Errorf("closed form %g %v, want 0.5378", c, err)
	}
}

// Both analyses, with k = 0 for the clones.
func bound(n int64, k int, eps0, delta float64) (Interval, error) {
	if k == 0 {
		return Epsilon(n, eps0, delta)
	}
	return ResponseEpsilon(n, k, eps0, delta)
}

func TestMonotone(t *testing.T) {
	const slack = 3e-4 // the intervals of the numeric bounds
	for _, k := range tier.Some([]int{0, 2, 3, 20}, 2) {
		for _, eps0 := range []float64{0.01, 0.5, 2, 6} {
			last := math.Inf(1)
			for _, n := range []int64{1, 2, 7, 100, 3000, 20_000} {
				v, err := bound(n, k, eps0, 1e-6)
				if err != nil {
					t.Fatal(err)
				}
				if v.Upper > last*(1+slack) || v.Upper > eps0 || v.Lower > v.Upper {
					t.Errorf("k=%d n=%d eps0=%g: [%g, %g] after %g", k, n, eps0, v.Lower, v.Upper, last)
				}
				last = v.Upper
			}
		}
		for _, n := range []int64{10, 1000} {
			last := 0.0
			for _, eps0 := range []float64{1e-12, 1e-3, 0.1, 1, 3, 10, 100, 10_000} {
				v, err := bound(n, k, eps0, 1e-9)
				if err != nil {
					t.Fatal(err)
				}
				if v.Upper < last*(1-slack) || math.IsNaN(v.Upper) || v.Upper < 0 {
					t.Errorf("k=%d n=%d eps0=%g: %g after %g", k, n, eps0, v.Upper, last)
				}
				last = v.Upper
			}
			last = math.Inf(1)
			for _, delta := range []float64{1e-300, 1e-100, 1e-20, 1e-9, 1e-3, 0.5} {
				v, err := bound(n, k, 1, delta)
				if err != nil {
					t.Fatal(err)
				}
				if v.Upper > last*(1+slack) || math.IsNaN(v.Upper) {
					t.Errorf("k=%d n=%d delta=%g: %g after %g", k, n, delta, v.Upper, last)
				}
				last = v.Upper
			}
		}
	}
}

// A very large eps0 leaves no clones: what remains is the one report, not less.
func TestHugeEps0(t *testing.T) {
	for _, eps0 := range []float64{40, 100, 1000, 10_000} {
		for _, k := range []int{0, 2, 7} {
			v, err := bound(1000, k, eps0, 1e-6)
			if err != nil {
				t.Fatal(err)
			}
			if v.Upper < eps0-1e-4 || v.Upper > eps0 {
				t.Errorf("k=%d eps0=%g: %g", k, eps0, v.Upper)
			}
		}
	}
}

// Users beyond a billion are not counted, and nothing hangs.
func TestHugeN(t *testing.T) {
	a, err1 := Epsilon(1_000_000_000, 1, 1e-6)
	b, err2 := Epsilon(math.MaxInt64, 1, 1e-6)
	if err1 != nil || err2 != nil || b.Upper != a.Upper || b.Lower != 0 || !(a.Upper < 1e-4) {
		t.Errorf("%v %v %v %v", a, b, err1, err2)
	}
}

func TestInverse(t *testing.T) {
	for _, k := range []int{0, 2, 8} {
		for _, n := range tier.Of([]int64{1, 1000}, []int64{1, 1000, 20_000}) {
			for _, eps := range tier.Some([]float64{0.3, 0.01, 2}, 3) {
				const delta = 1e-6
				var eps0 float64
				var err error
				var at, above Interval
				if k == 0 {
					eps0, err = LargestLocal(n, eps, delta)
					at, _ = Delta(n, eps0, eps)
					above, _ = Delta(n, eps0*1.001, eps)
				} else {
					eps0, err = LargestLocalResponse(n, k, eps, delta)
					at, _ = ResponseDelta(n, k, eps0, eps)
					above, _ = ResponseDelta(n, k, eps0*1.001, eps)
				}
				if err != nil {
					t.Fatal(err)
				}
				if eps0 < eps || at.Upper > delta*(1+1e-3) || above.Upper < delta {
					t.Errorf("k=%d n=%d eps=%g: eps0 %g has delta %g, a little more has %g", k, n, eps, eps0, at.Upper, above.Upper)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, f := range map[string]func() error{
		"n":          func() error { _, err := Epsilon(0, 1, 1e-6); return err },
		"eps0":       func() error { _, err := Epsilon(10, -1, 1e-6); return err },
		"eps0 inf":   func() error { _, err := Delta(10, math.Inf(1), 1); return err },
		"eps0 nan":   func() error { _, err := Delta(10, math.NaN(), 1); return err },
		"delta":      func() error { _, err := Epsilon(10, 1, 1); return err },
		"eps":        func() error { _, err := Delta(10, 1, -1); return err },
		"k":          func() error { _, err := ResponseEpsilon(10, 1, 1, 1e-6); return err },
		"k delta":    func() error { _, err := ResponseDelta(10, 0, 1, 1); return err },
		"closed":     func() error { _, err := ClosedForm(1000, 4, 1e-6); return err },
		"closed 0":   func() error { _, err := ClosedForm(1000, 1, 0); return err },
		"inverse":    func() error { _, err := LargestLocal(0, 1, 0.1); return err },
		"inverse kr": func() error { _, err := LargestLocalResponse(10, 1, 1, 0.1); return err },
	} {
		if f() == nil {
			t.Errorf("%s: must be refused", name)
		}
	}
	if v, err := Epsilon(1000, 2, 0); err != nil || v.Upper != 2 {
		t.Errorf("delta 0: %v %v", v, err)
	}
}

func FuzzBounds(f *testing.F) {
	f.Add(int64(1), 0, 1.0, 1e-6)
	f.Add(int64(100_000), 0, 4.0, 1e-6)
	f.Add(int64(1000), 5, 2.0, 1e-300)
	f.Add(int64(20_000), 3, 1e-12, 0.5)
	f.Add(int64(9), 2, 1e4, 1e-9)
	f.Fuzz(func(t *testing.T, n int64, k int, eps0, delta float64) {
		if n > 100_000 || k > 10_000 || k < 0 || k == 1 {
			return
		}
		v, err := bound(n, k, eps0, delta)
		if err != nil {
			return
		}
		if !(v.Lower >= 0 && v.Lower <= v.Upper && v.Upper <= eps0) {
			t.Fatalf("n=%d k=%d eps0=%g delta=%g: %+v", n, k, eps0, delta, v)
		}
		var d Interval
		if k == 0 {
			d, err = Delta(n, eps0, v.Upper)
		} else {
			d, err = ResponseDelta(n, k, eps0, v.Upper)
		}
		if err != nil || d.Lower > delta*(1+1e-6) {
			t.Fatalf("n=%d k=%d eps0=%g delta=%g: epsilon %+v has delta %+v %v", n, k, eps0, delta, v, d, err)
		}
	})
}
