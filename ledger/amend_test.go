package ledger

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
)

// as opens a ledger in somebody's name.
func as(t testing.TB, at, who string) *Ledger {
	return open(t, at, func(o *Options) { o.By = who })
}

// What is not given of a limit stays.
func TestHalfALimit(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		debit(t, l, request("p", 0.5))
		for _, c := range []struct {
			change Change
			want   string
		}{
			{Change{Epsilon: limit("3/4", "0").Epsilon, Reason: "lower ε"}, "ε 0.75, δ 0.001"},
			{Change{Delta: limit("0", "1/2000").Delta, Reason: "lower δ"}, "ε 0.75, δ 0.0005"},
			{Change{Epsilon: limit("2", "0").Epsilon, Raise: true, Reason: "raise ε"}, "ε 2, δ 0.0005"},
			{Change{Delta: limit("0", "1/500").Delta, Raise: true, Reason: "raise δ"}, "ε 2, δ 0.002"},
		} {
			a, err := l.SetLimit(background, people, c.change)
			if err != nil || a.Limit.String() != c.want {
				t.Fatalf("%s: %v, %v; want %s", c.change.Reason, a, err, c.want)
			}
		}
		acts, err := l.Acts(background)
		if err != nil || len(acts) != 5 {
			t.Fatalf("%+v, %v", acts, err)
		}
		if a := acts[3]; a.What != "limit" || !a.Raised || a.Limit.String() != "ε 2, δ 0.0005" || a.By != "me" || a.Reason != "raise ε" || a.Account != 2 {
			t.Errorf("%+v", a)
		}
		verified(t, l)
	})
}

// Where an account asks for it, one person raises the limit and another approves; ending
// the rule needs two as well, and a limit that is lowered ends what waits.
func TestTwoPersons(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		alice, bob := as(t, at, "alice@here"), as(t, at, " bob ")
		if _, err := alice.OpenAccount(background, people, Opening{Filter: Basic, Limit: limit("1", "0"), TwoPersons: true}); err != nil {
			t.Fatal(err)
		}
		spend := func(plan string, eps float64, code string) {
			t.Helper()
			if _, err := bob.Debit(background, request(plan, eps)); codeOf(err) != code {
				t.Fatalf("%s: %v, want %q", plan, err, code)
			}
		}
		code := func(err error, code string, says ...string) {
			t.Helper()
			if codeOf(err) != code {
				t.Fatalf("%v, want %q", err, code)
			}
			for _, s := range says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v, want %q", err, s)
				}
			}
		}
		_, err := bob.Approve(background, people, 3)
		code(err, CodeLimit, "nothing waits")
		a, err := alice.SetLimit(background, people, change(limit("2", "0"), true, "more"))
		code(err, "")
		if a.Limit.String() != "ε 1, δ 0" || a.Pending == nil || a.Pending.By != "alice@here" {
			t.Fatalf("%+v", a)
		}
		spend("p", 1.5, CodeExhausted)
		_, err = alice.Approve(background, people, a.Pending.Record)
		code(err, CodeLimit, "alice@here asked for it and cannot approve it")
		// Another login host or spelling is the same person.
		for _, same := range []string{"alice@there", "Alice", "ALICE@x"} {
			_, err = as(t, at, same).Approve(background, people, a.Pending.Record)
			code(err, CodeLimit, "a second person must")
		}
		// Nobody approves what took the place of what they saw.
		seen := a.Pending.Record
		a, err = alice.SetLimit(background, people, change(limit("3", "0"), true, "much more"))
		code(err, "")
		_, err = bob.Approve(background, people, seen)
		code(err, CodeLimit, "give --proposal")
		a, err = bob.Approve(background, people, a.Pending.Record)
		code(err, "")
		if a.Limit.String() != "ε 3, δ 0" || a.Pending != nil || !a.TwoPersons {
			t.Fatalf("%+v", a)
		}
		_, err = bob.Approve(background, people, seen+1)
		code(err, CodeLimit, "nothing waits")
		spend("p", 1.5, "")
		// Lowered by one person, and what waited is over.
		a, err = alice.SetLimit(background, people, change(limit("9", "0"), true, "again"))
		code(err, "")
		seen = a.Pending.Record
		_, err = bob.SetLimit(background, people, change(limit("2", "0"), false, "enough"))
		code(err, "")
		_, err = bob.Approve(background, people, seen)
		code(err, CodeLimit)
		// The rule ends by two persons, and begins by one.
		_, err = alice.SetTwoPersons(background, people, true, "why")
		code(err, CodeLimit, "already")
		a, err = alice.SetTwoPersons(background, people, false, "slow")
		code(err, "")
		if !a.TwoPersons || a.Pending == nil || !a.Pending.EndRule {
			t.Fatalf("%+v", a)
		}
		_, err = alice.Approve(background, people, a.Pending.Record)
		code(err, CodeLimit)
		a, err = bob.Approve(background, people, a.Pending.Record)
		code(err, "")
		if a.TwoPersons || a.Limit.String() != "ε 2, δ 0" {
			t.Fatalf("%+v", a)
		}
		_, err = alice.SetLimit(background, people, change(limit("4", "0"), true, "alone"))
		code(err, "")
		_, err = alice.SetTwoPersons(background, people, true, "")
		code(err, CodeLimit, "reason")
		_, err = alice.SetTwoPersons(background, people, true, "safe")
		code(err, "")
		a, err = bob.Account(background, people)
		if err != nil || !a.TwoPersons || a.Limit.String() != "ε 4, δ 0" {
			t.Fatalf("%+v, %v", a, err)
		}
		verified(t, bob)
		acts, err := bob.Acts(background)
		if err != nil {
			t.Fatal(err)
		}
		var story []string
		for _, x := range acts {
			story = append(story, x.By+" "+x.What)
		}
		want := "alice@here account, alice@here propose, alice@here propose, bob approve, alice@here propose, bob limit, alice@here propose, bob approve, alice@here limit, alice@here rule"
		if got := strings.Join(story, ", "); got != want {
			t.Errorf("story %s\nwant  %s", got, want)
		}
	})
}

// An audit finds that one person did what two must.
func TestAuditOfTwoPersons(t *testing.T) {
	at := "sqlite:" + testdir.New(t) + "/ledger.db"
	alice := as(t, at, "alice")
	if _, err := alice.OpenAccount(background, people, Opening{Filter: Basic, Limit: limit("1", "0"), TwoPersons: true}); err != nil {
		t.Fatal(err)
	}
	a, err := alice.SetLimit(background, people, change(limit("2", "0"), true, "more"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := as(t, at, "bob").Approve(background, people, a.Pending.Record); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ kind, old, new, finds string }{
		"nothing":                {finds: ""},
		"approved by who asked":  {"approve", `"by":"bob"`, `"by":"alice@elsewhere"`, "one person asked for a change and approved it"},
		"another proposal":       {"approve", `"proposal":3`, `"proposal":2`, "approves what nobody asked for"},
		"raised without another": {"propose", `"limit":{"epsilon":"2"`, `"limit":{"epsilon":"1/2"`, "not a larger limit"},
	} {
		v := NewAuditor()
		prev, changed := genesis, false
		if err := alice.Records(background, func(r Record) error {
			if body := strings.ReplaceAll(r.Body, c.old, c.new); c.kind == r.Kind && body != r.Body {
				r.Body, changed = body, true
			}
			r.Prev = prev
			r.Hash = hashRecord(alice.ID(), &r)
			prev = r.Hash
			v.Add(r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if found := joined(v.Findings()); changed != (c.kind != "") || (found == "") != (c.finds == "") || !strings.Contains(found, c.finds) {
			t.Errorf("%s: changed %v, found %q", what, changed, found)
		}
	}
}

// The wait for a ledger that others keep locked is what was asked for.
func TestLockWait(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		holder := open(t, at)
		debit(t, holder, request("p", 0.125))
		held, done := make(chan struct{}), make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- holder.write(background, func(*tx) error { close(held); <-done; return nil })
		}()
		<-held
		short := open(t, at, func(o *Options) { o.LockWait = 50 * time.Millisecond })
		start := time.Now()
		_, err := short.Debit(background, request("q", 0.125))
		if codeOf(err) != CodeLocked || time.Since(start) >= DefaultLockWait {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		close(done)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		debit(t, short, request("q", 0.125)) // the handle is as good as before
		verified(t, short)
	})
}

// A named ledger is made by nobody's mistake, and neither is its folder.
func TestNothingIsMadeByMistake(t *testing.T) {
	dir := testdir.New(t)
	for _, c := range []struct {
		at     string
		create bool
	}{{"none.db", false}, {"no/folder/none.db", false}, {"no/folder/none.db", true}} {
		a := sqliteAddress(c.at, dir)
		_, err := Open(background, a, Options{Create: c.create})
		want := "dprelease ledger init " + a.String()
		if c.create {
			want = "there is no folder " + dir + "/no/folder"
		}
		if codeOf(err) != CodeMissing || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, create %v: %v", c.at, c.create, err)
		}
		if left := listed(t, dir); left != "" {
			t.Errorf("%s, create %v: left %s", c.at, c.create, left)
		}
	}
}

func listed(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// What people do to a ledger or an account has a name and a reason, or it is no record.
func TestReasons(t *testing.T) {
	var need []string
	for kind, empty := range bodies {
		fresh, r := newBooks(), empty()
		if _, err := fresh.enter(1, r); err == nil || !strings.Contains(err.Error(), "nobody wrote it") {
			t.Errorf("%s by nobody: %v", kind, err)
		}
		r.stamped().By = "me"
		if _, err := fresh.enter(1, r); codeOf(err) == CodeLimit && strings.Contains(err.Error(), "needs a reason") {
			need = append(need, kind)
		}
	}
	slices.Sort(need)
	if got := strings.Join(need, " "); got != "charge clock close keeps limit propose refuse rule separate" {
		t.Errorf("these kinds need a reason: %s", got)
	}
}
