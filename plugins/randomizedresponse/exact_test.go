package randomizedresponse

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// histograms is the exact law of the shuffled reports of users with the given
// categories: the probability of every histogram.
func histograms(l *layout, users []int) map[[5]int]float64 {
	keep, other, _ := l.chances()
	law := map[[5]int]float64{{}: 1}
	for _, u := range users {
		next := map[[5]int]float64{}
		for h, p := range law {
			for c := range l.local.K {
				q := other
				if c == u {
					q = keep
				}
				g := h
				g[c]++
				next[g] += p * q
			}
		}
		law = next
	}
	return law
}

// Every pair of neighbouring tables of six users: the law of what is released is
// within the target, computed exactly. That includes k ≥ 4, where a published
// bound is below the truth.
func TestShuffledTargetHoldsExactly(t *testing.T) {
	domain := []string{"a", "b", "c", "d", "e"}
	for _, k := range []int{2, 3, 5} {
		for _, target := range []privacy.Point{{Epsilon: 1.2, Delta: 0.05}, {Epsilon: 0.5, Delta: 0.09}, {Epsilon: 0.3, Delta: 0.001}} {
			req := request(`{"column":"c","shuffle":true}`, 6, domain[:k]...)
			req.Target = target
			l, err := newLayout(req)
			if err != nil {
				t.Fatal(err)
			}
			if l.local.Eps0 < target.Epsilon {
				t.Errorf("k=%d %+v: ε0 %v is below ε", k, target, l.local.Eps0)
			}
			worst := 0.0
			others := make([]int, 5)
			for {
				// By symmetry the neighbours differ in categories 0 and 1.
				p, q := histograms(l, append([]int{0}, others...)), histograms(l, append([]int{1}, others...))
				delta := 0.0
				for h, x := range p {
					delta += math.Max(0, x-math.Exp(target.Epsilon)*q[h])
				}
				worst = math.Max(worst, delta)
				i := 4 // the next non-decreasing sequence
				for i >= 0 && others[i] == k-1 {
					i--
				}
				if i < 0 {
					break
				}
				others[i]++
				for j := i + 1; j < 5; j++ {
					others[j] = others[i]
				}
			}
			if worst > target.Delta*(1+1e-12) {
				t.Errorf("k=%d %+v: with ε0=%v the true δ is %v", k, target, l.local.Eps0, worst)
			}
			if l.local.Eps0 > target.Epsilon*1.001 && worst < target.Delta/4 {
				t.Errorf("k=%d %+v: ε0=%v spends only %v", k, target, l.local.Eps0, worst)
			}
		}
	}
}
