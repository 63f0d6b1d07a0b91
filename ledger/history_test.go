package ledger

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// Histories of runs, retries, kills, restored backups and changed data, by eight
// processes at once; the checker looks at them from outside after every round.
func TestHistories(t *testing.T) {
	tier.Full(t, "TestKillAtNamedPoints and TestEveryStepFails")
	onBoth(t, func(t *testing.T, at string) {
		const processes, rounds, actions = 8, 6, 5
		w := newWorld(t, at)
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 1))
		// Chance alone would now and then find, make or kill nothing.
		count := map[string]int{}
		for _, point := range []string{"", "", "drawn"} {
			cmd, out := task{Address: at, Plan: "certain" + point, Epsilon: 0.001, Content: w.data, Out: w.out, Kill: point, Wait: time.Minute}.start(t)
			if err := cmd.Wait(); err != nil {
				out.WriteString("killed")
			}
			count[strings.TrimSpace(out.String())]++
		}
		var mu sync.Mutex
		var before *big.Rat
		var old *backup
		for round := range rounds {
			var wg sync.WaitGroup
			for range processes {
				mine := rand.New(rand.NewPCG(r.Uint64(), 2))
				wg.Go(func() {
					for range actions {
						how := w.act(t, mine)
						mu.Lock()
						count[how]++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			s := recovered(t, at)
			for _, wrong := range ledgercheck.Check(s, w.visible(t), before) {
				t.Fatalf("round %d: %s", round, wrong)
			}
			before = s.Spent
			switch {
			case old == nil:
				old = save(t, at)
			case round%2 == 0 && len(newer(w.visible(t), old.seq)) > 0:
				// Somebody puts the old backup back. No run may spend on it, and the
				// releases that are there give it away.
				newest := save(t, at)
				old.restore(t)
				n := len(w.visible(t))
				for range processes {
					one := task{Address: at, Plan: fmt.Sprint("restored", r.IntN(3)), Epsilon: 0.001, Content: w.data, Out: w.out, Witness: true}
					cmd, out := one.start(t)
					if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != CodeRolledBack {
						t.Fatalf("an old backup: %q, %v", out.String(), err)
					}
					count["refused on a backup"]++
				}
				if len(w.visible(t)) != n {
					t.Fatal("a release was published on an old backup")
				}
				l := open(t, at)
				v, err := l.Verify(background, seenOf(t, w, l.ID()))
				l.Close()
				// The refusal is a record, too: a release with its number is one of another ledger, and newer ones are behind the end.
				if found := joined(v.Findings()); err != nil || !strings.Contains(found, FoundRolledBack) && !strings.Contains(found, FoundForked) {
					t.Fatalf("verify of a backup: %v, %v", v.Findings(), err)
				}
				newest.restore(t)
				old = newest
			}
		}
		t.Logf("%v", count)
		for _, how := range []string{"made", "found", "killed"} {
			if count[how] == 0 {
				t.Errorf("nothing was %s", how)
			}
		}
	})
}

// act is one thing that somebody does.
func (w world) act(t *testing.T, r *rand.Rand) string {
	one := task{Address: w.at, Plan: fmt.Sprint("p", r.IntN(10)), Epsilon: 0.001, Content: w.data, Out: w.out, Again: r.IntN(3) == 0, Wait: 10 * time.Second, Witness: true}
	kill := false
	switch r.IntN(8) {
	case 0: // the data change
		temp := filepath.Join(filepath.Dir(w.data), fmt.Sprint("next", r.Uint64()))
		if err := os.WriteFile(temp, fmt.Appendf(nil, "c%d", r.IntN(3)), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Rename(temp, w.data); err != nil {
			t.Error(err)
		}
		return "changed"
	case 1:
		one.Kill = []string{"opened", "debited", "drawn", "sealed", "written", "visible"}[r.IntN(6)]
	case 2, 3:
		kill = true
	}
	cmd, out := one.start(t)
	if kill {
		timer := time.AfterFunc(time.Duration(r.IntN(150))*time.Millisecond, func() { cmd.Process.Kill() })
		defer timer.Stop()
	}
	if err := cmd.Wait(); err != nil {
		return "killed"
	}
	return strings.TrimSpace(out.String())
}

// newer are the visible outputs with a debit after seq.
func newer(all []ledgercheck.Output, seq int64) (out []ledgercheck.Output) {
	for _, o := range all {
		if o.Seq > seq {
			out = append(out, o)
		}
	}
	return out
}

func seenOf(t *testing.T, w world, ledger string) (out []Seen) {
	for _, o := range w.visible(t) {
		out = append(out, Seen{Where: o.Plan, Mark: Mark{Ledger: ledger, Seq: o.Seq, Head: o.Head},
			Files: []Sum{{"value", digestOf([]byte(o.Value))}, {"mark", digestOf(fmt.Appendf(nil, "%s %s %d %s", o.Plan, o.Content, o.Seq, o.Head))}}})
	}
	return out
}

// backup is a copy of a ledger while nobody uses it.
type backup struct {
	at, copy string
	seq      int64
}

func save(t *testing.T, at string) *backup {
	t.Helper()
	l := open(t, at)
	v, err := l.Verify(background, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &backup{at: at, seq: v.Head().Seq}
	if a := address(t, at); a.sqlite != "" {
		// Into one file, without a log beside it.
		b.copy = filepath.Join(testdir.New(t), "backup.db")
		if _, err := l.conn.ExecContext(background, "VACUUM INTO '"+b.copy+"'"); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	if b.copy == "" {
		b.copy = clone(t, at)
	}
	return b
}

func (b *backup) restore(t *testing.T) {
	t.Helper()
	if a := address(t, b.at); a.sqlite != "" {
		whole, err := os.ReadFile(b.copy)
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(a.sqlite + "-wal")
		os.Remove(a.sqlite + "-shm")
		if err := os.WriteFile(a.sqlite, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	to, from := schemaOf(b.at), schemaOf(b.copy)
	for _, table := range []string{"head", "records", "accounts", "releases", "archives", "nodes", "tree"} {
		onServer(t, fmt.Sprintf("DELETE FROM %s.dprelease_%s", to, table), fmt.Sprintf("INSERT INTO %s.dprelease_%s SELECT * FROM %s.dprelease_%s", to, table, from, table))
	}
}
