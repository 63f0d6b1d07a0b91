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

// Whole runs of a job, with the processes of its mechanisms, are killed at random
// moments: 500 of them, half on each database. After each one the ledger is recovered, and held to everything that was
// ever visible; now and then the same job is run again, alone or beside another run
// of it, and the data change. At the end the limit is lowered to what is nearly
// spent, and it holds.
func TestKillWholeRuns(t *testing.T) {
	kills := tier.Of(3, 250) // on each database
	onBothAtOnce(t, func(t *testing.T, w *world) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		started := time.Now()
		whole := map[bool]time.Duration{false: w.length(t, "first"), true: w.length(t, "firsts")}
		var before *big.Rat
		count := map[string]int{}
		versions, version := map[string]int{}, 0
		plan, runs := 0, 0
		moments := []string{killed, "done", where(0, false), where(1, false), where(1, true)}
		if testing.Short() {
			moments = moments[:2] // a few kills do not find every moment
		}
		unseen := func() bool { return slices.ContainsFunc(moments, func(how string) bool { return count[how] == 0 }) }
		for ; (count[killed] < kills || unseen()) && runs < 4*kills+200; runs++ {
			if r.IntN(2) == 0 || plan == 0 {
				plan++ // or the same once more, so that retries meet crashes
			}
			if r.IntN(6) == 0 {
				version = r.IntN(3)
				w.change(t, version)
			}
			sampled := plan%5 == 0
			name, out := fmt.Sprint("p", plan), fmt.Sprint("out", runs)
			if sampled {
				name += "s"
			}
			flags := []string{"--wait", "30s"}
			if r.IntN(2) == 0 {
				flags = append(flags, "--again")
			}
			begun := time.Now()
			victim := w.run(t, name, out, flags...)
			spare := w.kill(victim, out, whenever(r, whole[sampled]), r.IntN(16) == 0)
			if r.IntN(8) == 0 {
				beside := w.run(t, name, out+"b", flags...)
				count["beside: "+beside.end(t)]++
				versions[out+"b"] = version
			}
			how := victim.end(t)
			spare()
			if how == "done" { // the machine may be busier or less busy than it was
				whole[sampled] = (3*whole[sampled] + min(time.Since(begun), 2*whole[sampled])) / 4
			}
			count[how]++
			versions[out] = version
			debits := w.debits(t)
			var seen map[string]ledgercheck.Output
			if before, seen = w.check(t, before); how == killed {
				_, visible := seen[out]
				moment := where(debits-count["debits"], visible)
				count[moment]++
				if moment == where(0, false) { // perhaps too early: a run takes longer while others are at work
					whole[sampled] += whole[sampled] / 50
				}
			}
			count["debits"] = debits
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
		t.Logf("%d runs of %v in %s: %v", runs, whole, time.Since(started).Round(time.Second), count)
		if count[killed] < kills || unseen() {
			t.Errorf("%v: the test shows little", count)
		}
		w.exhaust(t, before)
	})
}

// whenever is a random moment of a run: half of them lie anywhere in it, the others in
// the part that comes after most of the planning, and beyond its end, so that on a
// machine that has become slower some runs end, by which the next are timed.
func whenever(r *rand.Rand, whole time.Duration) time.Duration {
	u := r.Float64()
	if r.IntN(2) == 0 {
		u = 0.6 + 0.8*u
	}
	return time.Duration(u * float64(whole))
}

// kill ends a run at a moment, or as soon as its output is visible: between that and
// its end lies next to nothing. spare stops waiting for either.
func (w *world) kill(victim *process, out string, after time.Duration, visible bool) (spare func()) {
	if !visible {
		timer := time.AfterFunc(after, func() { victim.Process.Kill() })
		return func() { timer.Stop() }
	}
	spared, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-spared:
				return
			case <-time.After(100 * time.Microsecond):
			}
			if _, err := os.Stat(filepath.Join(w.dir, "outs", out)); err == nil {
				victim.Process.Kill()
				return
			}
		}
	}()
	return func() { close(spared); <-done }
}

// where says how far a run got before it was killed.
func where(debits int, visible bool) string {
	switch {
	case visible:
		return "killed with its output visible"
	case debits > 0:
		return "killed between its debit and its output"
	}
	return "killed before its debit"
}

// length is how long a whole run takes on this machine now.
func (w *world) length(t *testing.T, name string) time.Duration {
	t.Helper()
	start := time.Now()
	if how := w.run(t, name, name).end(t); how != "done" {
		t.Fatal(how)
	}
	return time.Since(start)
}

func (w *world) debits(t *testing.T) int {
	s, _ := w.recovered(t)
	return len(s.Debits)
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
