package main

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/ledger"
)

// raw carries out a statement on a ledger's database, behind its back.
func (w *world) raw(t *testing.T, statement string) {
	t.Helper()
	driver, at := "pgx", w.ledger
	if path, ok := strings.CutPrefix(w.ledger, "sqlite:"); ok {
		driver, at = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
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
		}{{time.Second, "done"}, {time.Hour, ledger.CodeClock}, {-time.Hour, "done"}} {
			w.raw(t, fmt.Sprintf("UPDATE dprelease_head SET at = %d", time.Now().Add(back.by).UnixMicro()))
			name := fmt.Sprintf("by%d", int(back.by.Seconds()))
			name = strings.Replace(name, "-", "minus", 1)
			if how := w.run(t, name, name).end(t); how != back.how {
				t.Errorf("%s back: %s, want %s", back.by, how, back.how)
			}
			if back.how != "done" {
				after, seen := w.check(t, spent)
				if after.Cmp(spent) != 0 || len(seen) != 2 {
					t.Errorf("%s back: spent %s after %s, %d outputs", back.by, after, spent, len(seen))
				}
				w.must(t, 0, "people: per row", "ledger", "show", name+".yaml")
				w.must(t, 0, "account after it", "plan", name+".yaml")
				// What was released is there for those who ask again.
				w.must(t, 0, "already released", "run", "before.yaml")
			}
			spent, _ = w.check(t, spent)
		}
	})
}
