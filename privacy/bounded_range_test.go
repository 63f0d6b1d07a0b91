package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// outcomes is one output law against another, outcome by outcome.
type outcomes struct{ p, q []float64 }

// twoPoint has the losses t and t − ε.
func twoPoint(eps, t float64) outcomes {
	p := math.Expm1(t-eps) / math.Expm1(-eps)
	return outcomes{[]float64{p, 1 - p}, []float64{p * math.Exp(-t), (1 - p) * math.Exp(eps-t)}}
}

// exponential is an exponential mechanism on two neighbours whose scores differ by at
// most delta in either direction: weights e^{eps·score/(2·delta)}.
func exponential(r *rand.Rand, n int, eps, delta float64) outcomes {
	var o outcomes
	sp, sq := 0.0, 0.0
	for range n {
		score := 10 * r.Float64()
		moved := score + delta*(2*r.Float64()-1)
		if r.IntN(2) == 0 {
			moved = score + delta*math.Copysign(1, r.Float64()-.5) // the extremes
		}
		p, q := math.Exp(eps*score/(2*delta)), math.Exp(eps*moved/(2*delta))
		o.p, o.q = append(o.p, p), append(o.q, q)
		sp, sq = sp+p, sq+q
	}
	for i := range o.p {
		o.p[i], o.q[i] = o.p[i]/sp, o.q[i]/sq
	}
	return o
}

// then runs next(i) after outcome i: an adaptive composition.
func (o outcomes) then(next func(i int) outcomes) outcomes {
	var out outcomes
	for i := range o.p {
		n := next(i)
		for j := range n.p {
			out.p, out.q = append(out.p, o.p[i]*n.p[j]), append(out.q, o.q[i]*n.q[j])
		}
	}
	return out
}

func (o outcomes) delta(eps float64) float64 {
	var d float64
	for i := range o.p {
		d += math.Max(0, o.p[i]-math.Exp(eps)*o.q[i])
	}
	return d
}

func (o outcomes) renyi(alpha float64) float64 {
	var s float64
	for i := range o.p {
		s += o.p[i] * math.Pow(o.p[i]/o.q[i], alpha-1)
	}
	return math.Log(s) / (alpha - 1)
}

var rangeOrders = []float64{1.01, 1.5, 2, 3, 7.5, 20, 100}

// halved is the broken twin: a ρ of ε²/16.
func halved(alpha, eps float64) float64 { return alpha * eps * eps / 16 }

// The curve is the supremum over all pairs of two losses, at every order, and below the
// quadratic bound.
func TestBoundedRangeCurveIsTheSupremum(t *testing.T) {
	caught := 0
	for _, eps := range []float64{1e-3, .25, 1, 4, 12} {
		for _, alpha := range rangeOrders {
			var worst float64
			for i := 1; i < 20000; i++ {
				worst = math.Max(worst, twoPoint(eps, eps*float64(i)/20000).renyi(alpha))
			}
			if math.IsInf(worst, 1) {
				continue // e^{(α−1)ε} overflows by hand
			}
			got := rangeDivergence(alpha, eps)
			if got < worst-1e-12 || got > worst*(1+1e-3)+1e-9 {
				t.Errorf("ε %g, α %g: %g, by hand %g", eps, alpha, got, worst)
			}
			if got > alpha*eps*eps/8*(1+1e-14) || got > eps {
				t.Errorf("ε %g, α %g: %g is above the quadratic bound or ε", eps, alpha, got)
			}
			if halved(alpha, eps) < worst {
				caught++
			}
		}
	}
	if caught < 10 {
		t.Errorf("a ρ of half the size was caught %d times only", caught)
	}
}

// Exponential mechanisms, alone and chosen by what came before, keep within every bound.
func TestBoundedRangeHoldsForExponentialMechanisms(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 28))
	const runs = 4
	broken := 0
	for range 60 {
		eps := math.Exp(4*r.Float64() - 3)
		one := func() outcomes {
			if r.IntN(2) == 0 {
				return twoPoint(eps, eps*(.05+.9*r.Float64()))
			}
			return exponential(r, 2+r.IntN(3), eps, 1)
		}
		o := one()
		for range runs - 1 {
			o = o.then(func(int) outcomes { return one() })
		}
		single := one()
		e := Repeat{runs, BoundedRange{Eps: eps}}
		rho, err := must(NewZCDPFilter(AddRemove, big.NewRat(1000, 1))).Cost(e)
		if err != nil {
			t.Fatal(err)
		}
		zcdp, _ := rho[0].Float64()
		for _, alpha := range rangeOrders {
			if d := single.renyi(alpha); d > rangeDivergence(alpha, eps)+1e-12 {
				t.Errorf("ε %g, α %g: divergence %g, bound %g", eps, alpha, d, rangeDivergence(alpha, eps))
			}
			if d := o.renyi(alpha); d > alpha*zcdp+1e-12 {
				t.Errorf("ε %g, α %g: divergence %g of %d runs, ρ %g", eps, alpha, d, runs, zcdp)
			} else if d > alpha*zcdp/2 {
				broken++
			}
		}
		for _, x := range []float64{0, eps / 4, eps / 2, .9 * eps, 1.5 * eps, 3 * eps} {
			for _, c := range []struct {
				e     Event
				truth float64
			}{{BoundedRange{Eps: eps}, single.delta(x)}, {e, o.delta(x)}} {
				a, err := DeltaAt(c.e, ReplaceOne, x)
				if err != nil {
					t.Fatal(err)
				}
				for name, b := range a.Methods {
					if b.Delta < c.truth-1e-13 {
						t.Errorf("%v at ε′ %g: %s says %g, the truth is at least %g", c.e, x, name, b.Delta, c.truth)
					}
				}
			}
		}
	}
	if broken == 0 {
		t.Error("no composition breaks a ρ of half the size: the test has no teeth")
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func TestBoundedRangeCosts(t *testing.T) {
	twenty := Repeat{20, BoundedRange{Eps: .25}}
	// By ρ alone it would be 2.733; the curve of P28 is a little lower.
	if a := mustEpsilon(t, twenty, AddRemove, 1e-6); a.Epsilon > 2.6208 || a.Epsilon < 2.6206 || a.Lower > a.Epsilon || a.Lower < 2.2 {
		t.Errorf("twenty selections cost %g, at least %g", a.Epsilon, a.Lower)
	}
	// One run: the profile is exact, by every method that knows it.
	one := mustEpsilon(t, BoundedRange{Eps: 1}, AddRemove, .01)
	want := 1 + 2*math.Log1p(-math.Sqrt(.01*-math.Expm1(-1)))
	if math.Abs(one.Epsilon-want) > 1e-9 || one.Lower < one.Epsilon*(1-1e-6) {
		t.Errorf("one selection costs %g, at least %g, want %g", one.Epsilon, one.Lower, want)
	}
	if pure := mustEpsilon(t, BoundedRange{Eps: 1}, AddRemove, 0); pure.Epsilon != 1 {
		t.Errorf("at δ 0: %g", pure.Epsilon)
	}
	// It is never dearer than the same pure ε, inside a draw or not, by any relation.
	for _, rel := range []Relation{AddRemove, ReplaceOne} {
		for _, around := range []func(Event) Event{
			func(e Event) Event { return e },
			func(e Event) Event { return Repeat{30, e} },
			func(e Event) Event { return Poisson{.1, Repeat{5, e}} },
			func(e Event) Event { return Repeat{40, Poisson{.05, e}} },
			func(e Event) Event { return WithoutReplacement{10, 100, Compose{[]Event{e, Laplace{Scale: 3}}}} },
			func(e Event) Event { return WithReplacement{10, 100, e} },
			func(e Event) Event { return Multistage{[]Stage{{2, 10, 0}, {5, 50, 0}}, e} },
		} {
			b, errB := EpsilonAt(around(BoundedRange{Eps: .7}), rel, 1e-5)
			p, errP := EpsilonAt(around(Pure{.7}), rel, 1e-5)
			if (errB == nil) != (errP == nil) || errB == nil && (b.Epsilon > p.Epsilon*(1+1e-9) || b.Lower > b.Epsilon) {
				t.Errorf("%v under %v costs %g in [%g, %g], pure %g (%v, %v)", around(BoundedRange{Eps: .7}), rel, b.Epsilon, b.Lower, b.Upper, p.Epsilon, errB, errP)
			}
		}
	}
	rho, err := must(NewZCDPFilter(ReplaceOne, big.NewRat(1, 1))).Cost(Repeat{3, BoundedRange{Eps: .5}})
	if err != nil || rho[0].Cmp(big.NewRat(3, 32)) != 0 {
		t.Errorf("ρ %v, %v", rho, err)
	}
	// Beyond ε = 8 the pure guarantee says more.
	if rho, err = must(NewZCDPFilter(ReplaceOne, big.NewRat(1, 1))).Cost(BoundedRange{Eps: 20}); err != nil || rho[0].Cmp(big.NewRat(201, 10)) > 0 {
		t.Errorf("ρ %v, %v", rho, err)
	}
	// Composed draws of a dominating pair that no neighbours attain have no false lower
	// bound.
	drawn := mustEpsilon(t, Repeat{10, WithoutReplacement{30, 100, BoundedRange{Eps: 1}}}, ReplaceOne, 1e-6)
	half := mustEpsilon(t, Repeat{10, WithoutReplacement{30, 100, Pure{.5}}}, ReplaceOne, 1e-6)
	if drawn.Lower > half.Epsilon {
		t.Errorf("a lower bound of %g; neighbours with losses ±ε/2 reach %g", drawn.Lower, half.Epsilon)
	}
}
