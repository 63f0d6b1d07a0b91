package ledger

import (
	"math/big"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/privacy"
)

// A limit in ρ is compared exactly with what jobs cost in ρ (P28): to the last bit, with
// draws that do not make it smaller, and as the job's own limit.
func TestLimitInRho(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		half := Limit{Rho: big.NewRat(1, 2)}
		ask := func(plan string, e privacy.Event) Request {
			q := request(plan, 1)
			q.Opening = Opening{Filter: ZCDP, Limit: half}
			return billed(q, e, 1e-6)
		}
		// Poisson: under replace-one the inner ρ under replace-one.
		noise := privacy.Gaussian{Sigma: 2, Sensitivity: privacy.Sensitivity{AddRemove: 0.5, ReplaceOne: 1}}
		k := debit(t, l, ask("p", privacy.Poisson{Rate: 0.1, Event: noise}))
		if k.Cost[0].Cmp(big.NewRat(1, 8)) != 0 || k.Account.Filter != ZCDP || k.Account.Limit.String() != "ρ 0.5" {
			t.Errorf("%v, %+v", k.Cost, k.Account)
		}
		debit(t, l, ask("q", privacy.ZCDP{Rho: 0.375}))
		tiny := ask("r", privacy.ZCDP{Rho: 1e-17})
		if _, err := l.Debit(background, tiny); codeOf(err) != CodeExhausted || !strings.Contains(err.Error(), "allows ρ 0.5: the job needs ρ") {
			t.Errorf("%v", err)
		}
		for _, c := range []struct {
			change Change
			code   string
		}{
			{Change{Rho: big.NewRat(1, 4), Raise: true, Reason: "r"}, CodeLimit},
			{Change{Epsilon: big.NewRat(9, 1), Raise: true, Reason: "r"}, CodeLimit},
			{Change{Rho: big.NewRat(2, 1), Delta: big.NewRat(1, 9), Raise: true, Reason: "r"}, CodeLimit},
			{Change{Rho: big.NewRat(2, 1), Raise: true, Reason: "r"}, ""},
			{Change{Rho: big.NewRat(1, 1), Reason: "r"}, ""},
		} {
			if _, err := l.SetLimit(background, people, c.change); codeOf(err) != c.code {
				t.Errorf("%+v: %v", c.change, err)
			}
		}
		own := Limit{Rho: big.NewRat(5, 10)}
		tiny.Own = &own
		if _, err := l.Debit(background, tiny); codeOf(err) != CodeExhausted || !strings.Contains(err.Error(), "budget.limit of the job allows ρ 0.5") {
			t.Errorf("%v", err)
		}
		points := limit("20", "1/1000")
		tiny.Own = &points
		debit(t, l, tiny)
		acts, err := l.Acts(background)
		if err != nil || acts[0].Limit.String() != "ρ 0.5" || acts[1].Limit.String() != "ρ 2" {
			t.Errorf("%+v, %v", acts, err)
		}
		verified(t, l)
		// A ρ belongs to a zcdp account.
		other := people
		other.Dataset = "other"
		for _, filter := range []string{Basic, RDP} {
			o := Opening{Filter: filter, Limit: half}
			if filter == RDP {
				o.Orders = DefaultOrders()
			}
			if _, err := l.OpenAccount(background, other, o); codeOf(err) != CodeLimit || !strings.Contains(err.Error(), "needs the filter zcdp") {
				t.Errorf("%s: %v", filter, err)
			}
		}
		q := request("basic", 0.5)
		q.Account, q.Own = other, &own
		if _, err := l.Debit(background, q); codeOf(err) != CodeLimit {
			t.Errorf("%v", err)
		}
	})
}

// A lifetime limit in ρ, over slices.
func TestLifetimeInRho(t *testing.T) {
	l := open(t, "sqlite:"+testdir.New(t)+"/l.db")
	life := Limit{Rho: big.NewRat(1, 1)}
	for i, is := range []string{"1", "2", "3"} {
		q := inMonth(is, is, 1)
		q = billed(q, privacy.ZCDP{Rho: 0.5}, 1e-6)
		q.Opening = Opening{Filter: ZCDP, Limit: Limit{Rho: big.NewRat(1, 2)}, Lifetime: &life}
		if _, err := l.Debit(background, q); (i == 2) != (codeOf(err) == CodeExhausted) {
			t.Errorf("%s: %v", is, err)
		}
	}
	verified(t, l)
}
