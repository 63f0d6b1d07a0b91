package main

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// Whole runs of a job, with the processes of its mechanisms, are killed: 220 of them, half on each database, most of them
// after they have said that they draw. After each one the ledger is recovered, and held to everything that was
// ever visible; now and then the same job is run again, alone or beside another run
// of it, and the data change. At the end the limit is lowered to what is nearly
// spent, and it holds.
func TestKillWholeRuns(t *testing.T) {
	tier.Full(t, "TestKillAtEveryPoint of pipeline")
	const kills = 110 // on each database
	onBothAtOnce(t, func(t *testing.T, w *world) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		started := time.Now()
		for _, name := range []string{"first", "firsts"} {
			if how := w.run(t, name, name).end(t); how != "done" {
				t.Fatal(how)
			}
		}
		var before *big.Rat
		count, took := map[string]int{}, map[string]time.Duration{}
		versions, version := map[string]int{}, 0
		plan, runs := 0, 0
		moments := []string{killed, "done", where(0, false), where(1, false), where(1, true)}
		unseen := func() bool { return slices.ContainsFunc(moments, func(how string) bool { return count[how] == 0 }) }
		for ; (count[killed] < kills || unseen()) && runs < 10*kills+200; runs++ {
			if r.IntN(2) == 0 || plan == 0 {
				plan++ // or the same once more, so that retries meet crashes
			}
			if r.IntN(6) == 0 {
				version = r.IntN(3)
				w.change(t, version)
			}
			name, out := fmt.Sprint("p", plan), fmt.Sprint("out", runs)
			if plan%5 == 0 {
				name += "s"
			}
			flags := []string{"--wait", "5m"}
			if r.IntN(2) == 0 {
				flags = append(flags, "--spend-again")
			}
			victim := w.run(t, name, out, append(flags, "--json")...)
			spare := w.kill(victim, out, whenever(r), took)
			if r.IntN(8) == 0 {
				beside := w.run(t, name, out+"b", flags...)
				count["beside: "+beside.end(t)]++
				versions[out+"b"] = version
			}
			how := victim.end(t)
			spare()
			count[how]++
			versions[out] = version
			var seen map[string]ledgercheck.Output
			if before, seen = w.check(t, before); how == killed {
				_, visible := seen[out]
				count[where(w.debits-count["debits"], visible)]++
			}
			count["debits"] = w.debits
			// The ledger tells contents apart exactly as they are apart.
			apart := map[string]int{}
			for out, o := range seen {
				if v, ok := apart[o.Content]; ok && v != versions[out] || o.Content == "" {
					t.Errorf("%s: content %q is that of version %d and %d", out, o.Content, v, versions[out])
				}
				apart[o.Content] = versions[out]
			}
			if runs%100 == 0 {
				for _, f := range w.verify(t) {
					t.Errorf("%s: %s: %s", f.Code, f.Where, f.What)
				}
			}
			if t.Failed() {
				t.Fatalf("after run %d of %s, which ended with %s", runs, name, how)
			}
		}
		for _, f := range w.verify(t) {
			t.Errorf("%s: %s: %s", f.Code, f.Where, f.What)
		}
		t.Logf("%d runs in %s: %v; %v", runs, time.Since(started).Round(time.Second), count, took)
		if count[killed] < kills || unseen() {
			t.Errorf("%v: the test shows little", count)
		}
		w.exhaust(t, before)
	})
}

// strike is the moment at which a run is killed: some share of the usual time after it printed a line with a word (the name of
// an event), or as soon as its output is visible.
type strike struct {
	word    string // "" for its start
	share   float64
	visible bool
}

// whenever returns a random moment of a run: most lie behind its planning.
func whenever(r *rand.Rand) strike {
	m := strike{share: r.Float64()}
	switch n := r.IntN(20); {
	case n < 2: // its plan is made
	case n < 5:
		m.word = "plan" // the ledger is opened and debited
	case n < 11:
		m.word = "draw" // the mechanisms see the rows, and what they release is sealed
	case n < 15:
		m.word = "release-done" // written, renamed and told to the ledger
	case n < 17:
		m.word = "published"
	default:
		m.visible = true // between that and its end lies next to nothing
	}
	return m
}

// kill ends a run at a moment. The times from a run's words to the next are kept in took: how long they took when they
// last went by undisturbed. spare waits until nobody reads the run's output any more.
func (w *world) kill(victim *process, out string, at strike, took map[string]time.Duration) (spare func()) {
	spared, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var due, look <-chan time.Time
		if at.visible {
			often := time.NewTicker(100 * time.Microsecond)
			defer often.Stop()
			look = often.C
		}
		begun, since := "", time.Now() // its last step
		arm := func() {
			if at.word == begun && !at.visible {
				due = time.After(time.Duration(at.share * float64(max(took[begun], shortest))))
			}
		}
		arm()
		for {
			select {
			case <-spared:
				return
			case <-due:
				victim.Process.Kill()
				return
			case <-look:
				if _, err := os.Stat(filepath.Join(w.dir, "outs", out)); err == nil {
					victim.Process.Kill()
					return
				}
			case word := <-victim.words:
				if !slices.Contains(steps, word) || word == begun {
					continue
				}
				took[begun] = time.Since(since)
				begun, since = word, time.Now()
				arm()
			}
		}
	}()
	return func() { close(spared); <-done }
}

// No step is taken to be shorter than shortest. The last ones are over before this process is told that they began.
const shortest = 5 * time.Millisecond

// steps are the events between which a run is killed, in their order.
var steps = []string{"plan", "draw", "release-done", "published"}

// where names the stage that a run had reached before it was killed.
func where(debits int, visible bool) string {
	switch {
	case visible:
		return "killed with its output visible"
	case debits > 0:
		return "killed between its debit and its output"
	}
	return "killed before its debit"
}

// exhaust leaves room for two more runs, starts four at once and kills one: at most
// two get through.
func (w *world) exhaust(t *testing.T, spent *big.Rat) {
	t.Helper()
	limit := new(big.Rat).Add(spent, big.NewRat(5, 2)).FloatString(9)
	args := []string{"--dataset", "people", "--relation", "replace-one", "--epsilon", limit, "--reason", "nearly spent"}
	if lower := w.command(t, append([]string{"ledger", "lower", w.ledger}, args...)...); lower.Wait() != nil {
		t.Fatal(lower.errs.String())
	}
	var all []*process
	for i := range 4 {
		all = append(all, w.run(t, fmt.Sprint("last", i), fmt.Sprint("last", i)))
	}
	time.AfterFunc(100*time.Millisecond, func() { all[0].Process.Kill() })
	count := map[string]int{}
	for _, p := range all {
		count[p.end(t)]++
	}
	after, _ := w.check(t, spent)
	if count["done"] > 2 || count["BUDGET_EXCEEDED"] == 0 || after.Cmp(new(big.Rat).Add(spent, big.NewRat(5, 2))) > 0 {
		t.Errorf("at the limit: %v, spent %s", count, after.FloatString(6))
	}
	one := w.run(t, "toomany", "toomany")
	if how := one.end(t); how != "BUDGET_EXCEEDED" && !strings.Contains(fmt.Sprint(count), killed) {
		t.Errorf("beyond the limit: %s", how)
	}
	for _, f := range w.verify(t) {
		t.Errorf("%s: %s: %s", f.Code, f.Where, f.What)
	}
}
