package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// divergence is the Rényi divergence of two laws.
func divergence(p, q []float64, alpha float64) float64 {
	sum, top := 0.0, math.Inf(-1)
	for i := range p {
		top = math.Max(top, math.Log(p[i]/q[i]))
	}
	for i := range p {
		sum += p[i] * math.Exp((alpha-1)*(math.Log(p[i]/q[i])-top))
	}
	return top + math.Log(sum)/(alpha-1)
}

// laplacePair is discrete Laplace noise at 0..n, where its likelihood ratio changes:
// centred at n against 0.
func laplacePair(tau float64, n int) (p, q []float64) {
	r := math.Exp(-tau)
	for x := 0; x <= n; x++ {
		weight := math.Tanh(tau / 2)
		if x == 0 || x == n {
			weight = 1 / (1 + r)
		}
		p, q = append(p, weight*math.Pow(r, float64(n-x))), append(q, weight*math.Pow(r, float64(x)))
	}
	return p, q
}

// Noise and randomized response cost ρ at every order, and a hundredth less is exceeded
// at some order near 1 (rho.proof.md).
func TestRho(t *testing.T) {
	orders := []float64{1.001, 1.01, 1.1, 1.5, 2, 3, 7, 20, 100}
	check := func(name string, rho float64, at func(alpha float64) float64) {
		t.Helper()
		reached := 0.0
		for _, alpha := range orders {
			reached = math.Max(reached, at(alpha)/alpha)
		}
		if reached > rho*(1+1e-6) {
			t.Errorf("%s: rho %.12g is exceeded: %.12g", name, rho, reached)
		}
		if reached < 0.99*rho {
			t.Errorf("%s: rho %g, but only %g is reached", name, rho, reached)
		}
	}
	for _, tau := range []float64{0.01, 0.1, 0.5, 1, 3, 8} {
		for _, n := range []int{1, 2, 3, 10, 40} {
			p, q := laplacePair(tau, n)
			rho := rhoLaplace(float64(n)*tau, tau)
			check("discrete Laplace", rho, func(alpha float64) float64 { return divergence(p, q, alpha) })
			// Steps that are spread over coordinates cost no more.
			for m := 1; m < n; m++ {
				if split := rhoLaplace(float64(m)*tau, tau) + rhoLaplace(float64(n-m)*tau, tau); split > rho*(1+1e-9) {
					t.Errorf("tau %g: %d and %d steps cost %g, together %g", tau, m, n-m, split, rho)
				}
			}
		}
	}
	for _, eps := range []float64{0.02, 0.1, 1, 5} {
		lie := 1 / (1 + math.Exp(eps))
		check("randomized response", rhoPure(eps), func(alpha float64) float64 {
			return divergence([]float64{1 - lie, lie}, []float64{lie, 1 - lie}, alpha)
		})
		if smooth, rough := rhoLaplace(eps, 0), rhoLaplace(eps, eps); smooth > rough || rough > rhoPure(eps) || rhoPure(eps) > eps*eps/2*(1+1e-14) {
			t.Errorf("epsilon %g: continuous %g, one step %g, any %g", eps, smooth, rough, rhoPure(eps))
		}
	}
	// 50-digit values.
	for _, c := range []struct{ eps, s, want float64 }{
		{1, 1, 0.46211715726000975850}, {1, 0.1, 0.36893174760753606}, {1, 0, 0.36787944117144232160}, {1e-5, 0, 4.99998333337500000e-11},
	} {
		if got := rhoLaplace(c.eps, c.s); got < c.want || got > c.want*(1+1e-9) {
			t.Errorf("rhoLaplace(%g, %g) = %.17g, want %.17g", c.eps, c.s, got, c.want)
		}
	}
}

// randomNoise is something to run on a sample.
func randomNoise(r *rand.Rand) Event {
	x := math.Exp(r.Float64()*3 - 1)
	s := Sensitivity{AddRemove: float64(1 + r.IntN(3))}
	s.ReplaceOne = s.AddRemove * float64(1+r.IntN(2))
	switch r.IntN(7) {
	case 0:
		return Gaussian{Sigma: x, Sensitivity: s}
	case 1:
		return DiscreteGaussian{Sigma: x, Sensitivity: s, Coordinates: int64(1 + r.IntN(2))}
	case 2:
		return Laplace{Scale: x, Sensitivity: s}
	case 3:
		return DiscreteLaplace{Scale: x, Sensitivity: s}
	case 4:
		return Pure{x / 4}
	case 5:
		return ZCDP{x / 10}
	}
	return Compose{[]Event{DiscreteGaussian{Sigma: 2 * x}, DiscreteLaplace{Scale: 2 * x}}}
}

// No sampled event costs more than what was run on the sample, under the relation of
// the sample (P28): in every method, at every order of a Rényi account, in ρ.
func TestSamplingNeverCosts(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 28))
	rho := func(e Event, rel Relation) *big.Rat {
		f, err := NewZCDPFilter(rel, big.NewRat(1, 1))
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.Cost(e)
		if err != nil {
			t.Fatalf("%+v under %s: %v", e, rel, err)
		}
		return c[0]
	}
	n := 0
	for range tier.Of(3, 60) {
		inner := randomNoise(r)
		for _, c := range []struct {
			draw       Sampling
			rel, under Relation
		}{
			{Poisson{Rate: 1}, ReplaceOne, ReplaceOne},
			{Poisson{Rate: 0.97}, ReplaceOne, ReplaceOne},
			{Poisson{Rate: 0.3}, ReplaceOne, ReplaceOne},
			{Poisson{Rate: 0.97}, AddRemove, AddRemove},
			{WithoutReplacement{Take: 9, Of: 10}, ReplaceOne, ReplaceOne},
			{WithoutReplacement{Take: 9, Of: 10}, AddRemove, ReplaceOne},
			{Multistage{Stages: []Stage{{9, 10, 0}, {3, 4, 0}}}, ReplaceOne, ReplaceOne},
			{Multistage{Stages: []Stage{{9, 10, 0}, {3, 4, 5}}}, ReplaceOne, ReplaceOne},
		} {
			runs := int64(1 + r.IntN(4))
			sampled, whole := Event(Repeat{runs, c.draw.With(inner)}), Event(Repeat{runs, inner})
			if c.rel == AddRemove && c.draw.kind() == "without_replacement" && inner.kind() == "zcdp" && runs > 2 {
				continue
			}
			for _, eps := range []float64{0.1, 1} {
				a, err := DeltaWith(sampled, c.rel, eps, Options{Quick: true})
				b, err2 := DeltaWith(whole, c.under, eps, Options{Quick: true})
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				for method, limit := range b.Methods {
					n++
					// Distributions are certified within 1 % of epsilon, or 1e-4.
					if got, ok := a.Methods[method]; ok && got.Delta > limit.Delta*1.01+1e-9 {
						t.Errorf("%+v under %s at epsilon %g: %s says %g, unsampled %g", sampled, c.rel, eps, method, got.Delta, limit.Delta)
					}
				}
				if a.Delta > b.Delta*1.01+1e-9 {
					t.Errorf("%+v under %s at epsilon %g: %g by %s, unsampled %g by %s", sampled, c.rel, eps, a.Delta, a.Method, b.Delta, b.Method)
				}
			}
			if rho(sampled, c.rel).Cmp(rho(whole, c.under)) > 0 {
				t.Errorf("%+v under %s costs more ρ than unsampled", sampled, c.rel)
			}
			x, u := renyi(sampled, c.rel, "")
			y, v := renyi(whole, c.under, "")
			if u != nil || v != nil {
				t.Fatal(u, v)
			}
			for _, alpha := range []float64{1.01, 1.5, 2, 5, 33, 200} {
				if got, limit := x.curve(alpha), y.curve(alpha); got > limit*(1+1e-9) {
					t.Errorf("%+v under %s at order %g: %g, unsampled %g", sampled, c.rel, alpha, got, limit)
				}
			}
		}
	}
	t.Log("figures compared:", n)
	// Under the population's relation the inner event is no cap, nor with replacement.
	inner := DiscreteLaplace{Scale: 1, Sensitivity: Sensitivity{1, 2}}
	if got := mustEpsilon(t, WithoutReplacement{9, 10, inner}, AddRemove, 0); got.Epsilon <= 1 {
		t.Errorf("9 of at least 10 under add-remove: %g, a replaced record costs up to 2", got.Epsilon)
	}
	if a, err := DeltaAt(WithReplacement{100, 100, Pure{1}}, ReplaceOne, 1); err != nil || a.Delta < 0.0746 {
		t.Errorf("100 draws of 100: delta(1) = %g, the truth reaches 0.0746 (%v)", a.Delta, err)
	}
}

// A shuffle inside a Poisson sample shows how many were drawn: refused under add-remove;
// under replace-one the reports of the sample hold by themselves (P28).
func TestShuffledSample(t *testing.T) {
	e := Poisson{0.3, Compose{[]Event{Shuffled{1000, Pure{1}}, DiscreteLaplace{Scale: 4}}}}
	if a, err := EpsilonAt(e, AddRemove, 1e-6); err == nil {
		t.Errorf("under add-remove it is charged %g", a.Epsilon)
	}
	for _, s := range []Event{e, Poisson{0.3, Repeat{2, Shuffled{50, RandomizedResponse{4, 1}}}}} {
		a := mustEpsilon(t, s, ReplaceOne, 1e-6)
		limit := 1 + 2./4
		if s.(Poisson).Event.kind() == "repeat" {
			limit = 2
		}
		if a.Epsilon > limit*(1+1e-12) || a.Epsilon < limit*0.9 {
			t.Errorf("%+v: %g, want at most %g", s, a.Epsilon, limit)
		}
		if _, ok := a.Methods["shuffle"]; ok {
			t.Error("the number of reports is not that of the shuffle")
		}
	}
}
