package ledger

import (
	"cmp"
	"math"
	"math/big"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/step"
)

// billedWrongly are requests that each say less than they cost, or something else than they do, beside the code that
// refuses them. The request that it changes is debited as it is. // P38
var billedWrongly = map[string]struct {
	good  func(l *Ledger) Request
	wrong func(q *Request)
	code  string
}{
	"spend rounded down": {
		func(*Ledger) Request { return billed(request("p", 0), privacy.Gaussian{Sigma: 16}, 1e-6) },
		func(q *Request) { q.Charged.Epsilon = math.Nextafter(q.Charged.Epsilon, 0) }, CodeBill},
	"δ rounded down": {
		func(*Ledger) Request { return billed(request("p", 0), privacy.Gaussian{Sigma: 16}, 1e-6) },
		func(q *Request) { q.Charged.Delta = math.Nextafter(q.Charged.Delta, 0) }, CodeBill},
	"another relation": {
		func(*Ledger) Request { return billed(request("p", 0), privacy.Laplace{Scale: 8}, 0) },
		func(q *Request) { q.Charged = priceOf(q.Steps[0].Does.Bill, privacy.AddRemove) }, CodeBill},
	"amplified by a table that is no sample": {
		func(*Ledger) Request { return billed(request("p", 0), privacy.Pure{Eps: 0.5}, 0) },
		func(q *Request) {
			*q = billed(*q, privacy.WithoutReplacement{Take: 1, Of: 100, Event: privacy.Pure{Eps: 0.5}}, 0)
			q.Steps[0].Does.Bill.Event = privacy.Pure{Eps: 0.5} // what runs
		}, CodeBill},
	"amplified by a panel of another table": {
		func(*Ledger) Request {
			q := waveOf("p", 1, 1)
			return billed(q, q.Steps[0].Does.Bill.Event.(privacy.Rotation).Event, 1e-6)
		},
		func(q *Request) {
			*q = billed(*q, privacy.Rotation{Waves: 4, In: 1, Event: q.Steps[0].Does.Bill.Event}, 1e-6)
		}, CodeBill},
	"a wave as paid": {
		func(l *Ledger) Request {
			debitOne(l, waveOf("first", 1, 1))
			return knownWave(seen(1, waveOf("p", 1, 1)))
		},
		func(q *Request) { q.Charged = privacy.Point{} }, CodeBill},
	"a wave as one of all": {
		func(l *Ledger) Request {
			debitOne(l, waveOf("first", 1, 1))
			return knownWave(seen(1, waveOf("p", 1, 1)))
		},
		func(q *Request) { q.Charged = waveOf("p", 1, 1).Charged }, CodeBill},
	"a kept draw as new": {
		func(l *Ledger) Request { return keeping("p", sampleID(1), 0.5, 0) },
		func(q *Request) { q.Steps[0].Node = sampleID(2) }, CodeSample},
	"a step on a kept draw that spends more there": {
		func(l *Ledger) Request {
			q := keeping("p", sampleID(1), 0.5, 0)
			q.Charged = priceOf(privacy.Bill{Event: panel.With(privacy.Pure{Eps: 0.5})}, people.Relation)
			return q
		},
		func(q *Request) { q.Steps[0].Does.Bill = spending(0.5000001, 0) }, CodeBill},
	"a step without a bill": {
		func(l *Ledger) Request { return keeping("p", sampleID(1), 0.5, 0) },
		func(q *Request) { q.Steps[0].Does.Bill = privacy.Bill{} }, CodeBill},
	"nothing": {
		func(l *Ledger) Request { return request("p", 0.5) },
		func(q *Request) { q.Steps, q.Charged = nil, privacy.Point{} }, CodeBill},
	"a series by its mean column": {
		func(*Ledger) Request { return seriesStep([]string{"p", "later"}, 0) },
		func(q *Request) { q.One = rhoPrice(1) }, CodeBill},
	"a slice left out": {
		func(*Ledger) Request { return seriesStep([]string{"p", "later"}, 0) },
		func(q *Request) { q.Steps[0].Parts = q.Steps[0].Parts[:1] }, CodeBill},
	"a slice twice, and another not": {
		func(*Ledger) Request { return seriesStep([]string{"p", "later"}, 0) },
		func(q *Request) {
			q.Steps[0].Parts = []Part{{q.Steps[0].Parts[0].Is, "p"}, {q.Steps[0].Parts[0].Is, "later"}}
		}, CodeAccount},
	"a series beside something else": {
		func(*Ledger) Request { return seriesStep([]string{"p", "later"}, 0) },
		func(q *Request) { q.Steps = append(q.Steps, request("p", 0).Steps...) }, CodeBill},
	"a series of which another run is paid": {
		func(l *Ledger) Request {
			debitOne(l, seriesStep([]string{"first", "p"}, 0))
			return seriesStep([]string{"first", "p"}, 1)
		},
		func(q *Request) { q.Steps[0].Does.Measured[0].Matrix = [][]int64{{1}, {0, 1}} }, CodePinned},
	"a life that costs less than a slice": {
		func(*Ledger) Request { return seriesStep([]string{"p", "later"}, 0) },
		func(q *Request) { q.Charged = rhoPrice(1) }, CodeBill},
}

func debitOne(l *Ledger, q Request) {
	s, err := asking(l, q)
	if err == nil {
		err = l.Seal(background, s.Ticket, cmp.Or(q.Content, "c"), someFiles)
	}
	if err != nil {
		panic(err)
	}
}

// A bill that says less than the job costs is refused before its debit, whatever is wrong with it.
func TestWrongBills(t *testing.T) {
	for name, c := range billedWrongly {
		t.Run(name, func(t *testing.T) {
			l := open(t, "sqlite:"+testdir.New(t)+"/l.db")
			if name == "a kept draw as new" {
				sealKept(t, l, debit(t, l, keeping("first", sampleID(2), 0.5, 0)), sampleID(2))
			}
			q := c.good(l)
			before := countRecords(t, l)
			c.wrong(&q)
			if s, err := l.Debit(background, q); codeOf(err) != c.code || s.Ticket != nil {
				t.Errorf("%+v, %v", s, err)
			}
			if countRecords(t, l) != before {
				t.Error("a refused bill left a record")
			}
			fresh := open(t, "sqlite:"+testdir.New(t)+"/fresh.db")
			if s, err := fresh.Debit(background, c.good(fresh)); err != nil || s.Ticket == nil {
				t.Errorf("the right bill: %+v, %v", s, err)
			}
			verified(t, l)
		})
	}
}

func countRecords(t *testing.T, l *Ledger) (n int) {
	t.Helper()
	if err := l.Records(background, func(Record) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// A run that did anything else than its debit lists cannot seal: it drew twice or not at all, drew less noise, made a
// release more or left one out, or used another kept draw. // P38
func TestSealHoldsTheRunToItsBill(t *testing.T) {
	noise, sampled := privacy.Laplace{Scale: 8}, func(e privacy.Event) privacy.Event { return privacy.WithoutReplacement{Take: 1, Of: 10, Event: e} }
	both := privacy.Together([]privacy.Event{sampled(noise), privacy.Pure{Eps: 0.1}})
	for name, made := range map[string]map[string]Made{
		"nothing":         nil,
		"not sampled":     {"": {Event: privacy.Together([]privacy.Event{noise, privacy.Pure{Eps: 0.1}})}},
		"sampled twice":   {"": {Event: privacy.Together([]privacy.Event{sampled(sampled(noise)), privacy.Pure{Eps: 0.1}})}},
		"less noise":      {"": {Event: privacy.Together([]privacy.Event{sampled(privacy.Laplace{Scale: 7.9}), privacy.Pure{Eps: 0.1}})}},
		"one left out":    {"": {Event: sampled(noise)}},
		"one more":        {"": {Event: privacy.Together([]privacy.Event{both, privacy.Pure{Eps: 0.1}})}},
		"from a kept one": {"": {Event: both}, sampleID(1): {Event: noise}},
		"right":           {"": {Event: both}},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, "sqlite:"+testdir.New(t)+"/l.db")
			k := debit(t, l, billed(request("p", 0), both, 0))
			k.Made = made
			if err := l.Seal(background, k, "c", someFiles); (codeOf(err) == "") != (name == "right") || name != "right" && codeOf(err) != CodeBill {
				t.Errorf("%v", err)
			}
		})
	}
	l := open(t, "sqlite:"+testdir.New(t)+"/l.db")
	k := debit(t, l, keeping("p", sampleID(1), 0.5, 0))
	k.Made = map[string]Made{sampleID(1): {Event: panel.With(privacy.Approx{Eps: 0.4})}}
	if err := l.Seal(background, k, "c", someFiles, Rows{Sample: sampleID(1), Content: "c", Data: []byte("rows")}); codeOf(err) != CodeBill {
		t.Errorf("other noise on a kept sample: %v", err)
	}
}

// A step of a series adds up slices by the row of each matrix, and draws the noise that was debited, for each release and call. // P38
func TestSealHoldsASeriesToItsBill(t *testing.T) {
	plans, noise := []string{"step 0", "step 1"}, twoRuns()[0].Calls[0]
	less := privacy.DiscreteGaussian{Sigma: 7.9, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}}
	row := func(factors []int64, calls ...privacy.Event) Made {
		return Made{Measured: []periods.Series{{Matrix: [][]int64{factors}, Calls: calls}}}
	}
	for name, made := range map[string]map[string]Made{
		"nothing":        nil,
		"less noise":     {plans[0]: row([]int64{1, 1}, noise, less)},
		"a call not":     {plans[0]: row([]int64{1, 1}, noise)},
		"another factor": {plans[0]: row([]int64{2, 1}, noise, noise)},
		"another row":    {plans[0]: row([]int64{1}, noise, noise)},
		"more released":  {plans[0]: {Measured: append(row([]int64{1, 1}, noise, noise).Measured, row([]int64{1, 1}, noise).Measured...)}},
		"from the data":  {plans[0]: row([]int64{1, 1}, noise, noise), "": {Event: noise}},
		"of no series":   {"": {Event: noise}},
		"right":          {plans[0]: row([]int64{1, 1}, noise, noise)},
	} {
		l := open(t, "sqlite:"+testdir.New(t)+"/l.db")
		if err := l.Seal(background, debit(t, l, seriesStep(plans, 0)), SeriesContent, someFiles); err != nil {
			t.Fatal(err)
		}
		k := debit(t, l, seriesStep(plans, 1))
		k.Made = made
		if err := l.Seal(background, k, SeriesContent, someFiles); (codeOf(err) == "") != (name == "right") || name != "right" && codeOf(err) != CodeBill {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The traps of P38: what a plausible way to charge what jobs share claims, the truth, and what is charged.
func TestTrapsOfSharedState(t *testing.T) {
	basic := step.Account{Relation: privacy.AddRemove, Basic: true}
	first, err := step.Draw{Sampling: privacy.Poisson{Rate: 0.1}}.Spend(step.Fresh(), privacy.Point{Epsilon: 2}, basic)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the tree after less the tree before", func(t *testing.T) {
		// A binary response with ε = 2 on the draw; then δ = 1 on the sample if it said "in", and else δ = 0.1 on the table.
		p := math.Exp(2) / (1 + math.Exp(2))
		truth := 0.1*p + 0.1*(0.1*(1-p)+0.9*p) // at ε = log(1 + 0.1(e² − 1)): the outputs that show x
		if math.Abs(truth-0.1685) > 5e-5 {
			t.Fatalf("the truth %g", truth)
		}
		u, err := step.Draw{Sampling: privacy.Poisson{Rate: 0.1}}.Spend(first.After, privacy.Point{Delta: math.Nextafter(1, 0)}, basic)
		if err != nil {
			t.Fatal(err)
		}
		if delta, _ := u.After.Charged.Delta.Float64(); delta < truth {
			t.Errorf("charged δ %g, the truth is %g", delta, truth)
		}
		if naive := 0.1; naive >= truth {
			t.Error("the twin, q·δ, is not caught")
		}
	})
	t.Run("differences of Rényi curves", func(t *testing.T) {
		order := &Account{Key: Key{Relation: privacy.AddRemove}, Opening: Opening{Filter: RDP, Orders: []float64{3}}}
		sum, s := new(big.Rat), step.Fresh()
		for range 2 {
			u, err := step.Draw{Sampling: privacy.Poisson{Rate: 0.3}}.Spend(s, privacy.Point{Epsilon: math.Log(3)}, order.payer(privacy.Bill.Price))
			if err != nil {
				t.Fatal(err)
			}
			sum.Add(sum, u.Cost[0])
			s = u.After
		}
		if got, _ := sum.Float64(); got < 0.5444 {
			t.Errorf("two steps cost %g at order 3, and an adaptive choice reaches 0.5444", got)
		}
	})
	t.Run("a loss distribution across jobs", func(t *testing.T) {
		l := open(t, "sqlite:"+testdir.New(t)+"/l.db")
		noise := privacy.Gaussian{Sigma: 20}
		q := billed(request("p", 0), noise, 1e-6)
		debit(t, l, q)
		debit(t, l, billed(request("q", 0), noise, 1e-6))
		a, err := l.Account(background, people)
		if err != nil {
			t.Fatal(err)
		}
		want := new(big.Rat).SetFloat64(q.Charged.Epsilon)
		if want.Add(want, want); a.Spent[0].Cmp(want) != 0 {
			t.Errorf("two jobs cost %v, want the sum %v", a.Spent[0], want)
		}
		if twin := billed(request("r", 0), privacy.Repeat{N: 2, Event: noise}, 2e-6).Charged.Epsilon; a.Spent[0].Cmp(new(big.Rat).SetFloat64(twin)) <= 0 {
			t.Error("the twin, one loss distribution for both jobs, is not caught")
		}
	})
	t.Run("a calculus that was mended", func(t *testing.T) {
		// 1.0 was debited for what costs more by today's arithmetic: the next step pays for that, too.
		draw := step.Draw{Sampling: privacy.Poisson{Rate: 0.5}}
		s := step.State{Spent: Limit{Epsilon: big.NewRat(5, 2), Delta: new(big.Rat)}, Charged: Limit{Epsilon: big.NewRat(1, 1), Delta: new(big.Rat)}}
		u, err := draw.Spend(s, privacy.Point{Epsilon: 0.5}, basic)
		if err != nil {
			t.Fatal(err)
		}
		before, after := math.Log1p(0.5*math.Expm1(2.5)), math.Log1p(0.5*math.Expm1(3))
		total, _ := u.After.Charged.Epsilon.Float64()
		paid, _ := u.Cost[0].Float64()
		if total < after || paid < after-1 {
			t.Errorf("charged %g, %g in all; today's arithmetic says %g", paid, total, after)
		}
		if twin := 1 + (after - before); twin >= after {
			t.Error("the twin, the difference by today's arithmetic, is not caught")
		}
		// And never back.
		s.Charged.Epsilon = big.NewRat(9, 1)
		if u, err = draw.Spend(s, privacy.Point{Epsilon: 0.5}, basic); err != nil || u.Cost[0].Sign() != 0 {
			t.Errorf("%v, %v", u, err)
		}
	})
}
