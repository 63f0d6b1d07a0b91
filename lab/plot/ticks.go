package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/say/figure"
)

// even marks round numbers.
var even = figure.Even(short)

// decades labels powers of ten and, where there are few, also 2 and 5 times them.
type decades struct{}

// Ticks are the labelled numbers inside [lo, hi].
func (decades) Ticks(lo, hi float64) []figure.Tick {
	first, last := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	every := math.Max(1, math.Ceil((last-first)/7))
	top := math.Floor(math.Log10(hi) + 1e-9)
	var out []figure.Tick
	for k := first; k <= last; k++ {
		for _, m := range []float64{1, 2, 5} {
			x := m * math.Pow(10, k)
			if x < lo*(1-1e-9) || x > hi*(1+1e-9) {
				continue
			}
			label := ""
			if m == 1 && math.Mod(top-k, every) == 0 || m > 1 && last-first <= 2 {
				label = short(x)
			}
			out = append(out, figure.Tick{Value: x, Label: label})
		}
	}
	return out
}

// snapped widens a logarithmic range to round numbers, so that both ends carry a
// label.
func snapped(lo, hi float64) (float64, float64) {
	if !(lo > 0) || !(hi > lo) {
		return lo, hi
	}
	down, up := math.Pow(10, math.Floor(math.Log10(lo)+1e-9)), math.Pow(10, math.Ceil(math.Log10(hi)-1e-9))
	if math.Log10(up/down) <= 2 {
		for _, m := range []float64{5, 2} {
			if m*down <= lo {
				down *= m
				break
			}
		}
		for _, m := range []float64{0.2, 0.5} {
			if m*up >= hi {
				up *= m
				break
			}
		}
	}
	return down * (1 - 1e-12), up * (1 + 1e-12) // no label falls outside by rounding
}

func short(x float64) string {
	if x == 0 {
		return "0" // never −0
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if x != 0 && (math.Abs(x) < 1e-3 || math.Abs(x) >= 1e6) {
		return strings.NewReplacer("e-0", "e-", "e+0", "e").Replace(fmt.Sprintf("%.0e", x))
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// named marks the whole numbers from 0 with names.
type named []string

// Ticks returns a mark for each name.
func (n named) Ticks(_, _ float64) []figure.Tick {
	var out []figure.Tick
	for i, name := range n {
		out = append(out, figure.Tick{Value: float64(i), Label: name})
	}
	return out
}

// upsideDown marks the whole numbers down to 0 with names: the first name stands on top.
type upsideDown []string

// Ticks returns a mark for each name.
func (n upsideDown) Ticks(_, _ float64) []figure.Tick {
	var out []figure.Tick
	for i, name := range n {
		out = append(out, figure.Tick{Value: float64(len(n) - 1 - i), Label: name})
	}
	return out
}
