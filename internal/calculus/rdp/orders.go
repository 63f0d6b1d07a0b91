package rdp

import "math"

// coarse are the values of log10(α−1) tried first: dense where the optimum of usual queries lies.
var coarse = func() []float64 {
	var out []float64
	for x := -12.0; x < -2; x++ {
		out = append(out, x)
	}
	for x := -2.0; x < 6; x += 0.25 {
		out = append(out, x)
	}
	for x := 6.0; x <= 13; x += 0.5 {
		out = append(out, x)
	}
	return out
}()

// giveUp is the number of coarse orders in a row, each worse than the best, after which larger ones are not tried.
const giveUp = 10

// search minimises f over all orders: the coarse grid, then a golden section in its two deepest dips. For a true Rényi curve the
// objective is quasi-convex in α (convert.proof.md) and has one dip; a bound that is the smaller of two curves, or has a factor that
// sets in at order 3, can have two. For any curve the value returned was evaluated at the order returned and is therefore
// sound.
func search(f func(alpha float64) float64) (value, order float64) {
	value = math.Inf(1)
	try := func(alpha float64) float64 {
		v := f(alpha)
		if v < value {
			value, order = v, alpha
		}
		return v
	}
	byLog := func(x float64) float64 { return try(1 + math.Pow(10, x)) }
	values := make([]float64, 0, len(coarse))
	for worse, best := 0, math.Inf(1); len(values) < len(coarse) && worse < giveUp; {
		v := byLog(coarse[len(values)])
		values = append(values, v)
		switch {
		case v < best:
			best, worse = v, 0
		case v > best:
			worse++
		}
	}
	try(math.Inf(1))
	for _, i := range dips(values) {
		golden(byLog, coarse[max(i-1, 0)], coarse[min(i+1, len(coarse)-1)])
	}
	// A curve that is interpolated between integers has kinks there.
	if at := order; at > 2 && at < 1<<52 {
		try(math.Floor(at))
		try(math.Ceil(at))
	}
	return value, order
}

// dips are the indices of the two deepest local minima.
func dips(values []float64) []int {
	first, second := -1, -1
	for i, v := range values {
		if math.IsInf(v, 0) || i > 0 && values[i-1] < v || i+1 < len(values) && values[i+1] <= v {
			continue
		}
		switch {
		case first < 0 || v < values[first]:
			first, second = i, first
		case second < 0 || v < values[second]:
			second = i
		}
	}
	switch {
	case first < 0:
		return nil
	case second < 0:
		return []int{first}
	}
	return []int{first, second}
}

// golden narrows [lo, hi] around a minimum of f to 1e-4.
func golden(f func(x float64) float64, lo, hi float64) {
	const r = 0.6180339887498949
	x1, x2 := hi-r*(hi-lo), lo+r*(hi-lo)
	f1, f2 := f(x1), f(x2)
	for hi-lo > 1e-4 {
		if f1 <= f2 {
			hi, x2, f2 = x2, x1, f1
			x1 = hi - r*(hi-lo)
			f1 = f(x1)
		} else {
			lo, x1, f1 = x1, x2, f2
			x2 = lo + r*(hi-lo)
			f2 = f(x2)
		}
	}
}
