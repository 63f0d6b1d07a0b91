package ledger

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/step"
)

var background = context.Background()

// TestMain lets the test binary be a process that uses a ledger and can be killed.
func TestMain(m *testing.M) {
	if job := os.Getenv("LEDGER_TEST_WORK"); job != "" {
		os.Exit(work(job))
	}
	code := m.Run()
	postgrestest.Stop()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// onServer carries out statements on the server that all tests of this package share.
func onServer(t testing.TB, statements ...string) {
	t.Helper()
	if err := postgrestest.Shared(t).Exec(statements...); err != nil {
		t.Fatal(err)
	}
}

// scenarios are the tests that run on PostgreSQL in the fast tier, too: a life, a limit that many want at once, and kills.
var scenarios = []string{"TestLifeOfARelease", "TestConcurrentDebits", "TestKillAtNamedPoints"}

// onBoth runs a test on both databases, and in the fast tier on PostgreSQL if it is one of the scenarios.
func onBoth(t *testing.T, f func(t *testing.T, address string)) {
	empty := postgrestest.New
	if slices.Contains(scenarios, t.Name()) {
		empty = postgrestest.Scenario
	}
	t.Run("sqlite", func(t *testing.T) { f(t, "sqlite:"+filepath.Join(testdir.New(t), "ledger.db")) })
	t.Run("postgres", func(t *testing.T) { f(t, empty(t)) })
}

// onOne runs a test on both databases, and with -short on SQLite alone: a test that is about
// records and rows, where the database makes no difference.
func onOne(t *testing.T, f func(t *testing.T, address string)) {
	if testing.Short() {
		f(t, "sqlite:"+filepath.Join(testdir.New(t), "ledger.db"))
		return
	}
	onBoth(t, f)
}

func address(t testing.TB, text string) Address {
	t.Helper()
	a, err := ParseAddress(text, ".")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func open(t testing.TB, text string, set ...func(*Options)) *Ledger {
	t.Helper()
	o := Options{Create: true, By: "me"}
	for _, f := range set {
		f(&o)
	}
	l, err := Open(background, address(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var people = Key{Dataset: "people", Unit: "row", Relation: privacy.ReplaceOne}

func limit(eps, delta string) Limit {
	e, _ := new(big.Rat).SetString(eps)
	d, _ := new(big.Rat).SetString(delta)
	return Limit{Epsilon: e, Delta: d}
}

func change(l Limit, raise bool, reason string) Change {
	return Change{Epsilon: l.Epsilon, Delta: l.Delta, Raise: raise, Reason: reason}
}

// request asks for a pure ε.
func request(plan string, eps float64) Request {
	return Request{
		Account: people, Opening: Opening{Filter: Basic, Limit: limit("1", "1/1000")},
		Plan: plan, Steps: []Step{{Does: step.Event{Bill: privacy.Bill{Event: privacy.Pure{Eps: eps}}}}}, Charged: privacy.Point{Epsilon: eps},
		Job: "job of " + plan, Digest: "digest", Charges: []Charge{{Name: "r", Epsilon: eps}},
	}
}

// billed is a request for another event on the data, priced at δ.
func billed(q Request, e privacy.Event, delta float64) Request {
	b := privacy.Bill{Event: e, Delta: delta}
	q.Steps, q.Charged = []Step{{Does: step.Event{Bill: b}}}, priceOf(b, q.Account.Relation)
	return q
}

func priceOf(b privacy.Bill, rel privacy.Relation) privacy.Point {
	a, err := b.Price(rel)
	if err != nil {
		panic(err)
	}
	return privacy.Point{Epsilon: a.Epsilon, Delta: b.Delta}
}

// asking debits for a run that does as it was billed.
func asking(l *Ledger, q Request) (Standing, error) {
	s, err := l.Debit(background, q)
	if s.Ticket != nil {
		s.Ticket.Made = s.Ticket.billed
	}
	return s, err
}

func debit(t testing.TB, l *Ledger, q Request) *Ticket {
	t.Helper()
	s, err := asking(l, q)
	if err != nil {
		t.Fatal(err)
	}
	if s.Ticket == nil {
		t.Fatalf("no ticket: %+v", s)
	}
	return s.Ticket
}

var someFiles = []File{{Path: "a.csv", Mode: 0o644, Data: []byte("estimate\n1\n")}, {Path: "report.json", Mode: 0o600, Data: []byte("{}")}}

func codeOf(err error) string {
	var known *Error
	switch {
	case err == nil:
		return ""
	case asError(err, &known):
		return known.Code
	}
	return fmt.Sprintf("%T %v", err, err)
}

func asError(err error, to **Error) bool {
	e, ok := err.(*Error)
	*to = e
	return ok
}

// verified holds a ledger to its chain.
func verified(t testing.TB, l *Ledger, seen ...Seen) {
	t.Helper()
	v, err := l.Verify(background, seen)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range v.Findings() {
		t.Errorf("%s: %s: %s", f.Code, f.Where, f.What)
	}
}

func joined(f []Finding) string {
	var all []string
	for _, x := range f {
		all = append(all, x.Code+": "+x.Where+": "+x.What)
	}
	return strings.Join(all, "\n")
}

// audited replays the chain of a ledger in which a text of the records of a kind was replaced and all hashes were made anew. It
// returns what was found, and whether a record was changed.
func audited(t testing.TB, l *Ledger, kind, old, put string) (found string, changed bool) {
	t.Helper()
	v, prev := NewAuditor(), genesis
	if err := l.Records(background, func(r Record) error {
		if r.Kind == kind && old != "" && strings.Contains(r.Body, old) {
			r.Body, changed = strings.ReplaceAll(r.Body, old, put), true
		}
		r.Prev = prev
		r.Hash = hashRecord(l.ID(), &r)
		prev = r.Hash
		v.Add(r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return joined(v.Findings()), changed
}
