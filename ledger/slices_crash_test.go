package ledger

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// chargeMany charges slices 0 to n−1, each the same.
func chargeMany(l *Ledger, n int) error {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	_, err := l.Charge(background, month(""), Elsewhere{Costs: costs("1/1000", names...), Reason: "r"})
	return err
}

// opened opens the account of the months, with one debit.
func opened(t testing.TB, at string) {
	t.Helper()
	l := open(t, at)
	defer l.Close()
	q := inMonth("one", "0", 0.125)
	q.Opening.Limit = limit("10", "1")
	debit(t, l, q)
}

// chargedTimes returns the number of times that n slices were charged, all of them as often.
func chargedTimes(t testing.TB, at string, n int) int64 {
	t.Helper()
	l := open(t, at)
	defer l.Close()
	// The server may still be ending what a killed process had begun, between one question and the next.
	wrong := ledgercheck.Check(slicesNow(t, l), nil, nil)
	for tries := 0; len(wrong) > 0 && tries < 3000; tries++ {
		time.Sleep(20 * time.Millisecond)
		wrong = ledgercheck.Check(slicesNow(t, l), nil, nil)
	}
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	all, err := l.Tallies(background, month(""))
	if err != nil {
		t.Fatal(err)
	}
	times := all[0].Debits - 1 // slice 0, by the debit
	if times > 0 && len(all) != n || times == 0 && len(all) != 1 {
		t.Fatalf("%d slices of %d were charged", len(all), n)
	}
	for _, one := range all[1:] {
		if one.Debits != times || one.Spent[0].Cmp(big.NewRat(times, 1000)) != 0 {
			t.Fatalf("slice %s was charged %d times, others %d times", one.Is, one.Debits, times)
		}
	}
	return times
}

// A charge of many slices that is cut off at any moment has charged all of them or none.
func TestKillWhileCharging(t *testing.T) {
	tier.Full(t, "TestEveryStepOfAChargeFails")
	onBoth(t, func(t *testing.T, at string) {
		kills, n := 10, 10_000
		opened(t, at)
		w := task{Address: at, Slices: n}
		start := time.Now()
		cmd, out := w.start(t)
		if err := cmd.Wait(); err != nil || strings.TrimSpace(out.String()) != "charged" {
			t.Fatalf("%v: %s", err, out)
		}
		whole := time.Since(start)
		before := chargedTimes(t, at, n)
		seed := rand.Uint64()
		t.Logf("seed %d, a whole charge takes %s", seed, whole)
		r := rand.New(rand.NewPCG(seed, 0))
		killed := 0
		for tries := 0; killed < kills && tries < 10*kills; tries++ {
			cmd, _ := w.start(t)
			began := time.Now()
			// One kill in each part of a charge, from the first to the last.
			share := (float64(killed) + r.Float64()) / float64(kills)
			timer := time.AfterFunc(time.Duration(share*float64(whole)), func() { cmd.Process.Kill() })
			if cmd.Wait() != nil {
				killed++
			} else { // the machine may be busier or less busy than it was
				whole = time.Since(began)
			}
			timer.Stop()
			after := chargedTimes(t, at, n)
			if after != before && after != before+1 {
				t.Fatalf("%d charges, %d before", after, before)
			}
			before = after
		}
		if killed < kills {
			t.Errorf("only %d charges were killed: the test shows little", killed)
		}
	})
}

// The server dies in the middle of a charge.
func TestServerDiesWhileCharging(t *testing.T) {
	tier.Full(t, "TestEveryStepOfAChargeFails")
	srv, err := postgrestest.Start()
	if err != nil {
		t.Skip(err)
	}
	defer srv.Remove()
	at := srv.URL("public")
	opened(t, at)
	const n = 10_000
	w := task{Address: at, Slices: n}
	start := time.Now()
	cmd, _ := w.start(t)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(start)
	before := chargedTimes(t, at, n)
	for i := range 6 {
		cmd, _ := w.start(t)
		time.Sleep(whole * time.Duration(i+1) / 7) // any moment will do
		srv.Kill()
		cmd.Wait()
		if err := srv.Run(); err != nil {
			t.Fatal(err)
		}
		after := chargedTimes(t, at, n)
		if after != before && after != before+1 {
			t.Fatalf("%d charges, %d before", after, before)
		}
		before = after
	}
}

// Every step of the driver fails once during a charge.
func TestEveryStepOfAChargeFails(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		const n = 5
		opened(t, at)
		charge := func(at string, f *fault) error {
			o := Options{}
			faulty(f)(&o)
			l, err := Open(background, address(t, at), o)
			if err != nil {
				return err
			}
			defer l.Close()
			return chargeMany(l, n)
		}
		fresh := copyOf(t, at)
		count := &fault{}
		if err := charge(fresh(), count); err != nil || count.steps < 20 {
			t.Fatalf("%d steps, %v", count.steps, err)
		}
		for step := 1; step <= count.steps; step++ {
			for _, f := range []fault{{err: syscall.EIO}, {err: syscall.EIO, after: true}} {
				f.n = step
				at := fresh()
				err := charge(at, &f)
				if times := chargedTimes(t, at, n); times > 1 || times == 0 && err == nil {
					t.Fatalf("step %d, %v: charged %d times, %v", step, f, times, err)
				}
			}
		}
	})
}
