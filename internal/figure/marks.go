package figure

import (
	"math"

	"gonum.org/v1/plot"
)

// Even labels about five multiples of 1, 2 or 5 times a power of ten.
type Even func(x float64) string

// Ticks are the round numbers inside [lo, hi].
func (label Even) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) {
		return []plot.Tick{{Value: lo, Label: label(lo)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, m := range []float64{5, 2} {
		if (hi-lo)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	const most = 14
	var out []plot.Tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+1e-9*step && len(out) < most; i++ {
		x := i*step + 0 // never −0
		out = append(out, plot.Tick{Value: x, Label: label(x)})
	}
	return out
}

// Decades labels powers of ten, about Most of them.
type Decades struct {
	Most  float64
	Label func(exponent int) string
	Else  plot.Ticker // where there are fewer than two powers of ten
}

// Ticks are the powers of ten inside [lo, hi].
func (d Decades) Ticks(lo, hi float64) []plot.Tick {
	first, last := math.Ceil(math.Log10(lo)-1e-9), math.Floor(math.Log10(hi)+1e-9)
	if !(last-first >= 1) || math.IsInf(last-first, 0) { // no axis of powers begins at 0
		return d.Else.Ticks(lo, hi)
	}
	step := math.Max(1, math.Ceil((last-first)/d.Most))
	var out []plot.Tick
	for k := last; k >= first; k-- {
		t := plot.Tick{Value: math.Pow(10, k)}
		if math.Mod(last-k, step) == 0 {
			t.Label = d.Label(int(k))
		}
		out = append(out, t)
	}
	return out
}
