package shuffle

import "math"

// binomial is a Bin(n, p) distribution; p and q = 1 − p are given separately so that neither is rounded when small.
type binomial struct{ n, p, q float64 }

// logPMF is the logarithm of P[X = k] by Loader's saddle-point form: every part is small or well conditioned, so the absolute error
// stays near 1e-14 times the size of the result for any n.
func (b binomial) logPMF(k float64) float64 {
	switch {
	case k < 0 || k > b.n:
		return math.Inf(-1)
	case b.p == 0 || k == 0 && b.n == 0:
		return logIf(k == 0)
	case b.q == 0:
		return logIf(k == b.n)
	case k == 0:
		return b.n * math.Log1p(-b.p)
	case k == b.n:
		return b.n * math.Log1p(-b.q)
	}
	l := stirlingError(b.n) - stirlingError(k) - stirlingError(b.n-k)
	return l - deviance(k, b.n*b.p) - deviance(b.n-k, b.n*b.q) - 0.5*math.Log(2*math.Pi*k*((b.n-k)/b.n))
}

func logIf(yes bool) float64 {
	if yes {
		return 0
	}
	return math.Inf(-1)
}

// deviance is x·log(x/m) + m − x, without cancellation for x near m.
func deviance(x, m float64) float64 {
	if math.Abs(x-m) > 0.1*(x+m) {
		return x*math.Log(x/m) + m - x
	}
	v := (x - m) / (x + m)
	sum := (x - m) * v
	term := 2 * x * v
	v *= v
	for j := 1.0; j < 100; j++ {
		term *= v
		next := sum + term/(2*j+1)
		if next == sum {
			break
		}
		sum = next
	}
	return sum
}

// stirlingError is log k! − [(k+½)·log k − k + ½·log 2π].
func stirlingError(k float64) float64 {
	if k < 16 {
		l, _ := math.Lgamma(k + 1)
		if k == 0 {
			return 0
		}
		return l - ((k+0.5)*math.Log(k) - k + 0.5*math.Log(2*math.Pi))
	}
	m := k * k
	return (1./12 - (1./360-(1./1260-(1./1680-1./1188/m)/m)/m)/m) / k
}

// window is the range [lo, hi] of a binomial outside of which at most outside is left, with the weights inside.
type window struct {
	lo      float64
	weights []float64
	outside float64
}

// cover walks away from the mode until the rest of either tail, bounded by a geometric series (the ratio of neighbouring
// probabilities only falls), is at most target/2.
func (b binomial) cover(target float64) window {
	mode := math.Min(math.Max(math.Floor((b.n+1)*b.p), 0), b.n)
	top := math.Exp(b.logPMF(mode))
	odds := b.p / b.q
	var up, down []float64
	var outside float64
	for k, w := mode, top; ; k++ {
		up = append(up, w)
		if k == b.n {
			break
		}
		r := (b.n - k) / (k + 1) * odds
		w *= r
		next := (b.n - k - 1) / (k + 2) * odds
		if rest := w / (1 - next); next < 1 && rest <= target/2 {
			outside += rest
			break
		}
	}
	for k, w := mode, top; k > 0; k-- {
		w *= k / (b.n - k + 1) / odds
		next := (k - 1) / (b.n - k + 2) / odds
		if rest := w / (1 - next); next < 1 && rest <= target/2 {
			outside += rest
			break
		}
		down = append(down, w)
	}
	weights := make([]float64, 0, len(down)+len(up))
	for i := len(down) - 1; i >= 0; i-- {
		weights = append(weights, down[i])
	}
	return window{lo: mode - float64(len(down)), weights: append(weights, up...), outside: outside * (1 + margin)}
}
