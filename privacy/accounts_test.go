package privacy

import (
	"errors"
	"math/big"
	"testing"
)

func TestBasicFilter(t *testing.T) {
	tenth := big.NewRat(1, 10)
	f, err := NewBasicFilter(AddRemove, big.NewRat(1, 1), big.NewRat(1, 1e6))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 { // ten tenths are exactly one
		if err := f.Spend(Cost{tenth, new(big.Rat)}); err != nil {
			t.Fatalf("debit %d: %v", i, err)
		}
	}
	if err := f.Spend(Cost{big.NewRat(1, 1e18), new(big.Rat)}); !errors.Is(err, ErrExhausted) {
		t.Errorf("overspent by 1e-18: %v", err)
	}
	if f.Total()[0].Cmp(big.NewRat(1, 1)) != 0 || f.Remaining()[0].Sign() != 0 || f.Remaining()[1].Cmp(big.NewRat(1, 1e6)) != 0 {
		t.Errorf("total %v, remaining %v", f.Total(), f.Remaining())
	}
	c, err := f.Cost(Laplace{Scale: 2})
	if err != nil || c[0].Cmp(big.NewRat(1, 2)) != 0 {
		t.Errorf("cost %v, %v", c, err)
	}
	if _, err := f.Cost(Gaussian{Sigma: 1}); err == nil {
		t.Error("a Gaussian has no pure cost")
	}
	if err := f.Spend(Cost{big.NewRat(-1, 1), new(big.Rat)}); err == nil {
		t.Error("a refund was accepted")
	}
}

func TestZCDPFilter(t *testing.T) {
	rho, err := RhoFor(Point{1, 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewZCDPFilter(ReplaceOne, rho)
	if err != nil {
		t.Fatal(err)
	}
	e := Repeat{3, Gaussian{Sigma: 60}} // replace-one shift 2: rho 3·(1/30)²/2 = 1/600
	c, err := f.Cost(e)
	if err != nil || c[0].Cmp(big.NewRat(1, 600)) < 0 {
		t.Fatalf("cost %v (%v)", c, err)
	}
	n := 0
	for f.Spend(c) == nil {
		n++
	}
	// What was spent, as one composition, keeps within the target; one more debit does not fit.
	total, _ := new(big.Rat).Mul(c[0], big.NewRat(int64(n), 1)).Float64()
	a := mustEpsilon(t, ZCDP{total}, ReplaceOne, 1e-6)
	if n == 0 || a.Epsilon > 1 {
		t.Errorf("%d debits, epsilon %g", n, a.Epsilon)
	}
	if more := mustEpsilon(t, ZCDP{total + 1./600}, ReplaceOne, 1e-6); more.Epsilon <= 1 {
		t.Errorf("a debit that fits was refused: %g", more.Epsilon)
	}
	// P28: sampling does not amplify ρ. The relation is that on the sample, and a unit
	// that is drawn n times counts n² times.
	for _, c := range []struct {
		e    Event
		rel  Relation
		want *big.Rat
	}{
		{Poisson{.1, Gaussian{Sigma: 2}}, ReplaceOne, big.NewRat(1, 2)},
		{Poisson{.1, Gaussian{Sigma: 2}}, AddRemove, big.NewRat(1, 8)},
		{WithoutReplacement{1, 10, Gaussian{Sigma: 2}}, AddRemove, big.NewRat(1, 2)},
		{Repeat{3, WithReplacement{4, 10, Gaussian{Sigma: 2}}}, ReplaceOne, big.NewRat(24, 1)},
	} {
		f, err := NewZCDPFilter(c.rel, rho)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Cost(c.e); err != nil || got[0].Cmp(c.want) < 0 || got[0].Cmp(new(big.Rat).Mul(c.want, big.NewRat(1_000_001, 1_000_000))) > 0 {
			t.Errorf("%+v under %s costs %v, want %v (%v)", c.e, c.rel, got, c.want, err)
		}
	}
	if c, err := f.Cost(Poisson{.5, Pure{1}}); err != nil || c[0].Cmp(big.NewRat(1, 2)) >= 0 {
		t.Errorf("an amplified pure event: %v %v", c, err)
	}
}

func TestRDPFilter(t *testing.T) {
	limit := Point{2, 1e-6}
	f, err := NewRDPFilter(AddRemove, limit, []float64{1.01, 2, 4, 8, 16, 32, 64})
	if err != nil {
		t.Fatal(err)
	}
	e := Repeat{10, Poisson{.01, Gaussian{Sigma: 1}}}
	c, err := f.Cost(e)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for f.Spend(c) == nil {
		n++
	}
	a := mustEpsilon(t, Repeat{10 * n, Poisson{.01, Gaussian{Sigma: 1}}}, AddRemove, 1e-6)
	if n < 10 || a.Epsilon > limit.Epsilon {
		t.Errorf("%d debits cost %g", n, a.Epsilon)
	}
	t.Logf("%d debits of ten steps; as one frozen plan they cost %.4f of %g", n, a.Epsilon, limit.Epsilon)
	if _, err := f.Cost(Approx{1, 1e-9}); err == nil {
		t.Error("a point with delta has no curve")
	}
	if _, err := NewRDPFilter(AddRemove, limit, []float64{0.5}); err == nil {
		t.Error("an order below 1 was accepted")
	}
	if _, err := NewRDPFilter(0, limit, []float64{2}); err == nil {
		t.Error("an account without a relation")
	}
}

func TestCalibrateFields(t *testing.T) {
	sgd := Repeat{1000, Poisson{.01, Gaussian{Sigma: 1}}}
	for _, c := range []struct {
		e      Event
		field  string
		rel    Relation
		target Point
		worse  float64 // a factor that must break the target
	}{
		{sgd, "sigma", AddRemove, Point{1, 1e-6}, .99},
		{sgd, "repeat.event.poisson.rate", AddRemove, Point{1, 1e-6}, 1.01},
		{sgd, "n", ReplaceOne, Point{1, 1e-6}, 1.01},
		{Gaussian{Sigma: 1}, "sigma", ReplaceOne, Point{.5, 1e-9}, 1 - 1e-9},
		{Laplace{Scale: 1}, "scale", ReplaceOne, Point{.5, 0}, 1 - 1e-12},
		{WithoutReplacement{101, 10001, Pure{1}}, "eps", ReplaceOne, Point{1, 0}, 1 + 1e-12},
		{WithoutReplacement{101, 10001, Pure{5}}, "n", ReplaceOne, Point{1, 0}, 1.02},
		{Compose{[]Event{Pure{.25}, Laplace{Scale: 9}}}, "compose[1].laplace.scale", AddRemove, Point{1, 0}, 1 - 1e-12},
		{Multistage{[]Stage{{2, 10, 0}, {5, 50, 0}}, Pure{1}}, "eps", ReplaceOne, Point{1, 0}, 1 + 1e-9},
	} {
		e, x, a, err := CalibrateField(c.e, c.field, c.rel, c.target)
		if err != nil {
			t.Errorf("%s of %#v: %v", c.field, c.e, err)
			continue
		}
		if a.Epsilon > c.target.Epsilon {
			t.Errorf("%s = %g costs %g", c.field, x, a.Epsilon)
		}
		if again := mustEpsilon(t, e, c.rel, c.target.Delta); again.Epsilon > c.target.Epsilon {
			t.Errorf("%s = %g costs %g when asked again", c.field, x, again.Epsilon)
		}
		for _, f := range fields(c.e, "", func(e Event) Event { return e }) {
			if f.path != c.field && len(f.path) > len(c.field) && f.path[len(f.path)-len(c.field)-1:] != "."+c.field {
				continue
			}
			if f.path == c.field || len(f.path) > len(c.field) {
				worse := x * c.worse
				if f.whole {
					worse = x + 1
				}
				if w := mustEpsilon(t, f.set(worse), c.rel, c.target.Delta); w.Epsilon <= c.target.Epsilon {
					t.Errorf("%s = %g is not the best: %g costs %g", c.field, x, worse, w.Epsilon)
				}
			}
		}
	}
	if _, _, _, err := CalibrateField(sgd, "scale", AddRemove, Point{1, 1e-6}); err == nil {
		t.Error("a field that does not exist was calibrated")
	}
	if _, _, _, err := CalibrateField(Compose{[]Event{Pure{1}, Pure{1}}}, "eps", AddRemove, Point{1, 0}); err == nil {
		t.Error("an ambiguous field was calibrated")
	}
	if _, _, _, err := CalibrateField(Compose{[]Event{Pure{2}, Gaussian{Sigma: 1}}}, "sigma", AddRemove, Point{1, 1e-6}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("an unreachable target: %v", err)
	}
}
