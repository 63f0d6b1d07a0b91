package account

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestShownNumbers(t *testing.T) {
	for _, c := range []struct {
		x        float64
		up, down string
	}{
		{0, "0", "0"}, {1, "1", "1"}, {0.5, "0.5", "0.5"}, {1e-6, "1e-6", "1e-6"}, {0.0001, "0.0001", "0.0001"},
		{1.0000001, "1.00001", "1"}, {0.9999999, "1", "0.999999"}, {9999999, "10000000", "9999990"},
		{1234567.5, "1234570", "1234560"}, {math.Pi * 1e-12, "3.1416e-12", "3.14159e-12"}, {9.999999e20, "1e21", "9.99999e20"},
		{math.Inf(1), "∞", "∞"}, {1000, "1000", "1000"}, {123456, "123456", "123456"},
	} {
		if got := up(c.x); got != c.up {
			t.Errorf("up(%v) = %s, want %s", c.x, got, c.up)
		}
		if got := down(c.x); got != c.down {
			t.Errorf("down(%v) = %s, want %s", c.x, got, c.down)
		}
	}
}

// TestShownNumbersAreOutward: what is read never promises more than what was
// computed, and is off by less than one unit of the sixth digit.
func TestShownNumbersAreOutward(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) // feeds a test only
	for range 100000 {
		x := math.Exp(1400 * (r.Float64() - 0.5))
		hi, err1 := strconv.ParseFloat(up(x), 64)
		lo, err2 := strconv.ParseFloat(down(x), 64)
		if err1 != nil || err2 != nil || hi < x || lo > x || hi > x*(1+1.1e-5) || lo < x*(1-1.1e-5) {
			t.Fatalf("%v is shown as %s and %s", x, up(x), down(x))
		}
		if back, err := strconv.ParseFloat(shortest(x), 64); err != nil || back != x {
			t.Fatalf("%v is written as %s", x, shortest(x))
		}
	}
}
