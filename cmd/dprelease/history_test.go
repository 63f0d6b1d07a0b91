package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dprelease/dprelease/ledger"
)

// Histories of whole runs: eight people at once run jobs, run them again, kill
// them and change the data; between the rounds an old backup of the ledger is put
// back, and the newest one again. After every round the offline checker looks at
// everything from outside.
func TestHistoriesOfWholeRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("eight people at once are for the full tests; TestKillWholeRuns stays")
	}
	const rounds, actions = 3, 2
	onBothAtOnce(t, func(t *testing.T, w *world) {
		const people = 8
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 3))
		whole := w.length(t, "first")
		before, _ := w.check(t, nil)
		w.backup(t, "old")
		count := map[string]int{"done": 1}
		for tries := 0; count[killed] == 0 && tries < 200; tries++ { // chance alone would now and then kill nobody
			count[w.killed(t, r, fmt.Sprint("k", tries), fmt.Sprint("k", tries), whole)]++
		}
		var mu sync.Mutex
		n := 0
		for round := range rounds {
			var wg sync.WaitGroup
			for range people {
				mine := rand.New(rand.NewPCG(r.Uint64(), 4))
				wg.Go(func() {
					for range actions {
						mu.Lock()
						n++
						out := fmt.Sprint("out", n)
						mu.Unlock()
						how := w.act(t, mine, out, whole)
						mu.Lock()
						count[how]++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			before, _ = w.check(t, before)
			for _, f := range w.verify(t) {
				t.Errorf("%s: %s: %s", f.Code, f.Where, f.What)
			}
			if t.Failed() {
				t.Fatalf("round %d: %v", round, count)
			}
			w.refuses(t, round, count)
		}
		t.Logf("%v", count)
		if count["done"] == 0 || count[killed] == 0 || count["refused on a backup"] == 0 {
			t.Error("the test shows little")
		}
	})
}

// act is one thing that somebody does.
func (w *world) act(t *testing.T, r *rand.Rand, out string, whole time.Duration) string {
	if r.IntN(8) == 0 {
		w.change(t, r.IntN(3))
		return "changed"
	}
	flags := []string{"--wait", "60s"}
	if r.IntN(2) == 0 {
		flags = append(flags, "--spend-again")
	}
	name := fmt.Sprint("p", r.IntN(6))
	if r.IntN(3) == 0 {
		return w.killed(t, r, name, out, whole, flags...)
	}
	return w.run(t, name, out, flags...).end(t)
}

// killed is a run that is killed at a random moment, or that ends before it.
func (w *world) killed(t *testing.T, r *rand.Rand, name, out string, whole time.Duration, flags ...string) string {
	p := w.run(t, name, out, flags...)
	// Eight runs share the processors, with others that were there or not when the
	// first run was timed.
	within := int64(whole) / 4 << r.IntN(5)
	timer := time.AfterFunc(time.Duration(r.Int64N(within)), func() { p.Process.Kill() })
	defer timer.Stop()
	return p.end(t)
}

// refuses puts the old backup back: no run spends on it. Then the newest is back.
func (w *world) refuses(t *testing.T, round int, count map[string]int) {
	t.Helper()
	w.backup(t, "newest")
	visible := len(w.visible(t))
	w.restore(t, "old")
	var all []*process
	for i := range 2 {
		all = append(all, w.run(t, fmt.Sprintf("r%d", i), fmt.Sprintf("restored%d-%d", round, i)))
	}
	for _, p := range all {
		if how := p.end(t); how != ledger.CodeRolledBack {
			t.Fatalf("an old backup: %s", how)
		}
		count["refused on a backup"]++
	}
	if len(w.visible(t)) != visible {
		t.Fatal("a release was published on an old backup")
	}
	found := ""
	for _, f := range w.verify(t) {
		found += f.Code + " "
	}
	if !strings.Contains(found, ledger.FoundRolledBack) {
		t.Errorf("verify of an old backup finds %q", found)
	}
	w.restore(t, "newest")
}

// length returns the time that a whole run takes on this machine now.
func (w *world) length(t *testing.T, name string) time.Duration {
	t.Helper()
	start := time.Now()
	if how := w.run(t, name, name).end(t); how != "done" {
		t.Fatal(how)
	}
	return time.Since(start)
}

var ledgerTables = []string{"head", "records", "accounts", "slices", "releases", "nodes", "tree", "columns", "separate", "failures", "leftovers", "keys"}

// backup copies the ledger while nobody uses it, under a name.
func (w *world) backup(t *testing.T, name string) {
	t.Helper()
	if path, ok := strings.CutPrefix(w.ledger, "sqlite:"); ok {
		w.raw(t, "PRAGMA wal_checkpoint(TRUNCATE)")
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path+"."+name, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, table := range ledgerTables {
		w.raw(t, fmt.Sprintf("DROP TABLE IF EXISTS %s_%s", name, table))
		w.raw(t, fmt.Sprintf("CREATE TABLE %s_%s AS TABLE dprelease_%s", name, table, table))
	}
}

// restore puts a copy back.
func (w *world) restore(t *testing.T, name string) {
	t.Helper()
	if path, ok := strings.CutPrefix(w.ledger, "sqlite:"); ok {
		b, err := os.ReadFile(path + "." + name)
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(path + "-wal")
		os.Remove(path + "-shm")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, table := range ledgerTables {
		w.raw(t, fmt.Sprintf("DELETE FROM dprelease_%s", table))
		w.raw(t, fmt.Sprintf("INSERT INTO dprelease_%s SELECT * FROM %s_%s", table, name, table))
	}
}

// What a person wrote into a ledger is no formula in the CSV of its debits.
func TestSpendsAreNoFormulas(t *testing.T) {
	var out strings.Builder
	s := shownLedger{Accounts: []shownAccount{{Dataset: "-d", Spends: []ledger.Spend{{By: "=cmd|'/c calc'!A0", Job: "@j"}}}}}
	if err := s.writeCSV(&out); err != nil || !strings.Contains(out.String(), "0,,'=cmd|'/c calc'!A0,'-d,,,'@j,") {
		t.Errorf("%v: %s", err, out.String())
	}
}
