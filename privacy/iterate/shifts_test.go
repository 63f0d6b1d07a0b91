package iterate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// cheapest is the least √Σ(a_k/σ_k)² over all shifts a_k >= 0 with z_k = c·z_{k−1} + s_k − a_k >= 0 and z_T = 0, from the given z_0: the
// optimum of the argument in cyclic.proof.md, found without any closed form. A block of steps has one multiplier; neighbours whose
// multipliers fall are pooled, as shifts may be delayed but not brought forward.
func cheapest(z0, c float64, s, sigma []float64) float64 {
	type block struct {
		mass, room, length float64 // Σ c^{e−k}·s_k, Σ c^{2(e−k)}·σ_k², seen from the block's last step e
	}
	var blocks []block
	for k := range s {
		b := block{s[k], sigma[k] * sigma[k], 1}
		if k == 0 {
			b.mass += c * z0
		}
		for n := len(blocks); n > 0; n = len(blocks) {
			a, fade := blocks[n-1], math.Pow(c, b.length)
			if a.mass/a.room <= b.mass/b.room*fade {
				break
			}
			b = block{fade*a.mass + b.mass, fade*fade*a.room + b.room, a.length + b.length}
			blocks = blocks[:n-1]
		}
		blocks = append(blocks, b)
	}
	sum := 0.0
	for _, b := range blocks {
		sum += b.mass * b.mass / b.room
	}
	return math.Sqrt(sum)
}

// uses returns the changes of the distance, in units of Eta, in each step of a cyclic run, for a record at a position of the cycle.
func uses(p Params, position int64) (s, sigma []float64) {
	l, epochs := p.batches(), max(p.Epochs, 1)
	early := p.Early
	if early == 0 {
		early = 1
	}
	for k := int64(1); k <= l*epochs; k++ {
		add, noise := p.Rounding, p.Sigma
		if (k-position)%l == 0 {
			add += p.unit() * p.Sigma
		}
		if k < position {
			add = 0 // before its first use the runs are one
		}
		if k < l*epochs {
			noise *= early
		}
		s, sigma = append(s, add), append(sigma, noise)
	}
	return s, sigma
}

// No position costs more than is charged; without rounding the strongly convex form is the optimum itself.
func TestCyclicAgainstTheOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range 300 {
		p := Params{
			Kind: CyclicStronglyConvex, Sensitivity: math.Exp(rng.NormFloat64()), Sigma: math.Exp(rng.NormFloat64()), Batch: 1 + rng.Int64N(4),
			Epochs: 1 + rng.Int64N(12), Eta: 1, StrongConvexity: math.Exp2(-8 * rng.Float64()), Smoothness: 1,
		}
		p.N = p.Batch*(1+rng.Int64N(12)) + rng.Int64N(p.Batch)
		exact, err := Mu(p)
		if err != nil {
			t.Fatal(err)
		}
		c, l := 1-p.Eta*p.StrongConvexity, p.batches()
		s, sigma := uses(p, l)
		if best := cheapest(0, c, s, sigma); best > exact*(1+1e-9) || l > 1 && best < exact*(1-1e-9) {
			t.Fatalf("%+v: %g, the optimum is %g", p, exact, best)
		}
		p.Rounding = p.Sensitivity / float64(p.Batch) * math.Exp2(-12*rng.Float64())
		mu, err := Mu(p)
		if err != nil || mu < exact {
			t.Fatal(mu, exact, err)
		}
		for position := int64(1); position <= l; position++ {
			s, sigma := uses(p, position)
			best := cheapest(0, c, s, sigma)
			at, err := positionMu(p, position)
			if err != nil || best > at || at > mu*(1+1e-9) {
				t.Fatalf("%+v: position %d: %g, the optimum is %g, %g is charged (%v)", p, position, at, best, mu, err)
			}
		}
	}
}

// The convex form is above the optimum that may begin anywhere with any distance up to the diameter.
func TestConvexCycleAgainstTheOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for range 60 {
		p := Params{
			Kind: CyclicConvex, Sensitivity: 1 + rng.Float64(), Sigma: math.Exp(rng.NormFloat64()), N: 1 + rng.Int64N(8), Batch: 1,
			Eta: 0.5, Smoothness: 1, Diameter: 3 * rng.Float64(), Rounding: 0.05 * rng.Float64() * float64(rng.IntN(2)),
		}
		p.Epochs = p.reach() + rng.Int64N(6)
		mu, err := Mu(p)
		if err != nil {
			t.Fatal(err)
		}
		for position := int64(1); position <= p.N; position++ {
			s, sigma := uses(p, position)
			best := cheapest(0, 1, s, sigma)
			for t0 := 1; t0 < len(s); t0++ {
				best = math.Min(best, cheapest(p.Diameter/p.Eta, 1, s[t0:], sigma[t0:]))
			}
			at, err := positionMu(p, position)
			if err != nil || best > at || at > mu*(1+1e-9) {
				t.Fatalf("%+v: position %d: %g, the optimum is %g, %g is charged (%v)", p, position, at, best, mu, err)
			}
		}
	}
}

// Every point of the curve of one pass is the optimum, and the worst of them is charged.
func TestOnePassIsTheOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for range 300 {
		p := Params{
			Kind: OnePass, Sensitivity: math.Exp(rng.NormFloat64()), Sigma: math.Exp(rng.NormFloat64()), N: 1 + rng.Int64N(60), Batch: 1 + rng.Int64N(3),
			Eta: 1, StrongConvexity: math.Exp2(-10*rng.Float64()) * float64(rng.IntN(2)), Smoothness: 1, Early: 1 - rng.Float64(),
		}
		p.Batch = min(p.Batch, p.N)
		p.Rounding = p.Sensitivity * math.Exp2(-14*rng.Float64()) * float64(rng.IntN(2))
		mu, err := Mu(p)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for at := int64(1); at <= p.batches(); at++ {
			got, err := positionMu(p, at)
			if err != nil {
				t.Fatal(err)
			}
			worst = math.Max(worst, got)
			s, sigma := uses(p, at)
			near(t, "position", got, cheapest(0, 1-p.StrongConvexity, s, sigma), 1e-9)
		}
		near(t, "worst", mu, worst, 1e-12)
	}
}

// Feldman, Mironov, Talwar and Thakurta: 2αL²/(σ²(n+1−t)), which is μ²α/2.
func TestOnePassIsFeldmans(t *testing.T) {
	const lipschitz, sigma, n = 1.0, 4.0, 1000
	p := Params{Kind: OnePass, Sensitivity: 2 * lipschitz, Sigma: sigma, N: n, Batch: 1, Eta: 0.1, Smoothness: 5}
	for _, at := range []int64{1, 2, 500, 999, 1000} {
		mu, err := positionMu(p, at)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "rho", mu*mu/2, 2*lipschitz*lipschitz/(sigma*sigma*float64(n+1-at)), 1e-12)
	}
	curve, err := Curve(p, 11)
	if err != nil || len(curve) < 8 || len(curve) > 11 || curve[0].At != 1 || curve[len(curve)-1].At != n {
		t.Fatalf("%+v, %v", curve, err)
	}
	for i := 1; i < len(curve); i++ {
		if curve[i].Mu <= curve[i-1].Mu {
			t.Errorf("a record seen later must be less private: %+v then %+v", curve[i-1], curve[i])
		}
	}
	near(t, "last", curve[len(curve)-1].Mu, 2*lipschitz/sigma, 1e-11)
	for _, c := range [][2]int64{{1, 2}, {2, 2}, {3, 80}, {80, 80}, {81, 80}, {1e6, 80}, {1e6, 2}} {
		at := spread(c[0], c[1])
		if int64(len(at)) > c[1] || at[0] != 1 || at[len(at)-1] != c[0] || !slices.IsSorted(at) {
			t.Errorf("%d of %d positions: %v", c[1], c[0], at)
		}
	}
	// The worst record does not gain by noise before the last step, and early ones do.
	for _, early := range []float64{1e-3, 0.1, 0.5} {
		p.Early = early
		mu, _ := Mu(p)
		first, _ := positionMu(p, 1)
		near(t, "worst", mu, 0.5, 1e-12)
		near(t, "first", first, 0.5/math.Sqrt(1+early*early*(n-1)), 1e-12)
	}
	for _, bad := range []Params{{}, {Kind: FullConvex}, {Kind: OnePass, Sensitivity: 1, Sigma: 1, N: 10, Batch: 1, Eta: 3, Smoothness: 1}} {
		if _, err := positionMu(bad, 1); err == nil {
			t.Errorf("%+v must be refused", bad)
		}
	}
	if _, err := positionMu(p, n+1); err == nil {
		t.Error("a position past the end must be refused")
	}
}

// positionMu is the mu of the records at one position of a pass.
func positionMu(p Params, t int64) (float64, error) {
	p, err := p.byPosition()
	if err == nil && (t < 1 || t > p.batches()) {
		err = refuse("position", "must be between 1 and the number of batches = %d (got %d)", p.batches(), t)
	}
	if err != nil {
		return 0, err
	}
	return p.atAge(p.batches() - t), nil
}
