package rdp

import "math"

// logChoose is log C(n, k) with a small absolute error also for n up to 2^53, where differences of lgamma lose every digit: it is
// n·H(k/n) with Stirling's error terms, and a plain sum for small k.
func logChoose(n, k float64) float64 {
	if k > n-k {
		k = n - k
	}
	if k < 0 {
		return math.Inf(-1)
	}
	if k < 12 {
		var sum float64
		for i := 1.0; i <= k; i++ {
			sum += math.Log((n - k + i) / i)
		}
		return sum
	}
	entropy := k*math.Log(n/k) - (n-k)*math.Log1p(-k/n)
	return entropy + stirlingError(n) - stirlingError(k) - stirlingError(n-k) - 0.5*math.Log(2*math.Pi*k*((n-k)/n))
}

// stirlingError is log n! − [(n+½)·log n − n + ½·log 2π], n >= 12, to 1e-16.
func stirlingError(n float64) float64 {
	m := n * n
	return (1./12 - (1./360-(1./1260-(1./1680-1./1188/m)/m)/m)/m) / n
}
