package rational

import (
	"math"
	"math/big"
	"testing"
)

func TestAmountIsExact(t *testing.T) {
	for text, want := range map[string]string{
		"0.1": "1/10", "1e-6": "1/1000000", "3": "3", "+.5": "1/2", "-2.50": "-5/2", "1.": "1", "1E+2": "100",
		"0.30000000000000004": "7500000000000001/25000000000000000",
	} {
		r, err := Parse(text)
		if err != nil || r.RatString() != want {
			t.Errorf("%s is %v (%v), want %s", text, r, err, want)
		}
	}
	for _, text := range []string{"", "e", ".", "1e", "1e+", "01", "1_0", "0x1", "1/2", "1 ", " 1", "1,5", "١", "1e401", "1e-401", "1e9999", "nan", "-inf", "--1"} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q is %v, want an error", text, r)
		}
	}
}

func TestFormat(t *testing.T) {
	for text, want := range map[string]string{
		"0.50": "0.5", "1e-7": "1e-07", "2.5e-9": "2.5e-09", "-2.5e-9": "-2.5e-09", "0.000001": "0.000001",
		"1000000": "1000000", "1e7": "1e+7", "12e8": "12e+8", "123.25": "123.25", "0": "0", "-3": "-3",
	} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := Format(r)
		if got != want {
			t.Errorf("%s prints %s, want %s", text, got, want)
		}
		if back, err := Parse(got); err != nil || back.Cmp(r) != 0 {
			t.Errorf("%s prints %s, which is another number (%v)", text, got, err)
		}
	}
	if got := Format(big.NewRat(1, 3)); got != "1/3" {
		t.Errorf("a third prints %s", got)
	}
}

// Down and Up are the neighbours of the exact number (P17).
func TestRounding(t *testing.T) {
	for _, text := range []string{"0.1", "0.3", "1e-300", "1e-330", "1e400", "-1e400", "3", "-0.1", "0.5", "123456789.123456789", "4.9e-324", "0"} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		down, up := Down(r), Up(r)
		if !math.IsInf(down, 0) && ratOf(down).Cmp(r) > 0 || math.IsInf(down, 1) {
			t.Errorf("Down(%s) = %g is above it", text, down)
		}
		if !math.IsInf(up, 0) && ratOf(up).Cmp(r) < 0 || math.IsInf(up, -1) {
			t.Errorf("Up(%s) = %g is below it", text, up)
		}
		if exact := ratOf(down).Cmp(r) == 0; exact != (down == up) {
			t.Errorf("Down and Up of %s are %g and %g", text, down, up)
		}
		if down != up && math.Nextafter(down, math.Inf(1)) != up {
			t.Errorf("Down and Up of %s are %g and %g: not neighbours", text, down, up)
		}
	}
}

// Nothing is nothing, in every direction.
func TestRoundingOfNothing(t *testing.T) {
	for _, f := range []float64{Up(new(big.Rat)), Down(new(big.Rat))} {
		if f != 0 || math.Signbit(f) {
			t.Errorf("0 is rounded to %v", f)
		}
	}
}
