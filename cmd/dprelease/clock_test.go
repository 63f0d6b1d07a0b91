package main

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/ledger/postgres"
)

// behind opens a ledger's database behind its back, for f alone: a test that moves
// the file must not find it open.
func (w *world) behind(t *testing.T, f func(*sql.DB) error) {
	t.Helper()
	driver, at := postgres.Name, w.ledger
	if path, ok := strings.CutPrefix(w.ledger, "sqlite:"); ok {
		driver, at = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f(db), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// raw carries out a statement.
func (w *world) raw(t *testing.T, statement string) {
	t.Helper()
	w.behind(t, func(db *sql.DB) error { _, err := db.Exec(statement); return err })
}

// ahead makes the newest record one that was written while the clock was ahead: as
// the specification has it, with its hash.
func (w *world) ahead(t *testing.T, by time.Duration) {
	t.Helper()
	var ledger, kind, body, prev string
	var seq int64
	w.behind(t, func(db *sql.DB) error {
		return db.QueryRow("SELECT h.ledger, r.seq, r.kind, r.body, r.prev FROM dprelease_head h JOIN dprelease_records r ON r.seq = h.seq").Scan(&ledger, &seq, &kind, &body, &prev)
	})
	at := time.Now().UTC().Add(by).Truncate(time.Microsecond)
	const begin, form = `{"at":"`, "2006-01-02T15:04:05.000000Z"
	if !strings.HasPrefix(body, begin) {
		t.Fatal(body)
	}
	body = begin + at.Format(form) + body[len(begin)+len(form):]
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprintf("dprelease ledger 1\n%s\n%d\n%s\n%s\n%s", ledger, seq, kind, prev, body))))
	w.raw(t, fmt.Sprintf("UPDATE dprelease_records SET body = '%s', hash = '%s' WHERE seq = %d", body, hash, seq))
	w.raw(t, fmt.Sprintf("UPDATE dprelease_head SET hash = '%s', at = %d", hash, at.UnixMicro()))
}

// A record that was written while the clock was ahead: nothing can be spent until
// somebody accepts the clock, which everybody can see afterwards. What was spent
// stays spent, and what was released is known.
func TestClockWasAhead(t *testing.T) {
	if testing.Short() {
		t.Skip("accepting a clock is for the full tests; TestClockWentBack stays")
	}
	onBothAtOnce(t, func(t *testing.T, w *world) {
		if how := w.run(t, "one", "one").end(t); how != "done" {
			t.Fatal(how)
		}
		w.must(t, 0, "there is nothing to accept", "ledger", "clock", "one.yaml")
		w.must(t, 7, "there is nothing to accept", "ledger", "clock", "one.yaml", "--accept", "--reason", "x")
		w.ahead(t, 365*24*time.Hour)
		spent, _ := w.check(t, nil)
		if found := w.verify(t); len(found) > 0 {
			t.Fatal(found)
		}
		if how := w.run(t, "two", "two").end(t); how != ledger.CodeClock {
			t.Fatal(how)
		}
		w.must(t, 7, "ledger clock", "ledger", "raise", "one.yaml", "--dataset", "people", "--relation", "replace-one", "--epsilon", "2000", "--reason", "x")
		w.must(t, 0, "give this command again with --accept", "ledger", "clock", "one.yaml")
		w.must(t, 0, `"ahead":`, "ledger", "clock", "--json", "one.yaml")
		w.must(t, 2, "--reason is missing", "ledger", "clock", "one.yaml", "--accept")
		w.must(t, 2, "go with --accept", "ledger", "clock", "one.yaml", "--reason", "x")
		const act = "Ada accepted the clock, and passed over times up to "
		w.must(t, 0, act, "ledger", "clock", "one.yaml", "--accept", "--by", "Ada", "--reason", "ticket 4711")
		for _, name := range []string{"two", "three"} {
			if how := w.run(t, name, name).end(t); how != "done" {
				t.Fatal(how)
			}
		}
		after, seen := w.check(t, spent)
		if len(seen) != 3 || after.Cmp(spent) <= 0 {
			t.Errorf("spent %s after %s, %d outputs", after, spent, len(seen))
		}
		if found := w.verify(t); len(found) > 0 {
			t.Error(found)
		}
		w.must(t, 0, "already released", "run", "one.yaml")
		w.must(t, 0, act, "ledger", "show", "one.yaml")
		w.must(t, 0, act, "ledger", "verify", "one.yaml")
		w.must(t, 0, act, "ledger", "clock", "one.yaml")
		w.must(t, 0, `"by":"Ada","reason":"ticket 4711","was":`, "ledger", "show", "--json", "one.yaml")
		w.must(t, 0, `"acts":[{"record":`, "ledger", "verify", "--json", "one.yaml")
		again, _ := w.check(t, after)
		if again.Cmp(after) != 0 {
			t.Errorf("looking spent %s", again)
		}
	})
}

// A clock that went back: a run is refused, draws nothing and spends nothing, plans
// and looks go on, and when the clock is right again the run succeeds. Setting the
// newest record into the future is the same to a run as setting its clock back.
func TestClockWentBack(t *testing.T) {
	onBothAtOnce(t, func(t *testing.T, w *world) {
		if how := w.run(t, "before", "before").end(t); how != "done" {
			t.Fatal(how)
		}
		spent, _ := w.check(t, nil)
		for _, back := range []struct {
			by  time.Duration
			how string
		}{{time.Second, "done"}, {time.Hour, ledger.CodeClock}, {0, "done"}} {
			w.ahead(t, back.by)
			name := fmt.Sprintf("by%d", int(back.by.Seconds()))
			if how := w.run(t, name, name).end(t); how != back.how {
				t.Errorf("%s back: %s, want %s", back.by, how, back.how)
			}
			if back.how != "done" {
				after, seen := w.check(t, spent)
				if after.Cmp(spent) != 0 || len(seen) != 2 {
					t.Errorf("%s back: spent %s after %s, %d outputs", back.by, after, spent, len(seen))
				}
				w.must(t, 0, "people: per row", "ledger", "show", name+".yaml")
				w.must(t, 0, "Spent after", "plan", name+".yaml")
				// What was released is there for those who ask again.
				w.must(t, 0, "already released", "run", "before.yaml")
			}
			spent, _ = w.check(t, spent)
		}
	})
}
