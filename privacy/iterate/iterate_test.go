package iterate

import (
	"errors"
	"math"
	"math/big"
	"testing"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Abs(want)) {
		t.Errorf("%s: %.10g, want %.10g", what, got, want)
	}
}

func TestVectors(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Params
		want float64
	}{
		{"full strongly convex", Params{Kind: FullStronglyConvex, Sensitivity: 1, Sigma: 1, N: 10, Steps: 100, Eta: 1, StrongConvexity: 0.01, Smoothness: 1}, 0.96101374},
		{"cyclic strongly convex", Params{Kind: CyclicStronglyConvex, Sensitivity: 1, Sigma: 1, N: 100, Batch: 5, Epochs: 50, Eta: 1, StrongConvexity: 0.01, Smoothness: 1}, 0.23745298},
		{"full convex", Params{Kind: FullConvex, Sensitivity: 5, Sigma: 8, N: 10, Steps: 1000, Eta: 0.1, Smoothness: 1, Diameter: 1}, 0.55901699},
		{"cyclic convex", Params{Kind: CyclicConvex, Sensitivity: 5, Sigma: 3, N: 200, Batch: 10, Epochs: 1000, Eta: 0.02, Smoothness: 1, Diameter: 1}, 0.76376262},
	} {
		mu, err := Mu(c.p)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if math.Abs(mu-c.want) > 5.1e-9 {
			t.Errorf("%s: %.10f, want %.8f", c.name, mu, c.want)
		}
	}
}

// The strongly convex forms written as the rule states them, with 300 bits, over contraction factors from 0.1 to 1 − 1e-9.
func TestStrongFormsAgainstBigFloats(t *testing.T) {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	pow := func(c *big.Float, n int64) *big.Float {
		out, base := num(1), new(big.Float).Copy(c)
		for ; n > 0; n >>= 1 {
			if n&1 == 1 {
				out = new(big.Float).Mul(out, base)
			}
			base = new(big.Float).Mul(base, base)
		}
		return out
	}
	sub := func(a, b *big.Float) *big.Float { return new(big.Float).Sub(a, b) }
	add := func(a, b *big.Float) *big.Float { return new(big.Float).Add(a, b) }
	mul := func(a, b *big.Float) *big.Float { return new(big.Float).Mul(a, b) }
	quo := func(a, b *big.Float) *big.Float { return new(big.Float).Quo(a, b) }
	one := num(1)
	for _, m := range []float64{0.9, 0.25, 0.01, 1e-4, 1e-9} {
		c := sub(one, num(m))
		for _, steps := range []int64{1, 2, 7, 100, 12345} {
			want := quo(mul(sub(one, pow(c, steps)), add(one, c)), mul(add(one, pow(c, steps)), sub(one, c)))
			w, _ := new(big.Float).Sqrt(want).Float64()
			mu, err := Mu(Params{Kind: FullStronglyConvex, Sensitivity: 1, Sigma: 1, N: 1, Steps: steps, Eta: 1, StrongConvexity: m, Smoothness: 1})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "full", mu, w, 1e-12)
			if mu < w {
				t.Errorf("full c=1-%g t=%d: %.17g rounded below %.17g", m, steps, mu, w)
			}
			for _, l := range []int64{1, 3, 20} {
				cl, ce := pow(c, l), pow(c, l*(steps-1))
				gap := sub(one, cl)
				v := add(one, mul(quo(mul(pow(c, 2*l-2), sub(one, mul(c, c))), mul(gap, gap)), quo(sub(one, ce), add(one, ce))))
				w, _ := new(big.Float).Sqrt(v).Float64()
				mu, err := Mu(Params{Kind: CyclicStronglyConvex, Sensitivity: 1, Sigma: 1, N: l, Batch: 1, Epochs: steps, Eta: 1, StrongConvexity: m, Smoothness: 1})
				if err != nil {
					t.Fatal(err)
				}
				near(t, "cyclic", mu, w, 1e-12)
				if mu < w {
					t.Errorf("cyclic c=1-%g l=%d E=%d: %.17g rounded below %.17g", m, l, steps, mu, w)
				}
			}
		}
	}
}

// One batch a cycle is the full-batch run, for which the cyclic form is valid but looser; one step is one Gaussian.
func TestKindsAgree(t *testing.T) {
	full := Params{Kind: FullStronglyConvex, Sensitivity: 2, Sigma: 3, N: 40, Steps: 77, Eta: 0.3, StrongConvexity: 0.2, Smoothness: 4}
	cyclic := full
	cyclic.Kind, cyclic.Batch, cyclic.Epochs, cyclic.Steps = CyclicStronglyConvex, 40, 77, 0
	a, err1 := Mu(full)
	b, err2 := Mu(cyclic)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if b < a || b > a*1.1 {
		t.Errorf("one batch a cycle: %g, full batch: %g", b, a)
	}
	full.Steps = 1
	a, _ = Mu(full)
	near(t, "one step", a, 2./40/3, 1e-12)
}

func TestRefusals(t *testing.T) {
	good := Params{Kind: CyclicConvex, Sensitivity: 5, Sigma: 3, N: 200, Batch: 10, Epochs: 1000, Eta: 0.02, Smoothness: 1, Diameter: 1}
	strong := Params{Kind: FullStronglyConvex, Sensitivity: 1, Sigma: 1, N: 10, Steps: 100, Eta: 1, StrongConvexity: 0.01, Smoothness: 1}
	with := func(p Params, f func(*Params)) Params { f(&p); return p }
	for field, p := range map[string]Params{
		"Kind":            {},
		"Sensitivity":     with(good, func(p *Params) { p.Sensitivity = 0 }),
		"Sigma":           with(good, func(p *Params) { p.Sigma = math.NaN() }),
		"N":               with(strong, func(p *Params) { p.N = 0 }),
		"Batch":           with(good, func(p *Params) { p.Batch = 201 }),
		"Early":           with(good, func(p *Params) { p.Early = 0.5 }),
		"Rounding":        with(good, func(p *Params) { p.Rounding = -1 }),
		"Epochs":          with(good, func(p *Params) { p.Epochs = 99 }),
		"Steps":           with(strong, func(p *Params) { p.Steps = 0 }),
		"Eta":             with(good, func(p *Params) { p.Eta = 2.1 }),
		"StrongConvexity": with(strong, func(p *Params) { p.StrongConvexity = 2 }),
		"Smoothness":      with(strong, func(p *Params) { p.Smoothness = -1 }),
		"Diameter":        with(good, func(p *Params) { p.Diameter = math.Inf(1) }),
	} {
		_, err := Mu(p)
		var r *Refusal
		if !errors.As(err, &r) || r.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	// The limit of the theorem itself: D·b/(ηL) = 100 epochs.
	if _, err := Mu(with(good, func(p *Params) { p.Epochs = 100 })); err != nil {
		t.Errorf("100 epochs are enough: %v", err)
	}
	// η = 2/M does not contract.
	if _, err := Mu(with(strong, func(p *Params) { p.Eta = 2 })); err == nil {
		t.Error("eta = 2/M must be refused for a strongly convex run")
	}
	// Plain composition is still there.
	mu, refused, err := Best(with(good, func(p *Params) { p.Epochs = 4 }))
	if err != nil || refused == nil || refused.Field != "Epochs" {
		t.Fatal(mu, refused, err)
	}
	near(t, "composition", mu, 2*5./10/3, 1e-12)
}

func TestBestIsTheSmaller(t *testing.T) {
	p := Params{Kind: FullStronglyConvex, Sensitivity: 1, Sigma: 1, N: 10, Eta: 0.5, StrongConvexity: 0.01, Smoothness: 1}
	last := 0.0
	for steps := int64(1); steps < 1e9; steps *= 3 {
		p.Steps = steps
		mu, refused, err := Best(p)
		if err != nil || refused != nil {
			t.Fatal(refused, err)
		}
		plain, _ := Composition(p)
		if mu > plain {
			t.Errorf("t=%d: %g above plain composition %g", steps, mu, plain)
		}
		if mu < last*(1-1e-12) {
			t.Errorf("t=%d: fewer steps cost more", steps)
		}
		last = mu
	}
	// The limit for infinitely many steps: (L/(nσ))·√((1+c)/(1−c)).
	near(t, "limit", last, 0.1*math.Sqrt(1.995/0.005), 1e-9)
}

// kindAt is the kind of a number from 1 on, and an invalid one of any other.
func kindAt(i int) Kind {
	if kinds := Kinds(); i >= 1 && i <= len(kinds) {
		return kinds[i-1]
	}
	return ""
}

func FuzzMu(f *testing.F) {
	f.Add(int8(1), 1.0, 1.0, int64(10), int64(0), int64(100), 1.0, 0.01, 1.0, 1.0, 1e-6)
	f.Add(int8(2), 5.0, 8.0, int64(10), int64(0), int64(1000), 0.1, 0.0, 1.0, 1.0, 1e-9)
	f.Add(int8(3), 1.0, 1.0, int64(100), int64(5), int64(50), 1.0, 1.0, 1.0, 0.0, 1e-300)
	f.Add(int8(4), 5.0, 3.0, int64(200), int64(10), int64(1000), 0.02, 0.0, 1.0, 1.0, 0.5)
	f.Add(int8(5), 5.0, 3.0, int64(200), int64(10), int64(0), 0.02, 0.5, 1.0, 0.5, 1e-6)
	f.Fuzz(func(t *testing.T, kind int8, l, sigma float64, n, b, steps int64, eta, m, big, d, delta float64) {
		p := Params{Kind: kindAt(int(kind)), Sensitivity: l, Sigma: sigma, N: n, Batch: b, Steps: steps, Epochs: steps, Eta: eta, StrongConvexity: m, Smoothness: big, Diameter: d}
		if p.Kind == OnePass {
			p.Early, p.Rounding, p.Epochs = d, delta, 1
		}
		mu, _, err := Best(p)
		if err != nil {
			return
		}
		if !(mu >= 0) {
			t.Fatalf("%+v: mu %g", p, mu)
		}
		p.Sigma = sigma * 2
		if more, _, err := Best(p); err == nil && more > mu*(1+1e-9) {
			t.Fatalf("%+v: more noise, mu %g above %g", p, more, mu)
		}
	})
}
