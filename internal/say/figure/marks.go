package figure

import "math"

// Tick is one mark of an axis. A mark without a label is only a line.
type Tick struct {
	Value float64
	Label string
}

// Ticker places the marks of an axis between its ends.
type Ticker interface{ Ticks(lo, hi float64) []Tick }

// Some marks the whole numbers from 0 with names, but only as many as can be read, at even
// distances from the first one on.
type Some []string

// Ticks returns the marks of the names that have room.
func (n Some) Ticks(_, _ float64) []Tick {
	const most = 6
	every := max(1, (len(n)+most-1)/most)
	if every > 3 { // the same months of each year
		every = (every + 5) / 6 * 6
	}
	var out []Tick
	for i := 0; i < len(n); i += every {
		out = append(out, Tick{float64(i), n[i]})
	}
	return out
}

// Even labels about five multiples of 1, 2 or 5 times a power of ten.
type Even func(x float64) string

// Ticks are the round numbers inside [lo, hi].
func (label Even) Ticks(lo, hi float64) []Tick {
	if !(hi > lo) {
		return []Tick{{Value: lo, Label: label(lo)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, m := range []float64{5, 2} {
		if (hi-lo)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	const most = 14
	var out []Tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+1e-9*step && len(out) < most; i++ {
		x := i*step + 0 // never −0
		out = append(out, Tick{Value: x, Label: label(x)})
	}
	return out
}

// Decades labels powers of ten, about Most of them.
type Decades struct {
	Most  float64
	Label func(exponent int) string
	Else  Ticker // where there are fewer than two powers of ten
}

// Ticks are the powers of ten inside [lo, hi].
func (d Decades) Ticks(lo, hi float64) []Tick {
	first, last := math.Ceil(math.Log10(lo)-1e-9), math.Floor(math.Log10(hi)+1e-9)
	if !(last-first >= 1) || math.IsInf(last-first, 0) { // no axis of powers begins at 0
		return d.Else.Ticks(lo, hi)
	}
	step := math.Max(1, math.Ceil((last-first)/d.Most))
	var out []Tick
	for k := last; k >= first; k-- {
		t := Tick{Value: math.Pow(10, k)}
		if math.Mod(last-k, step) == 0 {
			t.Label = d.Label(int(k))
		}
		out = append(out, t)
	}
	return out
}
