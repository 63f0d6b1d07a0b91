package ledger

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// skewed opens a ledger by a clock that a test sets.
func skewed(t *testing.T, at string, now *time.Time) *Ledger {
	t.Helper()
	return open(t, at, func(o *Options) { o.clock = func() time.Time { return *now } })
}

// A record that was written while the clock was ahead stops the ledger until its
// time, or until somebody accepts the clock: that is recorded, and times go on from
// there. What was spent stays spent.
func TestAcceptClock(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		right := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		year := 365 * 24 * time.Hour
		now := right
		l := skewed(t, at, &now)
		k := debit(t, l, request("before", 0.125))
		if err := l.Seal(background, k, "c", someFiles); err != nil {
			t.Fatal(err)
		}
		if c, err := l.Clock(background); err != nil || c.Behind() != 0 || c.Ahead != 0 || c.Record != 4 || c.Kind != "seal" {
			t.Fatalf("%+v, %v", c, err)
		}
		if _, err := l.AcceptClock(background, "why"); codeOf(err) != CodeClock || !strings.Contains(err.Error(), "nothing to accept") {
			t.Fatalf("a clock that is not behind: %v", err)
		}
		now = right.Add(-3 * time.Second) // as time servers do: no reason to accept anything
		if _, err := l.AcceptClock(background, "why"); codeOf(err) != CodeClock {
			t.Fatalf("a clock that is a little behind: %v", err)
		}
		now = right.Add(year)
		debit(t, l, request("ahead", 0.25))
		now = right.Add(time.Minute)
		c, err := l.Clock(background)
		if err != nil || c.Behind() != year-time.Minute || c.Ahead != 5 || c.Record != 5 || c.Kind != "debit" || !c.Now.Equal(now) || !c.Newest.Equal(right.Add(year)) {
			t.Fatalf("%+v, %v", c, err)
		}
		if _, err := l.Debit(background, request("after", 0.25)); codeOf(err) != CodeClock || !strings.Contains(err.Error(), "dprelease ledger clock") {
			t.Fatalf("a year back: %v", err)
		}
		if _, err := l.AcceptClock(background, ""); codeOf(err) != CodeLimit {
			t.Fatalf("without a reason: %v", err)
		}
		turn, err := l.AcceptClock(background, "the time server")
		want := Act{Record: 6, What: "clock", At: "2030-01-01T00:01:00.000000Z", Was: "2031-01-01T00:00:00.000000Z", By: "me", Reason: "the time server"}
		if err != nil || !reflect.DeepEqual(turn, want) {
			t.Fatalf("%+v, %v", turn, err)
		}
		if _, err := l.AcceptClock(background, "again"); codeOf(err) != CodeClock {
			t.Fatalf("a second time: %v", err)
		}

		// Times go on from the accepted one, and are held to it.
		debit(t, l, request("after", 0.25))
		now = right.Add(-time.Minute)
		if _, err := l.Debit(background, request("back", 0.125)); codeOf(err) != CodeClock {
			t.Fatalf("behind the accepted clock: %v", err)
		}
		now = right.Add(time.Hour)
		if _, err := l.Debit(background, request("more", 0.5)); codeOf(err) != CodeExhausted {
			t.Fatalf("beyond the limit: %v", err)
		}
		debit(t, l, request("rest", 0.375))
		if a, err := l.Account(background, people); err != nil || a.Debits != 4 || a.Spent[0].Cmp(big.NewRat(1, 1)) != 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		acts, err := l.Acts(background)
		if err != nil || len(acts) != 2 || !reflect.DeepEqual(acts[1], want) {
			t.Fatalf("%+v, %v", acts, err)
		}
		v, err := l.Verify(background, nil)
		if err != nil || len(v.Findings()) > 0 || len(v.Acts()) != 1 || !reflect.DeepEqual(v.Acts()[0], want) {
			t.Fatalf("%+v, %+v, %v", v.Findings(), v.Acts(), err)
		}
	})
}

// Accepting a clock takes no run for dead and lets nobody seal who was overtaken: a
// run that is alive renews its lease, one elsewhere that died while the clock was
// ahead does not look alive until then.
func TestAcceptClockAndLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		right := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		now := right.Add(365 * 24 * time.Hour)
		l, other := skewed(t, at, &now), skewed(t, at, &now)
		alive, dead, over := debit(t, l, request("alive", 0.125)), debit(t, l, request("dead", 0.125)), debit(t, l, request("over", 0.125))
		if err := l.End(background, over, nil); err != nil {
			t.Fatal(err)
		}
		raw := rawDB(t, at)
		if _, err := raw.Exec("UPDATE dprelease_releases SET holder = 'other/space/1/2@5'"); err != nil {
			t.Fatal(err)
		}
		now = right
		if err := l.Renew(background, alive); codeOf(err) != CodeClock {
			t.Fatalf("a lease by a clock that is behind: %v", err)
		}
		if _, err := other.AcceptClock(background, "why"); err != nil {
			t.Fatal(err)
		}
		is := func(plan string, busy bool) {
			t.Helper()
			if s, err := other.Look(background, plan, ""); err != nil || s.Busy != busy || s.Unfinished == busy {
				t.Errorf("%s after %s: %+v, %v", plan, now.Sub(right), s, err)
			}
		}
		is("alive", true)
		is("dead", true)
		is("over", false) // what was given up is not brought back
		now = right.Add(20 * time.Second)
		if err := l.Renew(background, alive); err != nil {
			t.Fatal(err)
		}
		now = right.Add(DefaultLease + time.Second)
		if _, err := raw.Exec("UPDATE dprelease_releases SET holder = 'other/space/1/2@5'"); err != nil {
			t.Fatal(err)
		}
		is("alive", true)
		is("dead", false)
		if _, err := other.Debit(background, request("dead", 0.125)); codeOf(err) != CodeUnfinished {
			t.Fatalf("without --spend-again: %v", err)
		}
		q := request("dead", 0.125)
		q.Again = true
		k := debit(t, other, q)
		if err := l.Seal(background, dead, "c", someFiles); codeOf(err) != CodeLease {
			t.Fatalf("an overtaken run sealed: %v", err)
		}
		for _, k := range []*Ticket{k, alive} {
			if err := l.Seal(background, k, "c", someFiles); err != nil {
				t.Fatal(err)
			}
		}
		if a, err := l.Account(background, people); err != nil || a.Debits != 4 || a.Spent[0].Cmp(big.NewRat(1, 2)) != 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		verified(t, l)
	})
}

// Of several who accept at once one does, and no debit gets between it and the rest.
func TestAcceptClockAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		right := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		ahead := right.Add(time.Hour)
		debit(t, skewed(t, at, &ahead), request("ahead", 0.125))
		var done atomic.Int64
		var all sync.WaitGroup
		for i := range 6 {
			l := skewed(t, at, &right)
			all.Go(func() {
				switch _, err := l.AcceptClock(background, "why"); {
				case err == nil:
					done.Add(1)
				case codeOf(err) != CodeClock:
					t.Errorf("%d: %v", i, err)
				}
				if s, err := asking(l, request(fmt.Sprint("after", i), 0.125)); err != nil || s.Ticket == nil {
					t.Errorf("%d: %+v, %v", i, s, err) // by now somebody has accepted
				}
			})
		}
		all.Wait()
		l := skewed(t, at, &right)
		acts, err := l.Acts(background)
		acts = slices.DeleteFunc(acts, func(a Act) bool { return a.What != "clock" })
		if err != nil || done.Load() != 1 || len(acts) != 1 {
			t.Errorf("%d accepted, %+v, %v", done.Load(), acts, err)
		}
		if a, err := l.Account(background, people); err != nil || a.Debits != 7 {
			t.Errorf("%+v, %v", a, err)
		}
		verified(t, l)
	})
}

// An old copy takes no such record, and neither does a ledger whose head was changed.
func TestAcceptClockRefuses(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		l := skewed(t, at, &now)
		debit(t, l, request("p", 0.125))
		raw := rawDB(t, at)
		change := func(statement string) {
			t.Helper()
			if _, err := raw.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		change("UPDATE dprelease_head SET at = at + 60000000")
		if _, err := l.AcceptClock(background, "why"); codeOf(err) != CodeTampered {
			t.Errorf("another time in the head: %v", err)
		}
		if v, err := l.Verify(background, nil); err != nil || !strings.Contains(joined(v.Findings()), FoundTables+":") {
			t.Errorf("%v, %v", v.Findings(), err)
		}
		change("UPDATE dprelease_head SET at = at - 60000000")
		verified(t, l)
		now = now.Add(-time.Hour)
		if _, err := l.Refuse(background, false, "an old copy"); codeOf(err) != CodeClock {
			t.Fatal(err)
		}
		now = now.Add(2 * time.Hour)
		if _, err := l.Refuse(background, false, "an old copy"); err != nil {
			t.Fatal(err)
		}
		now = now.Add(-time.Hour)
		if _, err := l.AcceptClock(background, "why"); codeOf(err) != CodeRefused {
			t.Errorf("a ledger that was refused: %v", err)
		}
	})
}

// A chain may go back in time by a record that accepts a clock, and by no other; such
// a record says what it passes over, by whom and why.
func TestAuditOfClocks(t *testing.T) {
	const id, early, late = "aa", "2030-01-01T00:00:00.000000Z", "2031-01-01T00:00:00.000000Z"
	state := newTree()
	state.put(secretKey, "secret")
	first, err := encode(&ledgerBody{stamp{At: late, By: "me", State: state.root()}, Format, id, "secret"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, kind, body, found string }{
		{"a clock", "clock", `{"at":"` + early + `","was":"` + late + `","by":"me","reason":"why"}`, ""},
		{"another record", "account", `{"at":"` + early + `","dataset":"d","unit":"row","relation":"add-remove","filter":"basic","limit":{"epsilon":"1","delta":"0"}}`, "its time is before that of the record before it"},
		{"another time", "clock", `{"at":"` + early + `","was":"` + early + `","by":"me","reason":"why"}`, "another time than that of the record before it"},
		{"a clock that was not behind", "clock", `{"at":"` + late + `","was":"` + late + `","by":"me","reason":"why"}`, "was not behind"},
		{"nobody", "clock", `{"at":"` + early + `","was":"` + late + `","by":"","reason":"why"}`, "nobody wrote it"},
		{"no reason", "clock", `{"at":"` + early + `","was":"` + late + `","by":"me","reason":" "}`, "needs a reason"},
		{"no time", "clock", `{"at":"now","was":"` + late + `","by":"me","reason":"why"}`, "it has no time"},
		{"more than that", "clock", `{"at":"` + early + `","was":"` + late + `","by":"me","reason":"why","refund":"1"}`, "cannot be read as a clock"},
	} {
		v := NewAuditor()
		prev := genesis
		for i, r := range []Record{{Kind: "ledger", Body: first}, {Kind: c.kind, Body: strings.TrimSuffix(c.body, "}") + `,"state":"` + state.root() + `"}`}} {
			r.Seq, r.Prev = int64(i+1), prev
			r.Hash = hashRecord(id, &r)
			prev = r.Hash
			v.Add(r)
		}
		found := joined(v.Findings())
		if (found == "") != (c.found == "") || !strings.Contains(found, c.found) {
			t.Errorf("%s: found %q, want %q", c.what, found, c.found)
		}
		if (len(v.Acts()) == 1) != (c.found == "") {
			t.Errorf("%s: %+v", c.what, v.Acts())
		}
	}
}
