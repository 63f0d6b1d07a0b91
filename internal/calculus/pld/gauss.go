package pld

import "math"

// upperTail is the standard normal probability of (x, Inf), accurate relative to
// itself.
func upperTail(x float64) float64 {
	if x < 25 {
		return 0.5 * math.Erfc(x/math.Sqrt2)
	}
	return density(x) / (x + millsRest(x))
}

// density is the standard normal density.
func density(x float64) float64 {
	return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
}

// millsRest is c with Φ(-x)/φ(x) = 1/(x+c), by Laplace's continued fraction
// 1/(x+2/(x+3/(x+...))); x at least 3. Its convergents lie above and below c by turns, and those
// taken here are closer to one another than 1e-17 of it.
func millsRest(x float64) float64 {
	t := x
	for k := 12 + int(600/(x*x)); k >= 2; k-- {
		t = x + float64(k)/t
	}
	return 1 / t
}

// millsSlope is 1 - x·Φ(-x)/φ(x), the negative derivative of Mills' ratio.
func millsSlope(x float64) float64 {
	if x < 3 {
		return 1 - x*upperTail(x)/density(x)
	}
	c := millsRest(x)
	return c / (x + c)
}

// gaussianDelta is the profile of N(mu,1) against N(0,1) at eps, every real eps.
// The relative error is below 1e-12 (the exponent x²/2 carries the most of it).
func gaussianDelta(mu, eps float64) float64 {
	if eps < 0 {
		return -math.Expm1(eps) + math.Exp(eps)*gaussianDelta(mu, -eps)
	}
	if mu == 0 {
		return 0
	}
	a, b := eps/mu-mu/2, eps/mu+mu/2
	if mu > 0.5 {
		if a < 3 {
			return upperTail(a) - math.Exp(eps+logUpperTail(b))
		}
		return density(a) * (1/(a+millsRest(a)) - 1/(b+millsRest(b)))
	}
	// φ(a)·∫_a^b (1 - x·Mills(x)) dx, a positive integrand: nothing cancels.
	sum := 0.0
	for k, t := range gauss8.x {
		sum += gauss8.w[k] * millsSlope((a+b)/2+t*mu/2)
	}
	return density(a) * sum * mu / 2
}

func logUpperTail(x float64) float64 {
	if x < 25 {
		return math.Log(upperTail(x))
	}
	return -x*x/2 - math.Log(math.Sqrt(2*math.Pi)*(x+millsRest(x)))
}

// rule is a Gauss–Legendre rule on [-1, 1].
type rule struct{ x, w []float64 }

var (
	gauss3 = newRule(3)
	gauss5 = newRule(5)
	gauss8 = newRule(8)
)

// newRule finds the roots of the Legendre polynomial by Newton's iteration.
func newRule(n int) rule {
	r := rule{make([]float64, n), make([]float64, n)}
	for i := range n {
		x := math.Cos(math.Pi * (float64(i) + 0.75) / (float64(n) + 0.5))
		d := 0.0
		for range 100 {
			p0, p1 := 1.0, x
			for k := 2; k <= n; k++ {
				p0, p1 = p1, (float64(2*k-1)*x*p1-float64(k-1)*p0)/float64(k)
			}
			d = float64(n) * (x*p1 - p0) / (x*x - 1)
			step := p1 / d
			x -= step
			if math.Abs(step) < 1e-17 {
				break
			}
		}
		r.x[i], r.w[i] = x, 2/((1-x*x)*d*d)
	}
	return r
}
