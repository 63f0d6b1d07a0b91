package run

import (
	"math/big"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/builtin"
)

// begin debits the first step of a series.
func (y *yearly) begin(l *ledger.Ledger) {
	y.t.Helper()
	j := y.plan.Job.AtPeriod(threePeriods[0])
	q, err := (&plan.Priced{Planned: y.plan.Planner.(*plan.Planned)}).Request(nil)
	if err != nil {
		y.t.Fatal(err)
	}
	q.Account, q.Opening, q.Job, q.Digest = planned.AccountOf(j), planned.OpeningOf(j.Budget.Limit.Limit()), j.Name, j.Digest()
	q.Plan, q.Content, q.SliceKind, q.Steps[0].Does.At = planned.StepOf(y.plan.Job).Plans[0], ledger.SeriesContent, ledger.TextSlices, 1
	if _, err := l.Debit(y.t.Context(), q); err != nil {
		y.t.Fatal(err)
	}
}

// Two series of two jobs read the same slices and pay from one account: what the account says that a unit has lost, in one
// period or through its life, covers both. If the second one ran free, it would not.
func TestTwoSeriesOnOneAccount(t *testing.T) {
	first := newYearly(t, 1, "rho")
	second := planSeries(t, "periods_of_unit: {at_most: 2, binds: definition}", "rho", inprocess.Mechanisms(builtin.Mechanisms()),
		"job: tiny", "job: other", "running]", "{change: 1}]", `"0.1"`, `"0.07"`)
	at, err := ledger.ParseAddress("sqlite:"+testdir.New(t)+"/l.db", "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), at, ledger.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type state struct{ life, one *big.Rat }
	account := planned.AccountOf(first.plan.Job)
	spent := func() state {
		a, err := l.Account(t.Context(), account)
		if err != nil {
			t.Fatal(err)
		}
		all, err := l.Tallies(t.Context(), account)
		if err != nil || len(all) != len(threePeriods) {
			t.Fatal(all, err)
		}
		one := all[0].Spent[0]
		for _, s := range all {
			if s.Spent[0].Cmp(one) > 0 {
				one = s.Spent[0]
			}
		}
		return state{a.Spent[0], one}
	}
	first.begin(l)
	free := spent()
	second.begin(l)
	both := spent()

	var bases [2][]measured
	pair := [2]*yearly{first, second}
	for i, y := range pair {
		bases[i] = y.steps(others, nil)
	}
	two := []row{{2, 1}, {2, 1}}
	beaten := false
	for _, l := range []life{{two}, {nil, two}, {nil, nil, two}, {two, two}, {two, nil, two}, {nil, two, two}, {two, two, two}} {
		total := 0.0
		for i, y := range pair {
			with := y.steps(append(slices.Clone(others), l), nil)
			for _, rel := range y.plan.Releases() {
				total += y.apart(rel, bases[i], with)
			}
		}
		most, alone := float(both.life), float(free.life)
		if len(l.within()) == 1 {
			most, alone = float(both.one), float(free.one)
		}
		if total > most*slack {
			t.Errorf("%v costs ρ %g, and its account says %g", l, total, most)
		}
		beaten = beaten || total > alone*slack
	}
	if !beaten {
		t.Error("a second series that runs free is not caught")
	}
}
