package ledger

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// start begins a task in a process of its own.
func (w task) start(t testing.TB) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "LEDGER_TEST_WORK="+string(text))
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

// world is a ledger, data and a folder of outputs that processes work on.
type world struct {
	at, data, out string
}

func newWorld(t *testing.T, at string) world {
	t.Helper()
	w := world{at: at, data: filepath.Join(testdir.New(t), "data"), out: testdir.New(t)}
	if err := os.WriteFile(w.data, []byte("c0"), 0o644); err != nil {
		t.Fatal(err)
	}
	return w
}

// visible are the outputs that anybody can see.
func (w world) visible(t testing.TB) (out []ledgercheck.Output) {
	t.Helper()
	entries, err := os.ReadDir(w.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".temp-") {
			continue
		}
		value, err := os.ReadFile(filepath.Join(w.out, e.Name(), "value"))
		mark, err2 := os.ReadFile(filepath.Join(w.out, e.Name(), "mark"))
		var o ledgercheck.Output
		if _, err3 := fmt.Sscanf(string(mark), "%s %s %d %s", &o.Plan, &o.Content, &o.Seq, &o.Head); err != nil || err2 != nil || err3 != nil {
			t.Fatalf("half an output: %s", e.Name())
		}
		o.Value = string(value)
		out = append(out, o)
	}
	return out
}

// recovered returns the state of a ledger after a crash.
func recovered(t testing.TB, at string) ledgercheck.State {
	t.Helper()
	l := open(t, at)
	defer l.Close()
	verified(t, l)
	s := ledgercheck.State{Spent: new(big.Rat), Limit: new(big.Rat), Debits: map[int64]ledgercheck.Debit{}}
	a, err := l.Account(background, people)
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		return s
	}
	s.Spent, s.Limit = a.Spent[0], a.Limit.Epsilon
	err = l.Records(background, func(r Record) error {
		if r.Kind != "debit" {
			return nil
		}
		var b debitBody
		if err := decode(r.Body, &b); err != nil {
			return err
		}
		s.Debits[r.Seq] = ledgercheck.Debit{Plan: b.Plan, Hash: r.Hash, Cost: b.Cost[0]}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// After a kill at any named point the books are right, and the runs that follow
// end with one output.
func TestKillAtNamedPoints(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		w := newWorld(t, at)
		var before *big.Rat
		for i, point := range []string{"opened", "debited", "drawn", "sealed", "written", "visible"} {
			plan := fmt.Sprintf("p%d", i)
			one := task{Address: at, Plan: plan, Epsilon: 0.0625, Content: w.data, Out: w.out, Kill: point, Wait: time.Minute}
			cmd, _ := one.start(t)
			if err := cmd.Wait(); err == nil {
				t.Fatalf("%s: not killed", point)
			}
			s := recovered(t, at)
			for _, wrong := range ledgercheck.Check(s, w.visible(t), before) {
				t.Errorf("%s: %s", point, wrong)
			}
			before = s.Spent
			want := map[string]string{"opened": "made", "debited": CodeUnfinished, "drawn": CodeUnfinished}[point]
			if want == "" {
				want = "found"
			}
			one.Kill = ""
			cmd, out := one.start(t)
			if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != want {
				t.Fatalf("%s: then %q, %v; want %s", point, out.String(), err, want)
			}
			one.Again = true
			cmd, out = one.start(t)
			if err := cmd.Wait(); err != nil || want == CodeUnfinished && strings.TrimSpace(out.String()) != "made" || want != CodeUnfinished && strings.TrimSpace(out.String()) != "found" {
				t.Fatalf("%s: at last %q, %v", point, out.String(), err)
			}
		}
		for _, wrong := range ledgercheck.Check(recovered(t, at), w.visible(t), before) {
			t.Error(wrong)
		}
	})
}

// Many runs, killed at random moments; after each batch the books are checked
// against everything that was ever visible.
func TestKillAtRandomMoments(t *testing.T) {
	tier.Full(t, "TestKillAtNamedPoints and TestEveryStepFails")
	onBoth(t, func(t *testing.T, at string) {
		const kills = 250 // on each database
		w := newWorld(t, at)
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		// How long a whole run takes on this machine now.
		first := task{Address: at, Plan: "first", Epsilon: 0.0001, Content: w.data, Out: w.out, Wait: time.Minute}
		start := time.Now()
		cmd, _ := first.start(t)
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		whole := time.Since(start)
		killed, plan := 0, 0
		var before *big.Rat
		done := 0
		for killed < kills && done < 10*kills {
			var wg sync.WaitGroup
			var mu sync.Mutex
			const together = 4
			for range together {
				// Now and then the same plan, so that retries meet crashes.
				if r.IntN(3) > 0 {
					plan++
				}
				one := task{Address: at, Plan: fmt.Sprintf("p%d", plan), Epsilon: 0.0001, Content: w.data, Out: w.out, Again: r.IntN(2) == 0, Wait: 20 * time.Millisecond}
				after := time.Duration(r.Int64N(int64(whole) * 3 / 2))
				cmd, _ := one.start(t)
				wg.Go(func() {
					began := time.Now()
					timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
					err := cmd.Wait()
					timer.Stop()
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						killed++
					} else { // the machine may be busier or less busy than it was
						whole = (3*whole + time.Since(began)) / 4
					}
				})
				done++
			}
			wg.Wait()
			if done%20 == 0 || killed >= kills {
				s := recovered(t, at)
				for _, wrong := range ledgercheck.Check(s, w.visible(t), before) {
					t.Fatal(wrong)
				}
				before = s.Spent
			}
		}
		if killed < kills {
			t.Errorf("only %d of %d runs were killed: the test shows little", killed, done)
		}
		t.Logf("%d runs, %d killed, %d outputs visible, %d debits", done, killed, len(w.visible(t)), len(recovered(t, at).Debits))
	})
}
