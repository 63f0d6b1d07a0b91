package ledger

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/step"
)

// The matrix [[1,0],[1,1]]: slice 0 costs 2, slice 1 costs 1, a unit in both 5.
const unitOfRho = 1.0 / 64

func rhoPrice(c int) privacy.Point {
	return priceOf(privacy.Bill{Event: privacy.ZCDP{Rho: float64(c) * unitOfRho}, Delta: 1e-6}, people.Relation)
}

// twoRuns is a release with that matrix: Δ²/2σ² of its two calls are 1/128 each.
func twoRuns() []periods.Series {
	noise := privacy.DiscreteGaussian{Sigma: 8, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}}
	return []periods.Series{{Matrix: [][]int64{{1}, {1, 1}}, Calls: []privacy.Event{noise, noise}, AtMost: 1, Apart: 1}}
}

// seriesStep asks for step t of that series.
func seriesStep(plans []string, t int) Request {
	periods := []string{"2026-01", "2026-02"}
	q := Request{Account: month(periods[t]), Opening: Opening{Filter: ZCDP, Limit: Limit{Rho: big.NewRat(4, 64)}}, Job: "series", Digest: "d",
		Plan: plans[t], Content: SeriesContent, Charged: rhoPrice(5), One: rhoPrice(2), SliceKind: TextSlices, Charges: []Charge{{Name: "visits"}}, Revise: true, Keeps: []string{"month"}}
	q.Steps = []Step{{Node: plans[0], Begins: KindSeries, Steady: true,
		Begin: Begin{Facts: `{"job":"series"}`, Parts: []Part{{periods[0], plans[0]}, {periods[1], plans[1]}}},
		Does:  step.Event{At: int64(t) + 1, Bill: privacy.Bill{Delta: 1e-6}, Measured: twoRuns()}}}
	return q
}

func holdsRho(t *testing.T, l *Ledger, life int64, slices ...int64) {
	t.Helper()
	a, err := l.Account(background, month(""))
	if err != nil {
		t.Fatal(err)
	}
	if a.Spent[0].Cmp(big.NewRat(life, 64)) != 0 {
		t.Errorf("a life has spent %v, want %d/64", a.Spent[0], life)
	}
	all, err := l.Tallies(background, month(""))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range slices {
		if all[i].Spent[0].Cmp(big.NewRat(want, 64)) != 0 {
			t.Errorf("slice %s has spent %v, want %d/64", all[i].Is, all[i].Spent[0], want)
		}
	}
	verified(t, l)
}

// The first step pays for every slice, and for a life what the matrix says: not the sum over the slices (P31).
func TestSeriesLifeIsNotTheSum(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		plans := []string{"step 0", "step 1"}
		if _, err := l.Debit(background, seriesStep(plans, 1)); codeOf(err) != CodeSeries {
			t.Errorf("the second step before the first: %v", err)
		}
		k := debit(t, l, seriesStep(plans, 0))
		if k.Account.InSlice.Is != "2026-01" || k.Account.Slices != 2 {
			t.Errorf("%+v", k.Account)
		}
		holdsRho(t, l, 5, 2, 1)
		if _, err := l.Debit(background, seriesStep(plans, 1)); codeOf(err) != CodeSeries {
			t.Errorf("the second step before the first has bytes: %v", err)
		}
		if err := l.Seal(background, k, SeriesContent, []File{{Path: "y", Data: []byte("1")}}); err != nil {
			t.Fatal(err)
		}
		s, err := asking(l, seriesStep(plans, 0))
		if err != nil || s.Found == nil {
			t.Errorf("a measured step is found: %+v, %v", s, err)
		}
		k = debit(t, l, seriesStep(plans, 1))
		holdsRho(t, l, 5, 2, 1)
		if err := l.Seal(background, k, SeriesContent, []File{{Path: "y", Data: []byte("2")}}); err != nil {
			t.Fatal(err)
		}
		n, err := l.Node(background, plans[0])
		if err != nil || n.Facts != `{"job":"series"}` || !slices.Equal(n.Done, []int64{1, 2}) || len(n.Parts) != 2 {
			t.Errorf("%+v, %v", n, err)
		}
		// What is arithmetic on the measurements costs nothing.
		q := seriesStep(plans, 1)
		q.Steps, q.Free, q.Plan, q.Content = nil, true, "files", "c"
		debit(t, l, q)
		holdsRho(t, l, 5, 2, 1)
	})
}

// A step that lost its bytes is drawn again only where a person says so, and for the price of its row.
func TestSeriesRedraw(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		plans := []string{"step 0", "step 1"}
		k := debit(t, l, seriesStep(plans, 0))
		if err := l.End(background, k, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Debit(background, seriesStep(plans, 0)); codeOf(err) != CodeUnfinished {
			t.Errorf("a lost step: %v", err)
		}
		q := seriesStep(plans, 0)
		q.Again = true
		k = debit(t, l, q)
		holdsRho(t, l, 6, 3, 1)
		if err := l.Seal(background, k, SeriesContent, []File{{Path: "y", Data: []byte("1")}}); err != nil {
			t.Fatal(err)
		}
		k = debit(t, l, seriesStep(plans, 1))
		if err := l.End(background, k, nil); err != nil {
			t.Fatal(err)
		}
		q = seriesStep(plans, 1)
		q.Again = true
		debit(t, l, q)
		holdsRho(t, l, 10, 4, 2)
	})
}

// A series that does not fit in one of its slices, in the job's own limit or in a life is not debited at all.
func TestSeriesLimits(t *testing.T) {
	l := open(t, "sqlite:"+t.TempDir()+"/l.db")
	plans := []string{"step 0", "step 1"}
	other := seriesStep(plans, 1)
	other = billed(other, privacy.ZCDP{Rho: 3.5 * unitOfRho}, 1e-6)
	other.Plan, other.Content = "before", ""
	debit(t, l, other)
	refused := func(q Request, want string) {
		t.Helper()
		if _, err := l.Debit(background, q); codeOf(err) != CodeExhausted || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	refused(seriesStep(plans, 0), "month = 2026-02")
	if _, err := l.SetLimit(background, month(""), Change{Rho: big.NewRat(1, 1), Raise: true, Reason: "more"}); err != nil {
		t.Fatal(err)
	}
	q := seriesStep(plans, 0)
	q.Own = &Limit{Rho: big.NewRat(3, 128)}
	refused(q, "budget.limit of the job")
	q = seriesStep(plans, 0)
	q.OwnLife = &Limit{Rho: big.NewRat(8, 64)}
	refused(q, "for all slices together")
	verified(t, l)
	debit(t, l, seriesStep(plans, 0))
	a, err := l.Account(background, month("2026-02"))
	if err != nil || a.InSlice.Spent[0].Cmp(big.NewRat(9, 128)) != 0 || a.Spent[0].Cmp(big.NewRat(17, 128)) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}
