package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/privacy"
)

// month is a slice of the data set people.
func month(is string) Key {
	k := people
	k.Slice = Slice{Column: "month", Is: is}
	return k
}

// inMonth asks for a pure ε on one month.
func inMonth(plan, is string, eps float64) Request {
	q := request(plan, eps)
	q.Account, q.Keeps, q.SliceKind = month(is), []string{"month"}, TextSlices
	return q
}

// slicesNow returns the state of the months in a ledger, for the offline checker.
func slicesNow(t testing.TB, l *Ledger) ledgercheck.State {
	t.Helper()
	verified(t, l)
	s := ledgercheck.State{Spent: new(big.Rat), Limit: new(big.Rat), Largest: new(big.Rat), Debits: map[int64]ledgercheck.Debit{}, Slices: map[string]*big.Rat{}}
	a, err := l.Account(background, month(""))
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		return s
	}
	s.Spent, s.Limit = a.Spent[0], a.Limit.Epsilon
	if a.Lifetime != nil {
		s.Lifetime = a.Lifetime.Epsilon
	}
	if a.Slices > 0 {
		s.Largest = a.Largest[0]
	}
	all, err := l.Tallies(background, month(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		s.Slices[one.Is] = one.Spent[0]
	}
	err = l.Records(background, func(r Record) error {
		switch r.Kind {
		case "debit":
			var b debitBody
			if err := decode(r.Body, &b); err != nil {
				return err
			}
			s.Debits[r.Seq] = ledgercheck.Debit{Plan: b.Plan, Hash: r.Hash, Cost: b.Cost[0], Slice: b.Slice}
		case "charge":
			var b chargeBody
			if err := decode(r.Body, &b); err != nil {
				return err
			}
			n := int64(0)
			for _, c := range b.Charges {
				for _, is := range c.Slices {
					n++
					s.Debits[-r.Seq<<32-n] = ledgercheck.Debit{Cost: c.Cost[0], Slice: is}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each slice has the whole limit of its account. The largest slice and the sum of all are
// what the debits are, exactly.
func TestSlicesAreApart(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		for i, is := range []string{"2026-01", "2026-02", "2026-01", "2026-03"} {
			k := debit(t, l, inMonth(fmt.Sprint(i), is, 0.5))
			if k.Account.InSlice.Is != is || k.Account.Slices != []int64{1, 2, 2, 3}[i] {
				t.Errorf("%+v", k.Account)
			}
		}
		for _, wrong := range ledgercheck.Check(slicesNow(t, l), nil, nil) {
			t.Error(wrong)
		}
		_, err := l.Debit(background, inMonth("more", "2026-01", 0.25))
		if codeOf(err) != CodeExhausted || !strings.Contains(err.Error(), "month = 2026-01) allows ε 1, δ 0.001 for each slice: the job needs ε 0.25 and the budget is spent") {
			t.Errorf("%v", err)
		}
		debit(t, l, inMonth("more", "2026-02", 0.25))
		a, err := l.Account(background, month(""))
		if err != nil || a.Slices != 3 || a.Debits != 5 || costText(a.Units(), a.Largest) != "ε 1, δ 0" || costText(a.Units(), a.Spent) != "ε 2.25, δ 0" {
			t.Errorf("%+v, %v", a, err)
		}
		if fmt.Sprint(a.Keeps) != "[month]" {
			t.Errorf("keeps %v", a.Keeps)
		}
		one, err := l.Account(background, month("2026-02"))
		if err != nil || one.InSlice.Debits != 2 || costText(one.Units(), one.InSlice.Spent) != "ε 0.75, δ 0" {
			t.Errorf("%+v, %v", one, err)
		}
		none, err := l.Account(background, month("2027-01"))
		if err != nil || none.InSlice.Debits != 0 || costText(none.Units(), none.InSlice.Spent) != "ε 0, δ 0" {
			t.Errorf("%+v, %v", none, err)
		}
		spends, err := l.Spends(background, a.ID)
		if err != nil || len(spends) != 5 || spends[4].Slice != "2026-02" {
			t.Errorf("%+v, %v", spends, err)
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		if err := l.Records(background, func(r Record) error { return e.Encode(r) }); err != nil {
			t.Fatal(err)
		}
		if v, err := ReadChain(&b); err != nil || len(v.Findings()) > 0 {
			t.Errorf("the exported chain: %v, %v", v.Findings(), err)
		}
	})
}

// A slice belongs to no sample of another slice: one draw across slices is not to be had.
func TestKeptSampleStaysInItsSlice(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		id := sampleID(1)
		q := keeping("k", id, 0.25, 0)
		q.Account, q.SliceKind = month("2026-01"), TextSlices
		sealKept(t, l, debit(t, l, q), id)
		use := keptBefore(keeping("u", id, 0.125, 0), 1)
		for is, code := range map[string]string{"2026-01": "", "2026-02": CodeSample} {
			use.Plan, use.Account, use.SliceKind = is, month(is), TextSlices
			if _, err := l.Debit(background, use); codeOf(err) != code {
				t.Errorf("%s: %v, want %q", is, err, code)
			}
		}
		verified(t, l)
		if CollectedID(month("2026-01")) == CollectedID(month("2026-02")) || CollectedID(month("2026-01")) == CollectedID(people) {
			t.Error("two slices have one collection")
		}
	})
}

// The limit over all slices is one more limit of every debit.
func TestLifetime(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		life := limit("1", "1/1000")
		o := Opening{Filter: Basic, Limit: limit("1/2", "1/1000"), Lifetime: &life}
		if _, err := l.OpenAccount(background, people, o); codeOf(err) != CodeLimit {
			t.Errorf("without slices: %v", err)
		}
		if _, err := l.OpenAccount(background, month(""), o); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			debit(t, l, inMonth(fmt.Sprint(i), fmt.Sprint(i), 0.25))
		}
		_, err := l.Debit(background, inMonth("more", "9", 0.25))
		if codeOf(err) != CodeExhausted || !strings.Contains(err.Error(), "allows ε 1, δ 0.001 for all slices together") {
			t.Errorf("%v", err)
		}
		for _, wrong := range ledgercheck.Check(slicesNow(t, l), nil, nil) {
			t.Error(wrong)
		}
		// Raised as any other limit, and the job's own is as good.
		three := limit("3", "0").Epsilon
		if _, err := l.SetLimit(background, month("9"), Change{Epsilon: three, Life: true, Raise: true, Reason: "r"}); err != nil {
			t.Fatal(err)
		}
		own := limit("9/8", "1")
		q := inMonth("more", "9", 0.25)
		q.OwnLife = &own
		if _, err := l.Debit(background, q); codeOf(err) != CodeExhausted || !strings.Contains(err.Error(), "budget.lifetime of the job allows ε 1.125") {
			t.Errorf("%v", err)
		}
		q.OwnLife = nil
		debit(t, l, q)
		a, err := l.SetLimit(background, month(""), Change{Epsilon: limit("5/4", "0").Epsilon, Life: true, Reason: "r"})
		if err != nil || a.Lifetime.String() != "ε 1.25, δ 0.001" || a.Limit.String() != "ε 0.5, δ 0.001" {
			t.Errorf("%+v, %v", a, err)
		}
		verified(t, l)
		// An account without one can be given one, and only by lowering.
		other := month("")
		other.Dataset = "others"
		if _, err := l.OpenAccount(background, other, Opening{Filter: Basic, Limit: limit("1", "0"), TwoPersons: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.SetLimit(background, other, Change{Epsilon: three, Life: true, Raise: true, Reason: "r"}); codeOf(err) != CodeLimit {
			t.Errorf("%v", err)
		}
		if a, err = l.SetLimit(background, other, Change{Epsilon: three, Life: true, Reason: "r"}); err != nil || a.Lifetime.String() != "ε 3, δ 0" {
			t.Errorf("%+v, %v", a, err)
		}
		if a, err = l.SetLimit(background, other, Change{Epsilon: limit("4", "0").Epsilon, Life: true, Raise: true, Reason: "r"}); err != nil || a.Pending == nil || !a.Pending.Life {
			t.Fatalf("%+v, %v", a, err)
		}
		if a, err = as(t, at, "another").Approve(background, other, a.Pending.Record); err != nil || a.Lifetime.String() != "ε 4, δ 0" || a.Limit.String() != "ε 1, δ 0" {
			t.Errorf("%+v, %v", a, err)
		}
		verified(t, l)
	})
}

// A data set has one way of being cut, or a person says otherwise: two limits would pay
// for one unit.
func TestOneWayToCut(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		debit(t, l, inMonth("m", "2026-01", 0.25))
		day := month("2026-01-01")
		day.Slice.Column = "day"
		otherRelation := people
		otherRelation.Relation = privacy.AddRemove
		for _, k := range []Key{people, day, otherRelation} {
			q := request("p"+k.String(), 0.25)
			q.Account = k
			_, err := l.Debit(background, q)
			if codeOf(err) != CodeSame || !strings.Contains(err.Error(), "--slices-by month --reason") && !strings.Contains(err.Error(), "--from-slices-by month") {
				t.Errorf("%s: %v", k, err)
			}
			if _, err := l.OpenAccount(background, k, Opening{Filter: Basic, Limit: limit("1", "0")}); codeOf(err) != CodeSame {
				t.Errorf("%s: %v", k, err)
			}
		}
		if err := l.Separate(background, month("2026-01"), month(""), "why"); codeOf(err) != CodeSame {
			t.Errorf("one account: %v", err)
		}
		if err := l.Separate(background, people, month("2026-07"), "the board"); err != nil {
			t.Fatal(err)
		}
		q := request("whole", 0.25)
		q.Keeps = []string{"month"}
		debit(t, l, q)
		verified(t, l)
	})
}

// A slice whose table was revised is not published again by mistake.
func TestRevisedSlice(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		sealed := func(q Request, content string) {
			t.Helper()
			if err := l.Seal(background, debit(t, l, q), content, someFiles); err != nil {
				t.Fatal(err)
			}
		}
		sealed(inMonth("p", "1", 0.25), "first")
		try := func(plan, is, content string, revise bool) (Standing, error) {
			q := inMonth(plan, is, 0.25)
			q.Content, q.Revise = content, revise
			return asking(l, q)
		}
		if s, err := try("p", "1", "", false); err != nil || !s.Compare {
			t.Errorf("content unknown: %+v, %v", s, err)
		}
		if s, err := try("p", "1", "first", false); err != nil || s.Found == nil {
			t.Errorf("the same again: %+v, %v", s, err)
		}
		_, err := try("p", "1", "second", false)
		if codeOf(err) != CodeRevised {
			t.Fatalf("%v", err)
		}
		for _, want := range []string{"release r of slice month = 1 was published before (record 3) from other data", "costs the same again (ε 0.25, δ 0)", "then spent ε 0.5, δ 0", "--revise"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("says %q, want %q", err, want)
			}
		}
		// Another job (its size is another one) with a release of that name is the same question.
		if s, err := try("changed", "1", "", false); err != nil || !s.Compare {
			t.Errorf("%+v, %v", s, err)
		}
		if _, err := try("changed", "1", "second", false); codeOf(err) != CodeRevised {
			t.Errorf("%v", err)
		}
		// On the same content it is another release, as ever; and so is another slice, or name.
		if s, err := try("changed", "1", "first", false); err != nil || s.Ticket == nil {
			t.Errorf("%+v, %v", s, err)
		}
		if s, err := try("p of 2", "2", "second", false); err != nil || s.Ticket == nil {
			t.Errorf("%+v, %v", s, err)
		}
		q := inMonth("other", "1", 0.0625)
		q.Charges[0].Name, q.Content = "another", "third"
		debit(t, l, q)
		// On purpose.
		q = inMonth("p", "1", 0.25)
		q.Content, q.Revise = "second", true
		sealed(q, "second")
		if s, err := try("p", "1", "second", false); err != nil || s.Found == nil {
			t.Errorf("%+v, %v", s, err)
		}
		if s, err := try("p", "1", "first", false); err != nil || s.Found == nil {
			t.Errorf("the first one again: %+v, %v", s, err)
		}
		for _, wrong := range ledgercheck.Check(slicesNow(t, l), nil, nil) {
			t.Error(wrong)
		}
		// The whole table is as it was: other data are another release.
		l2 := open(t, "sqlite:"+testdir.New(t)+"/whole.db")
		if err := l2.Seal(background, debit(t, l2, request("p", 0.25)), "first", someFiles); err != nil {
			t.Fatal(err)
		}
		q = request("p", 0.25)
		q.Content = "second"
		debit(t, l2, q)
	})
}

func costs(eps string, names ...string) (out []SliceCost) {
	l := limit(eps, "0")
	cost := privacy.Cost{l.Epsilon, l.Delta}
	for _, is := range names {
		out = append(out, SliceCost{is, cost})
	}
	return out
}

// What was spent elsewhere counts as any debit, all of it or nothing.
func TestCharge(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		charge := func(k Key, code string, c ...SliceCost) {
			t.Helper()
			if _, err := l.Charge(background, k, Elsewhere{Costs: c, Reason: "the old tool"}); codeOf(err) != code {
				t.Errorf("%v, want %q", err, code)
			}
		}
		charge(month(""), CodeAccount, costs("1/10", "a")...)
		life := limit("2", "1/1000")
		if _, err := l.OpenAccount(background, month(""), Opening{Filter: Basic, Limit: limit("1", "1/1000"), Lifetime: &life}); err != nil {
			t.Fatal(err)
		}
		debit(t, l, inMonth("p", "a", 0.5))
		charge(month(""), "", append(costs("1/4", "a", "b"), costs("1/8", "c")...)...)
		charge(month(""), CodeExhausted, append(costs("1/8", "d"), costs("1/2", "a")...)...)                                // a is above its limit, d waits with it
		charge(month(""), CodeExhausted, costs("2500000000000000000000000000001/10000000000000000000000000000000", "a")...) // by a part in 10^31
		charge(month(""), CodeExhausted, append(costs("1/2", "d", "e"), costs("1/4", "f")...)...)
		charge(month(""), CodeAccount, costs("1/8", "d", "d")...)
		charge(month(""), CodeAccount, costs("1/8", "")...)
		charge(month(""), CodeLimit, costs("-1/8", "d")...)
		charge(month(""), CodeLimit, SliceCost{"d", privacy.Cost{new(big.Rat)}})
		charge(month(""), CodeLimit)
		if _, err := l.Charge(background, month(""), Elsewhere{Costs: costs("1/8", "d"), Reason: " "}); codeOf(err) != CodeLimit {
			t.Errorf("without a reason: %v", err)
		}
		if _, err := l.Charge(background, month(""), Elsewhere{Costs: costs("1/8", "d"), Keeps: []string{"region"}, Reason: "r"}); codeOf(err) != CodeKept {
			t.Errorf("another column is kept: %v", err)
		}
		s := slicesNow(t, l)
		for _, wrong := range ledgercheck.Check(s, nil, nil) {
			t.Error(wrong)
		}
		if fmt.Sprint(slices.Sorted(maps.Keys(s.Slices))) != "[a b c]" || s.Slices["a"].RatString() != "3/4" || s.Spent.RatString() != "9/8" {
			t.Errorf("%+v", s)
		}
		acts, err := l.Acts(background)
		if err != nil || len(acts) != 2 || acts[1].What != "charge" || len(acts[1].Charged) != 2 || acts[1].Charged[0].Slices+acts[1].Charged[1].Slices != 3 {
			t.Errorf("%+v, %v", acts, err)
		}
		// A table that is itself a sample is charged together with nothing else.
		q := keeping("collected", CollectedID(month("s")), 0.125, 0)
		q.Account, q.SliceKind = month("s"), TextSlices
		q.Steps[0].Begins = KindCollected
		debit(t, l, q)
		charge(month(""), CodeSample, costs("1/8", "t", "s")...)
		// An account without slices.
		whole := people
		whole.Dataset = "whole"
		if _, err := l.OpenAccount(background, whole, Opening{Filter: ZCDP, Limit: Limit{Rho: big.NewRat(1, 2)}}); err != nil {
			t.Fatal(err)
		}
		charge(whole, CodeAccount, SliceCost{"a", privacy.Cost{big.NewRat(1, 4)}})
		charge(whole, "", SliceCost{"", privacy.Cost{big.NewRat(1, 4)}})
		charge(whole, CodeExhausted, SliceCost{"", privacy.Cost{big.NewRat(1, 3)}})
		verified(t, l)
	})
}

// Charges of many slices are the sum of charges one by one, whatever the order, and as
// many records as they need.
func TestChargesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	onOne(t, func(t *testing.T, at string) {
		l := open(t, at)
		if _, err := l.OpenAccount(background, month(""), Opening{Filter: Basic, Limit: limit("100", "1")}); err != nil {
			t.Fatal(err)
		}
		n, wantRecords := 3*mostInRecord/2, 4
		if testing.Short() {
			n, wantRecords = 1000, 2
		}
		want := map[string]*big.Rat{}
		for round := range 2 {
			var all []SliceCost
			for i := range n {
				is := fmt.Sprint(i * (1 + round))
				c := costs([]string{"1/3", "1/7", "2/5"}[r.IntN(3)], is)[0]
				all = append(all, c)
				if want[is] == nil {
					want[is] = new(big.Rat)
				}
				want[is].Add(want[is], c.Cost[0])
			}
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			if _, err := l.Charge(background, month(""), Elsewhere{Costs: all, Reason: "r"}); err != nil {
				t.Fatal(err)
			}
		}
		s := slicesNow(t, l)
		for _, wrong := range ledgercheck.Check(s, nil, nil) {
			t.Fatal(wrong)
		}
		if len(s.Slices) != len(want) {
			t.Fatalf("%d slices, want %d", len(s.Slices), len(want))
		}
		for is, sum := range want {
			if s.Slices[is].Cmp(sum) != 0 {
				t.Fatalf("slice %s: %s, want %s", is, s.Slices[is], sum)
			}
		}
		records := 0
		if err := l.Records(background, func(r Record) error {
			if r.Kind == "charge" {
				records++
			}
			return nil
		}); err != nil || records != wantRecords {
			t.Errorf("%d records, %v", records, err)
		}
	})
}

// Costs of slices are read with their place.
func TestReadCharges(t *testing.T) {
	basic, rho := []string{"epsilon", "delta"}, []string{"rho"}
	for _, c := range []struct {
		units []string
		text  string
		want  string
	}{
		{basic, "slice,epsilon,delta\n2026-01,0.1,1e-9\n\"a,b\",1/3x,0\n", "line 3, column 7: epsilon"},
		{basic, "slice,epsilon\na,0.1\nb,0.2\n", "a 1/10 0|b 1/5 0"},
		{basic, "delta,slice,epsilon\n0.5,a,0.1\n", "a 1/10 1/2"},
		{rho, "slice,rho\na,0.125\n", "a 1/8"},
		{rho, "slice,epsilon\na,0.125\n", "line 1: the header must be slice,rho"},
		{basic, "epsilon\n0.1\n", "line 1: the header must be slice,epsilon,delta"},
		{basic, "slice,epsilon,delta,more\n", "line 1: the header must be"},
		{basic, "", "there is no header"},
		{basic, "slice,epsilon\na\n", "record on line 2: wrong number of fields"},
	} {
		all, err := ReadCharges(strings.NewReader(c.text), c.units)
		got := ""
		for i, s := range all {
			if got += s.Is + " " + strings.Join(ratTexts(s.Cost), " "); i < len(all)-1 {
				got += "|"
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

// A debit and a charge trust the chain and no row: what slices have spent, their account
// and their releases.
func TestSlicesTrustTheChain(t *testing.T) {
	names := []string{"1", "2"}
	for name, statements := range map[string][]string{
		"a slice has spent less":    {`UPDATE dprelease_slices SET tallies = REPLACE(tallies, '"1/2"', '"1/8"')`},
		"a slice has fewer debits":  {`UPDATE dprelease_slices SET tallies = REPLACE(tallies, '"debits":2', '"debits":1')`},
		"a slice has another name":  {`UPDATE dprelease_slices SET tallies = REPLACE(tallies, '"is":"1"', '"is":"9"')`},
		"a slice is gone":           {`DELETE FROM dprelease_slices WHERE bucket = '` + bucketOf("1") + `'`},
		"all slices are gone":       {`DELETE FROM dprelease_slices`},
		"slices of another account": {`UPDATE dprelease_slices SET account = account + 1`},
		"slices change places": {`UPDATE dprelease_slices SET bucket = 'x' WHERE bucket = '` + bucketOf("1") + `'`,
			`UPDATE dprelease_slices SET bucket = '` + bucketOf("1") + `' WHERE bucket = '` + bucketOf("2") + `'`},
		"the account has no slices":    {`UPDATE dprelease_accounts SET slice = ''`},
		"the sum is lower":             {restated("accounts", `"spent":["1/4","0"]`)},
		"the largest is lower":         {restated("accounts", `"largest":["1/4","0"]`)},
		"there are fewer slices":       {restated("accounts", `"slices":1`)},
		"the lifetime limit is gone":   {restated("accounts", `"lifetime":null`)},
		"the lifetime limit is larger": {restated("accounts", `"lifetime":{"epsilon":"9","delta":"0"}`)},
		"the limit is a ρ":             {restated("accounts", `"limit":{"rho":"1"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			onOne(t, func(t *testing.T, at string) {
				l := open(t, at)
				life := limit("2", "0")
				if _, err := l.OpenAccount(background, month(""), Opening{Filter: Basic, Limit: limit("1/2", "0"), Lifetime: &life}); err != nil {
					t.Fatal(err)
				}
				for i, is := range []string{"1", "1", "2"} {
					debit(t, l, inMonth(fmt.Sprint(i), is, 0.25))
				}
				l.Close()
				raw := rawDB(t, at)
				for _, s := range statements {
					if _, err := raw.Exec(s); err != nil {
						t.Fatal(err)
					}
				}
				raw.Close()
				l = open(t, at)
				if s, err := asking(l, inMonth("new", "1", 0.125)); codeOf(err) != CodeTampered {
					t.Errorf("a debit: %+v, %v", s, err)
				}
				l = open(t, at)
				if _, err := l.Charge(background, month(""), Elsewhere{Costs: costs("1/8", names...), Reason: "r"}); codeOf(err) != CodeTampered {
					t.Errorf("a charge: %v", err)
				}
				l = open(t, at)
				if v, err := l.Verify(background, nil); err == nil && len(v.Findings()) == 0 {
					t.Error("an audit finds nothing")
				}
			})
		})
	}
	// A release of another slice is not the one that was published.
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		if err := l.Seal(background, debit(t, l, inMonth("p", "1", 0.25)), "first", someFiles); err != nil {
			t.Fatal(err)
		}
		if _, err := rawDB(t, at).Exec("UPDATE dprelease_releases SET slice = '2'"); err != nil {
			t.Fatal(err)
		}
		q := inMonth("p", "1", 0.25)
		q.Content = "first"
		if _, err := l.Debit(background, q); codeOf(err) != CodeTampered {
			t.Errorf("%v", err)
		}
	})
}

// One value has one tally and one limit, however a job or a charge writes it, also where two
// runs at once do (P26).
func TestOneSpellingOfASlice(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		ask := func(plan, is string) error {
			q := inMonth(plan, is, 0.25)
			q.SliceKind = DateSlices
			_, err := l.Debit(background, q)
			return err
		}
		if err := ask("p", "2026-09-01"); err != nil {
			t.Fatal(err)
		}
		ends := make(chan error)
		for _, is := range []string{"2026-10-01", "2026-10-01T00:00:00", "2026-10-01 00:00:00", "2026-10-01T02:00:00+02:00"} {
			go func() { ends <- ask("plan of "+is, is) }()
		}
		for range 4 {
			if err := <-ends; err != nil {
				t.Error(err)
			}
		}
		if err := ask("more", "2026-10-01"); codeOf(err) != CodeExhausted {
			t.Errorf("the slice is spent: %v", err)
		}
		if a, err := l.Charge(background, month(""), Elsewhere{Costs: costs("1/4", "2026-09-01T00:00:00"), Reason: "r"}); err != nil || a.Slices != 2 || a.Largest[0].Cmp(big.NewRat(1, 1)) != 0 {
			t.Errorf("charged under another spelling: %+v, %v", a, err)
		}
		if _, err := l.Charge(background, month(""), Elsewhere{Costs: costs("1", "2026-10-01 00:00:00"), Reason: "r"}); codeOf(err) != CodeExhausted {
			t.Errorf("charged above the limit under another spelling: %v", err)
		}
		if _, err := l.Charge(background, month(""), Elsewhere{Costs: costs("0", "2026-11-01", "2026-11-01T00:00:00"), Reason: "r"}); codeOf(err) != CodeAccount {
			t.Errorf("one slice twice: %v", err)
		}
		if _, err := l.Charge(background, month(""), Elsewhere{Costs: costs("0", "October"), Reason: "r"}); codeOf(err) != CodeAccount || !strings.Contains(err.Error(), "values of the kind date") {
			t.Errorf("no date: %v", err)
		}
		tallies, err := l.Tallies(background, month(""))
		if err != nil || len(tallies) != 2 || tallies[1].Debits != 4 || tallies[0].Spent[0].Cmp(big.NewRat(1, 2)) != 0 {
			t.Errorf("%+v, %v", tallies, err)
		}
		verified(t, l)
	})
}

// A column that is read in two ways cuts the same rows in two ways: the account keeps the kind.
func TestOneKindOfSlices(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		ask := func(is string, kind SliceKind) error {
			q := inMonth("p"+is+string(kind), is, 0.25)
			q.SliceKind = kind
			_, err := l.Debit(background, q)
			return err
		}
		if err := ask("1", NumberSlices); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			is   string
			kind SliceKind
		}{{"1e0", TextSlices}, {"true", BoolSlices}, {"2026-10-01", DateSlices}, {"1", ""}, {"one", NumberSlices}} {
			if err := ask(c.is, c.kind); codeOf(err) != CodeAccount {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if err := ask("1e0", NumberSlices); err != nil {
			t.Error(err)
		}
		if a, err := l.Account(background, month("1.0")); err != nil || a.SliceKind != NumberSlices || a.Slice.Is != "1" || a.InSlice.Debits != 2 {
			t.Errorf("%+v, %v", a, err)
		}
		verified(t, l)
		if _, err := rawDB(t, at).Exec(restated("accounts", `"slice_kind":"text"`)); err != nil {
			t.Fatal(err)
		}
		if err := ask("1e0", TextSlices); codeOf(err) != CodeTampered {
			t.Errorf("a kind that somebody changed: %v", err)
		}
	})
}

// Texts that may name one value have one spelling, and others have their own.
func TestSpelled(t *testing.T) {
	for _, same := range [][]string{{"1", "1.0", "1e0", "+1", "01", "10e-1"}, {"2026-10-01", "2026-10-01T00:00:00", "2026-10-01 00:00:00", "2026-10-01T00:00:00Z", "2026-10-01T02:00:00+02:00"},
		{"5:04:05", "05:04:05", "05:04:05.0"}, {"true"}, {"2026-10"}, {"=true"}, {"@2026"}, {""}, {"1e99999999"}, {"0x1"}, {"2026-13-01"}} {
		for _, is := range same {
			if spelled(is) != spelled(same[0]) {
				t.Errorf("%q is %q, %q is %q", is, spelled(is), same[0], spelled(same[0]))
			}
		}
	}
	if spelled("2026-10-01") == spelled("2026-10-02") || spelled("1") == spelled("true") {
		t.Error("two values have one spelling")
	}
}
