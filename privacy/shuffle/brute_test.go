package shuffle

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// histogram is a distribution over histograms of reports, keyed by counts in base 8.
type histogram map[int]float64

func pow8(i int) int { return 1 << (3 * i) }

// with adds one user of category x running k-ary randomized response.
func (h histogram) with(x, k int, eps0 float64) histogram {
	out := histogram{}
	for key, p := range h {
		for y := 0; y < k; y++ {
			w := 1 / (math.Exp(eps0) + float64(k) - 1)
			if y == x {
				w *= math.Exp(eps0)
			}
			out[key+pow8(y)] += p * w
		}
	}
	return out
}

// divergence is Σ (P − e^ε·Q)_+.
func divergence(p, q histogram, eps float64) float64 {
	var sum float64
	for key, v := range p {
		sum += math.Max(0, v-math.Exp(eps)*q[key])
	}
	return sum
}

// others calls visit with the distribution of every multiset of n users.
func others(n, k, from int, h histogram, eps0 float64, visit func(histogram)) {
	if n == 0 {
		visit(h)
		return
	}
	for x := from; x < k; x++ {
		others(n-1, k, x, h.with(x, k, eps0), eps0, visit)
	}
}

// Every pair of neighbouring data sets of up to 6 users and 5 categories, exactly: no bound may be below. By symmetry the victim's value
// changes from category 0 to 1.
func TestBruteForce(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for k := 2; k <= 5; k++ {
			worst := math.Inf(1)
			tight := 0.0
			for _, eps0 := range []float64{0.3, 1, 2, 4} {
				for _, frac := range []float64{0, 0.1, 0.3, 0.6, 0.9} {
					eps := eps0 * frac
					exact := 0.0
					others(n-1, k, 0, histogram{0: 1}, eps0, func(h histogram) {
						p, q := h.with(0, k, eps0), h.with(1, k, eps0)
						exact = math.Max(exact, math.Max(divergence(p, q, eps), divergence(q, p, eps)))
					})
					blanket, err := ResponseDelta(int64(n), k, eps0, eps)
					if err != nil {
						t.Fatal(err)
					}
					clones, err := Delta(int64(n), eps0, eps)
					if err != nil {
						t.Fatal(err)
					}
					for name, upper := range map[string]float64{"blanket": blanket.Upper, "clones": clones.Upper} {
						if upper < exact*(1-1e-13) {
							t.Errorf("n=%d k=%d eps0=%g eps=%g: %s %.12g below the exact %.12g", n, k, eps0, eps, name, upper, exact)
						}
					}
					if exact > 0 {
						worst = math.Min(worst, blanket.Upper/exact)
						tight = math.Max(tight, blanket.Upper/exact)
					}
				}
			}
			t.Logf("n=%d k=%d: blanket delta over the exact delta of the worst pair: %.4f to %.4f", n, k, worst, tight)
		}
	}
}

// The published counterexample to the variation-ratio bound: the exact value is 0.0922.
func TestVariationRatioCounterexample(t *testing.T) {
	v, err := ResponseDelta(6, 5, 2, 1.2)
	if err != nil {
		t.Fatal(err)
	}
	if v.Upper < 0.0921 {
		t.Errorf("%g undercuts the exact 0.0922", v.Upper)
	}
}

// directBlanket is the privacy-blanket bound as its theorem states it, by plain nested sums.
func directBlanket(n, k int, eps0, eps float64) float64 {
	choose := func(n, j int) float64 {
		out := 1.0
		for i := 1; i <= j; i++ {
			out *= float64(n-j+i) / float64(i)
		}
		return out
	}
	e0, e := math.Exp(eps0), math.Exp(eps)
	gamma := float64(k) / (e0 + float64(k) - 1)
	r := 1 / (e0 + float64(k) - 1)
	var sum float64
	for b := 0; b < n; b++ {
		m := b + 1
		pm := choose(n-1, b) * math.Pow(gamma, float64(b)) * math.Pow(1-gamma, float64(n-1-b))
		for x := 0; x <= m; x++ {
			for y := 0; x+y <= m; y++ {
				w := choose(m, x) * choose(m-x, y) * math.Pow(float64(k-2), float64(m-x-y)) / math.Pow(float64(k), float64(m))
				l := float64(k) * (float64(x)*(r*e0-e*r) + float64(y)*(r-e*r*e0) + float64(m-x-y)*(r-e*r))
				sum += pm * w * math.Max(0, l) / float64(m)
			}
		}
	}
	return sum
}

func TestBlanketAgainstDirectSum(t *testing.T) {
	for _, n := range tier.Of([]int{1, 2, 5, 30}, []int{1, 2, 5, 30, 80}) {
		for _, k := range []int{2, 3, 4, 10, 100} {
			for _, eps0 := range []float64{0.2, 1, 3} {
				for _, frac := range []float64{0, 0.05, 0.2, 0.5, 0.8} {
					eps := eps0 * frac
					want := directBlanket(n, k, eps0, eps)
					got, err := ResponseDelta(int64(n), k, eps0, eps)
					if err != nil {
						t.Fatal(err)
					}
					if want < 1e-12 {
						continue // the nested sums have lost their digits
					}
					if got.Upper < want*(1-1e-11) || got.Lower > want*(1+1e-11) || got.Upper > want*(1+1e-6) {
						t.Errorf("n=%d k=%d eps0=%g eps=%g: [%.12g, %.12g], direct sum %.12g", n, k, eps0, eps, got.Lower, got.Upper, want)
					}
				}
			}
		}
	}
}
