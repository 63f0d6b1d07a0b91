package rdp

import "math"

// Orders searched automatically lie in 1 + [10^minDecade, 10^maxDecade].
const (
	minDecade = -12
	maxDecade = 13
)

// DefaultOrders is the grid for accounts whose orders must be fixed in advance: fractional from 1 + 1e-6, dense where the optimum
// of usual queries lies, and powers of two up to 2^24.
func DefaultOrders() []float64 {
	var out []float64
	for e := -6.0; e < -1; e += 0.5 {
		out = append(out, 1+math.Pow(10, e))
	}
	for i := 2; i < 100; i++ {
		out = append(out, 1+float64(i)/20)
	}
	for i := 6; i <= 64; i++ {
		out = append(out, float64(i))
	}
	for x := 64 * math.Pow(2, 0.25); x < 1<<24; x *= math.Pow(2, 0.25) {
		out = append(out, math.Round(x))
	}
	return append(out, 1<<24)
}

// least evaluates f on a list of orders and returns the smallest value and its order.
func least(orders []float64, f func(alpha float64) float64) (value, order float64) {
	value = math.Inf(1)
	for _, a := range orders {
		if v := f(a); v < value {
			value, order = v, a
		}
	}
	return value, order
}

// search minimises f over all orders: one value a decade of α−1, five around the best, then a golden section. For a true Rényi
// curve the objective is quasi-convex in α (convert.proof.md), so this finds the minimum; for any curve the value returned was evaluated
// at the order returned and is therefore sound.
func search(f func(alpha float64) float64) (value, order float64) {
	best, at := math.Inf(1), -1.0
	value = math.Inf(1)
	try := func(x float64) float64 {
		alpha := 1 + math.Pow(10, x)
		v := f(alpha)
		if v < value {
			value, order = v, alpha
		}
		return v
	}
	for e, worse := minDecade, 0; e <= maxDecade && worse < 3; e++ {
		switch v := try(float64(e)); {
		case v < best:
			best, at, worse = v, float64(e), 0
		case v > best:
			worse++
		}
	}
	if v := f(math.Inf(1)); v < value {
		value, order = v, math.Inf(1)
	}
	if math.IsInf(best, 1) || best <= 0 && math.IsInf(best, -1) {
		return value, order
	}
	// Bounds with a factor that sets in at order 3 can have several dips: look closer before narrowing.
	for i, mid := -8, at; i <= 8; i++ {
		if x := mid + float64(i)/5; try(x) < best {
			best, at = value, x
		}
	}
	golden(try, at-0.2, at+0.2)
	// A curve that is interpolated between integers has kinks there.
	if order > 2 && order < 1<<52 {
		for _, n := range []float64{math.Floor(order), math.Ceil(order)} {
			if v := f(n); v < value {
				value, order = v, n
			}
		}
	}
	return value, order
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
