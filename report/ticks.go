package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
)

// even labels about five multiples of 1, 2 or 5 times a power of ten.
type even struct{}

// Ticks are the round numbers inside [lo, hi].
func (even) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) {
		return []plot.Tick{{Value: lo, Label: trim(lo)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, m := range []float64{5, 2} {
		if (hi-lo)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	var out []plot.Tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi*(1+1e-9) && len(out) < 12; i++ {
		out = append(out, plot.Tick{Value: i*step + 0, Label: plain(math.Abs(i)*step*sign(i), 6)})
	}
	return out
}

func sign(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}

// decades labels powers of ten, at most about six of them.
type decades struct{}

// Ticks are the powers of ten inside [lo, hi], or round numbers where there are
// fewer than two.
func (decades) Ticks(lo, hi float64) []plot.Tick {
	first, last := math.Ceil(math.Log10(lo)-1e-9), math.Floor(math.Log10(hi)+1e-9)
	if last-first < 1 {
		return even{}.Ticks(lo, hi)
	}
	step := math.Max(1, math.Ceil((last-first)/6))
	var out []plot.Tick
	for k := last; k >= first; k-- {
		t := plot.Tick{Value: math.Pow(10, k)}
		if math.Mod(last-k, step) == 0 {
			t.Label = power(int(k))
		}
		out = append(out, t)
	}
	return out
}

func power(k int) string {
	if k >= -2 && k <= 3 {
		return trim(math.Pow(10, float64(k)))
	}
	return fmt.Sprintf("1e%d", k)
}
