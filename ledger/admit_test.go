package ledger

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// A refusal says what is over, what would fit, and that a job does not raise a limit.
func TestRefusalSaysWhatFits(t *testing.T) {
	for _, c := range []struct {
		filter     string
		limit, own Limit
		eps, delta float64
		want       string
	}{
		{Basic, limit("2", "1/1000000"), limit("2", "1/1000000"), 0.5, 1e-5, "the job needs δ 1.00001e-05 and 0.000001 is left, 9.00001e-06 too little; a job that costs at most 0.099999 times as much would fit"},
		{Basic, limit("2", "0"), limit("2", "0"), 0.5, 1e-5, "the job needs δ 1.00001e-05 and the limit allows none; a job that needs no δ can still spend ε 2"},
		{Basic, limit("0", "0"), limit("0", "0"), 0.5, 0, "nothing is left for any job, unless the limit is raised"},
		{Basic, limit("1", "0"), limit("4", "1/1000000"), 2, 0, "budget.limit of the job (ε 4, δ 0.000001) does not raise the limit of the account: dprelease ledger raise --dataset people --relation replace-one --epsilon 4 --delta 0.000001 --reason TEXT does"},
		{Basic, limit("4", "0"), limit("1", "0"), 2, 0, "budget.limit of the job allows ε 1, δ 0"},
	} {
		a := Unopened(people, Opening{Filter: c.filter, Limit: c.limit})
		cost, err := a.Cost(nil, privacy.Point{Epsilon: c.eps, Delta: c.delta})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Admit(cost, &c.own, nil); codeOf(err) != CodeExhausted || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// Of an rdp account the order with the largest share left comes first, also in a refusal: a
// small order has next to no limit, and says nothing of what would fit.
func TestOrderWithTheLargestShareLeft(t *testing.T) {
	a := Unopened(people, Opening{Filter: RDP, Orders: []float64{2, 8, 8.01, 12, 512}, Limit: limit("2", "1/1000000")})
	shares := func() (out []float64) {
		for _, m := range a.Amounts() {
			f, _ := m.share().Float64()
			out = append(out, f)
		}
		return out
	}
	cost, err := a.Cost(privacy.Gaussian{Sigma: 20}, privacy.Point{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		a.Charge(cost)
		all := shares()
		if !slices.IsSortedFunc(all, func(x, y float64) int { return cmp.Compare(y, x) }) || a.Amounts()[0].Unit != "divergence of order 12" {
			t.Fatalf("%v %s", all, a.Amounts()[0].Unit)
		}
	}
	for range 100 {
		if err = a.Admit(cost, nil, nil); err != nil {
			break
		}
		a.Charge(cost)
	}
	if err == nil || !strings.Contains(err.Error(), "divergence of order 12 ") || strings.Contains(err.Error(), "of order 8") {
		t.Errorf("%v", err)
	}
}

// Limits are compared exactly, by whoever admits, charges or audits: what is spent may be the limit, and not a part in 10^40 more.
func TestLimitsHaveNoTolerance(t *testing.T) {
	grain := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(40), nil))
	for _, o := range []Opening{
		{Filter: Basic, Limit: limit("1", "1/1000")},
		{Filter: ZCDP, Limit: limit("1", "1/1000000")},
		{Filter: RDP, Orders: []float64{2, 8, 32}, Limit: limit("1", "1/1000000")},
	} {
		o.Lifetime = &o.Limit
		a := Unopened(people, o)
		a.ID = 1
		b, err := a.bounds()
		if err != nil {
			t.Fatal(err)
		}
		at := a.nothing()
		for i, x := range pick(at, b.one.places) {
			x.Set(b.one.most[i])
		}
		for _, over := range []bool{false, true} {
			if over {
				for _, x := range pick(at, b.one.places) {
					x.Add(x, grain)
				}
			}
			a.Spent = a.nothing()
			if err := a.Admit(at, &a.Limit, &a.Limit); (err != nil) != over {
				t.Errorf("%s, over: %v: admitted with %v", o.Filter, over, err)
			}
			a.Spent = at
			if b.within(a) == over || b.lives(a) == over {
				t.Errorf("%s, over: %v: within %v, of all slices %v", o.Filter, over, b.within(a), b.lives(a))
			}
			v := NewAuditor()
			v.bounds[a.ID] = bounds{one: b.one}
			v.limits(1, a)
			if (len(v.found) == 1) != over {
				t.Errorf("%s, over: %v: the audit finds %v", o.Filter, over, v.found)
			}
		}
	}
}
