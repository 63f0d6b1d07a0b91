package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/privacy"
)

// The life of a release: debited, sealed, published, and published again from the
// same bytes by anybody who asks the same of the same data.
func TestLifeOfARelease(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		k := debit(t, l, request("p", 0.5))
		if k.Ledger != l.ID() || k.Seq != k.Release || len(k.Head) != 64 {
			t.Fatalf("ticket %+v", k)
		}
		other := open(t, at)
		if s, err := asking(other, request("p", 0.5)); err != nil || !s.Busy {
			t.Fatalf("while it runs: %+v, %v", s, err)
		}
		if _, err := other.Output(background, k.Release); codeOf(err) != CodeTampered {
			t.Errorf("output before the seal: %v", err)
		}
		if err := other.Publish(background, k.Release); codeOf(err) != CodeLease {
			t.Errorf("published before the seal: %v", err)
		}
		if err := l.Seal(background, k, "c1", someFiles); err != nil {
			t.Fatal(err)
		}
		if err := l.Seal(background, k, "c1", someFiles); codeOf(err) != CodeLease {
			t.Errorf("sealed twice: %v", err)
		}
		for range 2 {
			if err := l.Publish(background, k.Release); err != nil {
				t.Fatal(err)
			}
		}
		if s, err := asking(other, request("p", 0.5)); err != nil || !s.Compare {
			t.Fatalf("without the data: %+v, %v", s, err)
		}
		q := request("p", 0.5)
		q.Content, q.Again = "c1", true
		s, err := asking(other, q)
		if err != nil || s.Found == nil || s.Found.ID != k.Release {
			t.Fatalf("the same again: %+v, %v", s, err)
		}
		files, err := other.Output(background, s.Found.ID)
		if err != nil || !reflect.DeepEqual(files, someFiles) {
			t.Fatalf("files %v, %v", files, err)
		}
		// Changed data: a new release and a new debit.
		q.Content = "c2"
		k2 := debit(t, other, q)
		if err := other.Seal(background, k2, "c1", someFiles); codeOf(err) != CodeChanged {
			t.Errorf("data that changed back: %v", err)
		}
		if err := other.Seal(background, k2, "c2", someFiles); err != nil {
			t.Fatal(err)
		}
		a, err := l.Account(background, people)
		if err != nil || a.Debits != 2 || a.Spent[0].Cmp(big.NewRat(1, 1)) != 0 {
			t.Fatalf("account %+v, %v", a, err)
		}
		verified(t, l)
	})
}

// What does not fit is refused with how much is missing and what would fit; the
// limit is exact, to the last bit.
func TestLimitIsExact(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		for i := range 10 {
			q := request(fmt.Sprint(i), 0.1) // a float above 1/10
			s, err := asking(l, q)
			if i < 9 && (err != nil || s.Ticket == nil) {
				t.Fatal(err)
			}
			if i == 9 {
				if codeOf(err) != CodeExhausted {
					t.Fatalf("ten times more than a tenth: %v", err)
				}
				for _, want := range []string{"the job needs ε", "too little", "would fit"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("says %q, want %q", err, want)
					}
				}
			}
		}
		// The handle is as good as before.
		debit(t, l, request("rest", 0.0625))
		if err := Within(limit("1/10", "0"), privacy.Point{Epsilon: 0.1}); codeOf(err) != CodeExhausted {
			t.Errorf("the float 0.1 is above the decimal 0.1: %v", err)
		}
		if err := Within(limit("1/8", "0"), privacy.Point{Epsilon: 0.125}); err != nil {
			t.Error(err)
		}
		own := limit("1/2", "0")
		q := request("own", 0.001)
		q.Own = &own
		if _, err := l.Debit(background, q); codeOf(err) != CodeExhausted || !strings.Contains(err.Error(), "budget.limit") {
			t.Errorf("beyond the job's own limit: %v", err)
		}
		verified(t, l)
	})
}

// A run that was cut off stays spent; the next one says so, and spends again only
// when told to. The first one, should it wake up, can do nothing.
func TestAbandonedRun(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := func(o *Options) { o.clock = func() time.Time { return now } }
		first, second := open(t, at, clock), open(t, at, clock)
		stale := debit(t, first, request("p", 0.25))
		if err := first.Renew(background, stale); err != nil {
			t.Fatal(err)
		}
		now = now.Add(DefaultLease + time.Second)
		if _, err := second.Debit(background, request("p", 0.25)); codeOf(err) != CodeUnfinished {
			t.Fatalf("after the lease: %v", err)
		}
		if s, err := second.Look(background, "p", ""); err != nil || !s.Unfinished {
			t.Fatalf("%+v, %v", s, err)
		}
		q := request("p", 0.25)
		q.Again = true
		k := debit(t, second, q)
		if err := first.Seal(background, stale, "c", someFiles); codeOf(err) != CodeLease {
			t.Errorf("a stale holder sealed: %v", err)
		}
		if err := first.Renew(background, stale); codeOf(err) != CodeLease {
			t.Errorf("a stale holder renewed: %v", err)
		}
		if err := second.Seal(background, k, "c", someFiles); err != nil {
			t.Fatal(err)
		}
		a, _ := first.Account(background, people)
		if a.Spent[0].Cmp(big.NewRat(1, 2)) != 0 {
			t.Errorf("spent %v", a.Spent)
		}
		verified(t, first)
	})
}

// A run that keeps its lease is never taken for dead; one that loses it is told.
func TestLeaseIsKept(t *testing.T) {
	tier.Full(t, "TestLocked")
	onOne(t, func(t *testing.T, at string) {
		l := open(t, at)
		q := request("p", 0.25)
		q.Lease = 5 * time.Second // a busy machine may be late by some seconds
		k := debit(t, l, q)
		ctx, stop := l.Keep(background, k)
		other := open(t, at)
		defer func() {
			// A run that ends without a seal gives up its lease at once.
			k := debit(t, l, request("q", 0.25))
			if err := l.End(background, k, nil); err != nil {
				t.Error(err)
			}
			if s, err := other.Look(background, "q", ""); err != nil || s.Busy || !s.Unfinished {
				t.Errorf("%+v, %v", s, err)
			}
		}()
		for start := time.Now(); time.Since(start) < q.Lease+time.Second; time.Sleep(100 * time.Millisecond) {
			if s, err := other.Look(background, "p", ""); err != nil || !s.Busy {
				t.Fatalf("%+v, %v", s, err)
			}
		}
		if err := other.write(background, func(t *tx) error {
			rs, err := t.releasesOf("p")
			if err == nil {
				_, err = t.append(&abandonBody{Release: rs[0].ID})
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Minute):
			t.Fatal("the holder is not told")
		}
		if codeOf(context.Cause(ctx)) != CodeLease {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		stop()
	})
}

func TestFilters(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		gaussian := func(plan string, k Key) Request {
			q := request(plan, 0.5)
			q.Account = k
			return billed(q, privacy.Gaussian{Sigma: 20}, 1e-6)
		}
		for filter, orders := range map[string][]float64{ZCDP: nil, RDP: DefaultOrders()} {
			k := people
			k.Dataset = filter
			if _, err := l.OpenAccount(background, k, Opening{Filter: filter, Orders: orders, Limit: limit("2", "1/1000000")}); err != nil {
				t.Fatal(err)
			}
			if _, err := l.OpenAccount(background, k, Opening{Filter: Basic, Limit: limit("9", "1")}); codeOf(err) != CodeAccount {
				t.Errorf("opened twice: %v", err)
			}
			n := 0
			for ; n < 100; n++ {
				s, err := asking(l, gaussian(fmt.Sprint(filter, n), k))
				if codeOf(err) == CodeExhausted {
					break
				}
				if err != nil || s.Ticket == nil {
					t.Fatalf("%s: %v", filter, err)
				}
			}
			// Basic composition of ε 0.9 would allow two.
			if n < 3 || n == 100 {
				t.Errorf("%s allows %d Gaussian releases", filter, n)
			}
			a, err := l.SetLimit(background, k, change(limit("4", "1/1000000"), true, "a larger study"))
			if err != nil || len(a.Amounts()) == 0 {
				t.Fatal(err)
			}
			debit(t, l, gaussian(filter+" raised", k))
			q := billed(gaussian(filter+" approx", k), privacy.Approx{Eps: 0.1, Delta: 1e-9}, 1e-9)
			if _, err := l.Debit(background, q); codeOf(err) != CodeFilter {
				t.Errorf("%s charges an (ε, δ) point: %v", filter, err)
			}
		}
		verified(t, l)
	})
}

func TestLimitsAreRaisedOnlyOnRecord(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		debit(t, l, request("p", 0.5))
		for _, c := range []struct {
			limit  Limit
			raise  bool
			reason string
			code   string
		}{
			{limit("2", "1/1000"), false, "why", CodeLimit},
			{limit("1/2", "1/1000"), true, "why", CodeLimit},
			{limit("2", "1/2000"), true, "why", CodeLimit}, // one up, one down
			{limit("1", "1/1000"), true, "why", CodeLimit},
			{limit("2", "1/1000"), true, "", CodeLimit},
			{limit("-1", "0"), false, "why", CodeLimit},
			{limit("2", "1/1000"), true, "why", ""},
			{limit("1/4", "0"), false, "below what is spent", ""},
		} {
			if _, err := l.SetLimit(background, people, change(c.limit, c.raise, c.reason)); codeOf(err) != c.code {
				t.Errorf("%s, raise %v, %q: %v, want %q", c.limit, c.raise, c.reason, err, c.code)
			}
		}
		if _, err := l.Debit(background, request("q", 0.001)); codeOf(err) != CodeExhausted {
			t.Errorf("after lowering: %v", err)
		}
		nobody := people
		nobody.Dataset = "nobody"
		if _, err := l.SetLimit(background, nobody, change(limit("2", "0"), true, "why")); codeOf(err) != CodeAccount {
			t.Errorf("an account that is not there: %v", err)
		}
		verified(t, l)
	})
}

// An account belongs to one relation and one unit.
func TestAccountsAreApart(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		for i, k := range []Key{people, {Dataset: "people", Unit: "row", Relation: privacy.AddRemove}, {Dataset: "people", Unit: "household", Relation: privacy.ReplaceOne},
			{Dataset: "other", Unit: "row", Relation: privacy.ReplaceOne}} {
			q := request(fmt.Sprint(i), 1)
			q.Account = k
			debit(t, l, q)
		}
		all, err := l.Accounts(background)
		if err != nil || len(all) != 4 {
			t.Fatalf("%v, %v", all, err)
		}
		s, err := l.Spends(background, 0)
		if err != nil || len(s) != 4 || s[0].Job != "job of 0" || s[0].State != Debited || s[0].Epsilon != 1 {
			t.Fatalf("%+v, %v", s, err)
		}
		if s, err = l.Spends(background, all[1].ID); err != nil || len(s) != 1 {
			t.Fatalf("%+v, %v", s, err)
		}
	})
}

// Many runs at once, each on a connection of its own: the limit holds, and of runs
// of one plan one works.
func TestConcurrentDebits(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		open(t, at)
		const runs = 8
		var mu sync.Mutex
		tickets := map[string]int{}
		var wg sync.WaitGroup
		for i := range runs {
			l := open(t, at)
			wg.Go(func() {
				for n := range 6 {
					plan := fmt.Sprintf("plan %d", (n+i)%6)
					s, err := asking(l, request(plan, 0.25))
					if err != nil && codeOf(err) != CodeExhausted {
						t.Error(err)
					}
					if s.Ticket != nil {
						mu.Lock()
						tickets[plan]++
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		if len(tickets) != 4 {
			t.Errorf("%d plans were debited, four fit", len(tickets))
		}
		for p, n := range tickets {
			if n != 1 {
				t.Errorf("%s was debited %d times", p, n)
			}
		}
		verified(t, open(t, at))
	})
}

func TestClock(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		l := open(t, at, func(o *Options) { o.clock = func() time.Time { return now } })
		debit(t, l, request("a", 0.1))
		now = now.Add(-time.Second) // as time servers do
		debit(t, l, request("b", 0.1))
		now = now.Add(-time.Hour)
		if _, err := l.Debit(background, request("c", 0.1)); codeOf(err) != CodeClock {
			t.Fatalf("an hour back: %v", err)
		}
		now = now.Add(2 * time.Hour)
		debit(t, l, request("c", 0.1))
		verified(t, l)
	})
}

// A ledger is made whole or not at all, and one whose tables have a version that this
// program does not know is refused and left as it is.
func TestVersion(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		raw := rawDB(t, at)
		mine := schema
		schema = append(slices.Clone(schema), "NONSENSE")
		_, err := Open(background, address(t, at), Options{Create: true})
		schema = mine
		if err == nil {
			t.Fatal("half of the tables are a ledger")
		}
		if _, err := Open(background, address(t, at), Options{}); codeOf(err) != CodeMissing {
			t.Fatalf("after a ledger that could not be made: %v", err)
		}
		l := open(t, at)
		debit(t, l, request("p", 0.5))
		l.Close()
		set := func(statement string) {
			t.Helper()
			if _, err := raw.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		for version, o := range map[int]Options{0: {}, 2: {Create: true}, 3: {ReadOnly: true}} {
			set(fmt.Sprintf("UPDATE dprelease_version SET version = %d", version))
			if _, err := Open(background, address(t, at), o); codeOf(err) != CodeVersion || !strings.Contains(err.Error(), fmt.Sprintf("have version %d, and this program knows version 1", version)) {
				t.Errorf("version %d: %v", version, err)
			}
		}
		set("UPDATE dprelease_version SET version = 1")
		verified(t, open(t, at))
		set("DELETE FROM dprelease_version")
		if _, err := Open(background, address(t, at), Options{Create: true}); codeOf(err) != CodeTampered {
			t.Errorf("no version: %v", err)
		}
	})
}

// A chain whose records have another format is no ledger of this program.
func TestFormatOfRecords(t *testing.T) {
	v := NewAuditor()
	body, err := encode(&ledgerBody{stamp: stamp{At: time.Now().UTC().Format(timeForm), By: "me"}, Format: 2, Ledger: "l", Secret: "s"})
	if err != nil {
		t.Fatal(err)
	}
	r := Record{Seq: 1, Kind: "ledger", Body: body, Prev: genesis}
	r.Hash = hashRecord("l", &r)
	v.Add(r)
	if !strings.Contains(joined(v.Findings()), "format 2, and this program knows format 1") {
		t.Errorf("%v", v.Findings())
	}
}

func rawDB(t testing.TB, at string) *sql.DB {
	t.Helper()
	a := address(t, at)
	db, err := sql.Open(a.dialect().driver, a.dsn())
	if err != nil {
		t.Fatal(err)
	}
	if a.sqlite != "" {
		if _, err := db.Exec("PRAGMA busy_timeout = 10000"); err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "sqlite:/job/dprelease.db",
		"sqlite:a b.db":                 "sqlite:/job/a b.db",
		"sqlite:/x/y.db":                "sqlite:/x/y.db",
		"postgres://u:SECRET@h:5/d?x=y": "postgres://h:5/d",
		"postgresql://u:SECRET@h/d":     "postgresql://h/d",
	} {
		a, err := ParseAddress(text, "/job")
		if err != nil || a.String() != want || strings.Contains(fmt.Sprintf("%v %+v %#v", a, a, a), "SECRET") {
			t.Errorf("%q: %v, %v", text, a, err)
		}
	}
	for _, text := range []string{"sqlite:", "sqlite:a?mode=ro", "mysql://h", "ledger.db", "postgres://u:SECRET@h:port/%zz"} {
		if _, err := ParseAddress(text, "/job"); codeOf(err) != CodeAddress || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A ledger that cannot be used is one of a few fixed errors.
func TestUnusable(t *testing.T) {
	dir := testdir.New(t)
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, bytes.Repeat([]byte("no database "), 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at, code string
		create   bool
	}{
		{"sqlite:" + filepath.Join(dir, "none.db"), CodeMissing, false},
		{"sqlite:" + dir, CodeAddress, true},
		{"sqlite:" + text, CodeAddress, true},
		{"sqlite:/proc/none/x.db", CodeUnreadable, true},
		{"postgres://ledger:SECRET@127.0.0.1:1/none?connect_timeout=2", CodeUnreachable, true},
	} {
		_, err := Open(background, address(t, c.at), Options{Create: c.create})
		if codeOf(err) != c.code && !(strings.Contains(c.at, "/proc") && err != nil) {
			t.Errorf("%s: %v, want %s", c.at, err, c.code)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("leaks: %v", err)
		}
	}
}

// A locked database is a fixed error after a while, and the handle stays good.
func TestLocked(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		wait := "PRAGMA busy_timeout = 200"
		if l.dialect == &postgresDialect {
			wait = "SET lock_timeout = '200ms'"
		}
		if _, err := l.conn.ExecContext(background, wait); err != nil {
			t.Fatal(err)
		}
		raw := rawDB(t, at)
		c, err := raw.Conn(background)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begin := "BEGIN IMMEDIATE"
		if l.dialect == &postgresDialect {
			begin = "BEGIN; SELECT 1 FROM dprelease_head FOR UPDATE"
		}
		if _, err := c.ExecContext(background, begin); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Debit(background, request("p", 0.5)); codeOf(err) != CodeLocked {
			t.Fatalf("locked: %v", err)
		}
		if _, err := c.ExecContext(background, "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		debit(t, l, request("p", 0.5))
	})
}

// A disk that is full, as far as SQLite can tell: at every size of the file.
func TestFull(t *testing.T) {
	at := "sqlite:" + filepath.Join(testdir.New(t), "ledger.db")
	l := open(t, at)
	debit(t, l, request("p", 0.125))
	var pages int
	if err := l.conn.QueryRowContext(background, "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	l.Close()
	big := []File{{Path: "big", Mode: 0o644, Data: make([]byte, 20*4096)}}
	full := 0
	for extra := range 25 {
		l := open(t, at)
		q := request(fmt.Sprint("p", extra), 0.001)
		k := debit(t, l, q)
		if err := l.conn.QueryRowContext(background, "PRAGMA page_count").Scan(&pages); err != nil {
			t.Fatal(err)
		}
		if _, err := l.conn.ExecContext(background, fmt.Sprintf("PRAGMA max_page_count = %d", pages+extra)); err != nil {
			t.Fatal(err)
		}
		err := l.Seal(background, k, "c", big)
		if err == nil {
			l.Close()
			continue
		}
		if full++; codeOf(err) != CodeFull {
			t.Fatalf("full: %v", err)
		}
		if err := l.Renew(background, k); codeOf(err) != CodeBroken {
			t.Errorf("after a full disk the handle goes on: %v", err)
		}
		l.Close()
		again := open(t, at)
		if s, err := again.Look(background, q.Plan, ""); err != nil || s.Found != nil || s.Compare {
			t.Errorf("half a seal: %+v, %v", s, err)
		}
		verified(t, again)
		again.Close()
	}
	if full == 0 {
		t.Fatal("the disk was never full: the test shows nothing")
	}
}

func TestCancelled(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		ctx, cancel := context.WithCancel(background)
		cancel()
		if _, err := l.Debit(ctx, request("p", 0.5)); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled: %v", err)
		}
		debit(t, l, request("p", 0.5))
	})
}

// A cost below zero would give back what is spent: there is no debit.
func TestNothingIsRefunded(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		debit(t, l, request("p", 0.5))
		for _, charged := range []privacy.Point{{Epsilon: -0.25}, {Epsilon: 0.25, Delta: -1e-9}} {
			q := request("q", 0.25)
			q.Charged = charged
			if s, err := asking(l, q); codeOf(err) != CodeBill || s.Ticket != nil {
				t.Errorf("%v: %+v, %v", charged, s, err)
			}
		}
	})
}

// What was released from some data is released once: a ticket that does not say what its data are cannot seal the same content
// again. Nothing is recorded, and the debit stays.
func TestSealedFromTheSameDataOnce(t *testing.T) {
	onOne(t, func(t *testing.T, at string) {
		l := open(t, at)
		if err := l.Seal(background, debit(t, l, request("p", 0.25)), "c1", someFiles); err != nil {
			t.Fatal(err)
		}
		q := request("p", 0.25)
		q.Content = "c2"
		k := debit(t, l, q)
		k.content = ""
		before := countRecords(t, l)
		if err := l.Seal(background, k, "c1", someFiles); codeOf(err) != CodeReleased {
			t.Errorf("sealed again: %v", err)
		}
		if after := countRecords(t, l); after != before {
			t.Errorf("%d records more", after-before)
		}
		if a, err := l.Account(background, people); err != nil || a.Spent[0].Cmp(big.NewRat(1, 2)) != 0 {
			t.Errorf("spent %v, %v", a, err)
		}
		if err := l.Seal(background, k, "c3", someFiles); err != nil { // of other data it may
			t.Error(err)
		}
		verified(t, l)
	})
}

// A run whose lease cannot be renewed, because others keep the ledger locked, goes on for a lease, and is then told to end.
func TestLockedLeaseEnds(t *testing.T) {
	onOne(t, func(t *testing.T, at string) {
		const lease = 300 * time.Millisecond
		holder, l := open(t, at), open(t, at, func(o *Options) { o.LockWait = 50 * time.Millisecond })
		q := request("p", 0.25)
		q.Lease = lease
		k := debit(t, l, q)
		held, done, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- holder.write(background, func(*tx) error { close(held); <-done; return nil })
		}()
		<-held
		start := time.Now()
		ctx, stop := l.Keep(background, k)
		select {
		case <-ctx.Done():
			if took := time.Since(start); codeOf(context.Cause(ctx)) != CodeLocked || took < lease {
				t.Errorf("after %s: %v", took, context.Cause(ctx))
			}
		case <-time.After(30 * time.Second):
			t.Error("a hundred leases later it still waits")
		}
		stop()
		close(done)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
