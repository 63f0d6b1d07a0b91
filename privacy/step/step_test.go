package step

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/rational"
)

// basic is an account that adds up ε and δ.
func basic(rel privacy.Relation) Account {
	return Account{Relation: rel, Basic: true, Price: privacy.Bill.Price, Cost: func(_ privacy.Event, p privacy.Point) (privacy.Cost, error) {
		a := rational.Exactly(p.Epsilon, p.Delta)
		return privacy.Cost{a.Epsilon, a.Delta}, nil
	}}
}

// inRho is an account that adds up ρ.
func inRho(t *testing.T) Account {
	f, err := privacy.NewZCDPFilter(privacy.AddRemove, new(big.Rat))
	if err != nil {
		t.Fatal(err)
	}
	return Account{Relation: privacy.AddRemove, Price: privacy.Bill.Price, Cost: func(e privacy.Event, _ privacy.Point) (privacy.Cost, error) { return f.Cost(e) }}
}

func spend(eps, delta float64) Event {
	return Event{Bill: privacy.Bill{Event: privacy.Approx{Eps: eps, Delta: delta}, Delta: delta}}
}

func float(x *big.Rat) float64 { f, _ := x.Float64(); return f }

// Steps on one draw add up to what all of it costs, amplified once, in whatever parts it is spent; each step amplified by itself,
// as the twin has it, is below that. // P4, P38
func TestSteps(t *testing.T) {
	for name, d := range map[string]struct {
		draw Draw
		rate float64
	}{
		"poisson":             {Draw{privacy.Poisson{Rate: 0.1}}, 0.1},
		"without replacement": {Draw{privacy.WithoutReplacement{Take: 3, Of: 10}}, 0.3},
	} {
		for _, parts := range [][]float64{{1}, {0.5, 0.5}, {2, 0.25, 1}, {0.1, 0.2, 0.3, 0.4}} {
			t.Run(fmt.Sprint(name, parts), func(t *testing.T) {
				s, sum, twin, all := Fresh(), new(big.Rat), 0.0, 0.0
				for _, eps := range parts {
					p, err := d.draw.Step(s, spend(eps, 0), basic(privacy.AddRemove))
					if err != nil {
						t.Fatal(err)
					}
					if p.Cost[0].Sign() < 0 || p.Adds().Epsilon.Cmp(p.Cost[0]) != 0 {
						t.Errorf("%+v", p)
					}
					s, all, twin = p.After, all+eps, twin+math.Log1p(d.rate*math.Expm1(eps))
					sum.Add(sum, p.Cost[0])
				}
				want := math.Log1p(d.rate * math.Expm1(all))
				if got := float(sum); got < want || got > want*(1+1e-9) {
					t.Errorf("costs %g, want %g", got, want)
				}
				if len(parts) > 1 && twin >= want {
					t.Error("the twin, each step amplified by itself, is not caught")
				}
			})
		}
	}
	a := basic(privacy.AddRemove)
	if p, err := (Data{}).Step(Fresh(), spend(0.5, 1e-6), a); err != nil || float(p.Cost[0]) < 0.5 || float(p.Cost[0]) > 0.5+1e-9 {
		t.Errorf("%+v, %v", p, err)
	}
	for name, f := range map[string]func() (*Price, error){
		"nothing":                   func() (*Price, error) { return Data{}.Step(Fresh(), Event{}, a) },
		"a panel without its node":  func() (*Price, error) { return Data{}.Step(Fresh(), wave(1), a) },
		"a panel with more":         func() (*Price, error) { return Panel{}.Step(Fresh(), spend(1, 0), a) },
		"a wave without its number": func() (*Price, error) { return Panel{}.Step(Fresh(), wave(0), a) },
		"a series of nothing":       func() (*Price, error) { return Series{}.Step(Fresh(), Event{At: 1}, a) },
		"a step beyond the series":  func() (*Price, error) { return Series{}.Step(Fresh(), run(3), a) },
	} {
		if p, err := f(); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	none := (*NoStep)(nil)
	two := Draw{privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2}, {Take: 1, Of: 2}}}}
	if _, err := two.Step(Fresh(), spend(1, 1e-9), basic(privacy.ReplaceOne)); !errors.As(err, &none) {
		t.Errorf("a δ on two stages: %v", err)
	}
	if _, err := (Draw{privacy.Poisson{Rate: 0.5}}).Step(Fresh(), spend(1, 1e-9), inRho(t)); !errors.As(err, &none) {
		t.Errorf("a δ on a draw of an account in ρ: %v", err)
	}
	// An account in ρ is charged the whole of each step: more than the difference.
	p, err := Draw{privacy.Poisson{Rate: 0.5}}.Step(State{Spent: rational.Exactly(1, 0), Charged: rational.Exactly(1, 0)}, spend(1, 0), inRho(t))
	if f := math.Log1p(0.5 * math.Expm1(2)); err != nil || float(p.Cost[0]) < f*f/2 {
		t.Errorf("%+v, %v", p, err)
	}
}

// wave is a wave of a rotation with Gaussian noise.
func wave(at int64) Event {
	return Event{At: at, Bill: privacy.Bill{Event: privacy.Rotation{Waves: 4, In: 1, Event: privacy.Gaussian{Sigma: 3}}, Delta: 1e-6}}
}

// The first wave is charged for all, another one nothing, and a wave once more what it costs a unit that is known to be in it:
// which is above what all waves cost, so that the twin, a wave once more for the price of all, is caught. // P34
func TestPanelSteps(t *testing.T) {
	a := basic(privacy.AddRemove)
	price := func(e privacy.Event) float64 {
		got, err := privacy.Bill{Event: e, Delta: 1e-6}.Price(privacy.AddRemove)
		if err != nil {
			t.Fatal(err)
		}
		return got.Epsilon
	}
	of := wave(1).Bill.Event.(privacy.Rotation)
	all, known := price(of), price(of.Event)
	if known <= all {
		t.Error("the twin is not caught")
	}
	s, total := Fresh(), 0.0
	for i, c := range []struct {
		at   int64
		want float64
	}{{3, all}, {1, 0}, {2, 0}, {1, known}, {4, 0}, {4, known}} {
		p, err := Panel{}.Step(s, wave(c.at), a)
		if err != nil {
			t.Fatal(err)
		}
		cost := 0.0
		if p.Cost != nil {
			cost = float(p.Cost[0])
		}
		if total += c.want; cost != c.want || math.Abs(float(p.After.Charged.Epsilon)-total) > 1e-12 {
			t.Errorf("step %d, wave %d: %g, want %g; %v in all", i, c.at, cost, c.want, p.After.Charged)
		}
		s = p.After
	}
	if fmt.Sprint(s.Done) != "[1 2 3 4]" {
		t.Errorf("%v", s.Done)
	}
}

// run is a run of a series with the matrix [[1], [1, 2]]: slice 0 costs 2, slice 1 costs 4, a unit in both 1 + 9.
func run(at int64) Event {
	noise := privacy.DiscreteGaussian{Sigma: 8, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}}
	return Event{At: at, Bill: privacy.Bill{Delta: 1e-6}, Measured: []periods.Series{{Matrix: [][]int64{{1}, {1, 2}}, Calls: []privacy.Event{noise}, AtMost: 1, Apart: 1}}}
}

// The first step is charged all slices and a life, which is not their sum; another one nothing; a row once more by itself. // P31
func TestSeriesSteps(t *testing.T) {
	a, s := inRho(t), Fresh()
	for i, c := range []struct {
		at           int64
		life         float64
		slices       []float64
		dearestSlice float64
	}{{1, 10, []float64{2, 4}, 4}, {2, 0, nil, 0}, {2, 9, []float64{1, 4}, 4}, {1, 1, []float64{1}, 1}} {
		p, err := Series{}.Step(s, run(c.at), a)
		if err != nil {
			t.Fatal(err)
		}
		if c.life == 0 {
			if p.Cost != nil || p.Slices != nil {
				t.Errorf("step %d costs %v", i, p.Cost)
			}
		} else if float(p.Cost[0])*128 != c.life || len(p.Slices) != len(c.slices) {
			t.Errorf("step %d costs %v, %v", i, p.Cost, p.Slices)
		}
		for k, want := range c.slices {
			if float(p.Slices[k][0])*128 != want {
				t.Errorf("step %d, slice %d: %v, want %g/128", i, k, p.Slices[k], want)
			}
		}
		if want, err := (privacy.Bill{Event: privacy.ZCDP{Rho: c.dearestSlice / 128}, Delta: 1e-6}).Price(privacy.AddRemove); c.dearestSlice > 0 && (err != nil || p.One.Epsilon < want.Epsilon*(1-1e-12) || p.One.Epsilon > want.Epsilon*(1+1e-12)) {
			t.Errorf("step %d: a slice costs %v, want %g", i, p.One, want.Epsilon)
		}
		s = p.After
	}
}
