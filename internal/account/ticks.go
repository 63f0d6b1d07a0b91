package account

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
)

// round labels about six multiples of 1, 2 or 5 times a power of ten.
type round struct{}

// Ticks are the round numbers inside [min, max].
func (round) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) {
		return []plot.Tick{{Value: lo, Label: up(lo)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, m := range []float64{5, 2} {
		if (hi-lo)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	var out []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi && len(out) < 20; i++ {
		out = append(out, plot.Tick{Value: i * step, Label: plain(fmt.Sprintf("%.9e", i*step))})
	}
	return out
}

// decades labels powers of ten as 1e-6, at most about ten of them.
type decades struct{}

// Ticks are the powers of ten inside [min, max].
func (decades) Ticks(lo, hi float64) []plot.Tick {
	first, last := math.Ceil(math.Log10(lo)-1e-9), math.Floor(math.Log10(hi)+1e-9)
	step := math.Max(1, math.Ceil((last-first)/10))
	var out []plot.Tick
	for k := last; k >= first; k-- {
		t := plot.Tick{Value: math.Pow(10, k)}
		if math.Mod(last-k, step) == 0 {
			t.Label = fmt.Sprintf("1e%d", int(k))
			if math.Abs(k) <= 2 || first > -4 {
				t.Label = plain(t.Label)
			}
		}
		out = append(out, t)
	}
	if last-first < 1 {
		// Less than two powers of ten say little.
		return round{}.Ticks(lo, hi)
	}
	return out
}
