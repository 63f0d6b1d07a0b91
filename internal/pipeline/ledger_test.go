package pipeline_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/columns"
)

// manyJob allows several releases of the tiny table.
func manyJob(t *testing.T, table string, replace ...string) string {
	return write(t, tinyJob, append(replace, "TABLE", table, "limit: {epsilon: 1}", "limit: {epsilon: 2.5}")...)
}

func tableWith(t *testing.T, x float64) []byte {
	t.Helper()
	b, err := os.ReadFile(tableOf(t, columns.Column{Name: "x", Float64: []float64{1, 2, 3, x}}, columns.Column{Name: "g", Texts: []string{"a", "b", "a", "b"}}))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The same plan on changed data is a new release and a new debit; on the old data
// again it is the old release.
func TestChangedDataIsANewRelease(t *testing.T) {
	data := filepath.Join(t.TempDir(), "table.parquet")
	path := manyJob(t, data)
	dir := filepath.Dir(path)
	put := func(x float64) {
		if err := os.WriteFile(data, tableWith(t, x), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(4)
	first, err := run(t, path)
	if err != nil {
		t.Fatal(err)
	}
	old := contents(t, first.Dir)
	put(5)
	// The folder holds the releases of the old data, which is something else.
	if exit, _ := exitOf(second(run(t, path))); exit != failure.ExitInvalidJob || len(spends(t, dir)) != 1 {
		t.Fatalf("exit %d, %d debits", exit, len(spends(t, dir)))
	}
	if err := os.Rename(first.Dir, first.Dir+".old"); err != nil {
		t.Fatal(err)
	}
	changed, err := run(t, path)
	if err != nil || changed.Already || len(spends(t, dir)) != 2 {
		t.Fatalf("changed data: %v, %d debits", err, len(spends(t, dir)))
	}
	if err := os.RemoveAll(first.Dir); err != nil {
		t.Fatal(err)
	}
	put(4)
	again, err := run(t, path)
	if err != nil || !again.Already || len(spends(t, dir)) != 2 {
		t.Fatalf("the old data again: %v", err)
	}
	for name, b := range contents(t, again.Dir) {
		if old[name] != b {
			t.Errorf("%s differs", name)
		}
	}
	verified(t, dir)
}

// A column that the job does not read is no part of what it is asked of.
func TestOtherColumnsDoNotMatter(t *testing.T) {
	data := filepath.Join(t.TempDir(), "table.parquet")
	path := manyJob(t, data)
	for i, g := range []string{"a", "b"} {
		b, err := os.ReadFile(tableOf(t, columns.Column{Name: "x", Float64: []float64{1, 2, 3, 4}}, columns.Column{Name: "g", Texts: []string{g, "b", "a", "b"}}))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(data, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if o, err := run(t, path); err != nil || o.Already != (i == 1) {
			t.Fatalf("run %d: %v", i, err)
		}
	}
}

// Identical runs at once: one does the work, the others wait and return the same.
func TestIdenticalRunsAtOnce(t *testing.T) {
	path := manyJob(t, good(t))
	dir := filepath.Dir(path)
	const runs = 4
	outcomes := make([]*pipeline.Outcome, runs)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			o, err := run(t, path)
			if err != nil {
				t.Error(err)
				return
			}
			outcomes[i] = o
		})
	}
	wg.Wait()
	made := 0
	for _, o := range outcomes {
		if o != nil && !o.Already {
			made++
		}
	}
	if made != 1 || len(spends(t, dir)) != 1 {
		t.Errorf("%d runs made releases, %d debits", made, len(spends(t, dir)))
	}
	verified(t, dir)
}

// A run that waits for another one gives up in time.
func TestWaitTimesOut(t *testing.T) {
	path := manyJob(t, good(t))
	reached, goOn := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := runWith(t, path, func(o *pipeline.Options) {
			*o = pipeline.With(*o, func(point string) {
				if point == "debited" {
					close(reached)
					<-goOn
				}
			}, nil, 0)
		})
		done <- err
	}()
	<-reached
	_, err := runWith(t, path, func(o *pipeline.Options) { o.Wait = 100 * time.Millisecond })
	if exit, code := exitOf(err); exit != failure.ExitLedger || code != "RUN_ELSEWHERE" {
		t.Errorf("exit %d, code %s", exit, code)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if o, err := run(t, path); err != nil || !o.Already {
		t.Errorf("afterwards: %v", err)
	}
}

// Two jobs of one data set share its account; the second one is told what is left.
func TestJobsShareAnAccount(t *testing.T) {
	data := good(t)
	first := manyJob(t, data)
	ledger := "sqlite:" + filepath.Join(filepath.Dir(first), "dprelease.db")
	if _, err := run(t, first); err != nil {
		t.Fatal(err)
	}
	other := func(eps string) string {
		return manyJob(t, data, "job: tiny", "job: another", "budget: {limit: {epsilon: 1}}", "budget: {ledger: '"+ledger+"', limit: {epsilon: 9}}", "guarantee: {epsilon: 1}", "guarantee: {epsilon: "+eps+"}")
	}
	for _, do := range []func(path string) error{
		func(path string) error { return second(run(t, path)) },
		func(path string) error {
			j, err := pipeline.Load(path, func(string) (string, bool) { return "", false })
			if err != nil {
				return err
			}
			return second(pipeline.Plan(background, j, options()))
		},
	} {
		err := do(other("2"))
		if exit, code := exitOf(err); exit != failure.ExitBudget || code != "BUDGET_EXCEEDED" {
			t.Fatalf("exit %d, code %s: %v", exit, code, err)
		}
		for _, want := range []string{"allows ε 2.5", "is left", "too little", "would fit"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("says %q, want %q in it", err, want)
			}
		}
	}
	o, err := run(t, other("1.25"))
	if err != nil {
		t.Fatal(err)
	}
	if b := o.Report.Budget; b == nil || b.Sequence == 0 || len(b.Head) != 64 || len(b.Amounts) != 2 || !strings.HasPrefix(b.Amounts[0].Spent, "2.2") {
		t.Errorf("budget %+v", o.Report.Budget)
	}
	verified(t, filepath.Dir(first))
}

// An old backup of the ledger that is put back is refused: the releases that are
// newer stand beside the output.
func TestRestoredBackupIsRefused(t *testing.T) {
	data := good(t)
	path := manyJob(t, data)
	dir := filepath.Dir(path)
	db := filepath.Join(dir, "dprelease.db")
	if _, err := run(t, path); err != nil {
		t.Fatal(err)
	}
	backup, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	next := filepath.Join(dir, "next.yaml")
	if err := os.WriteFile(next, []byte(strings.NewReplacer("job: tiny", "job: next", "dir: out", "dir: out2").Replace(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, next); err != nil {
		t.Fatal(err)
	}
	for _, log := range []string{"-wal", "-shm"} {
		os.Remove(db + log)
	}
	if err := os.WriteFile(db, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, code := exitOf(second(run(t, next))); exit != failure.ExitLedger || code != "LEDGER_ROLLED_BACK" {
		t.Errorf("exit %d, code %s", exit, code)
	}
	// It is remembered where the releases are not in sight.
	if err := os.RemoveAll(filepath.Join(dir, "out2")); err != nil {
		t.Fatal(err)
	}
	if exit, code := exitOf(second(run(t, next))); exit != failure.ExitLedger || code != "LEDGER_ROLLED_BACK" {
		t.Errorf("later: exit %d, code %s", exit, code)
	}
}

// A retry makes nothing that only a new release needs: the page takes most of the
// time of a small run.
func TestRetryMakesNoPage(t *testing.T) {
	path := manyJob(t, good(t))
	for i, want := range []bool{true, false} {
		var reached sync.Map
		o, err := runWith(t, path, func(o *pipeline.Options) {
			*o = pipeline.With(*o, func(point string) { reached.Store(point, true) }, nil, 0)
		})
		if err != nil || o.Already != (i == 1) {
			t.Fatalf("run %d: %v", i, err)
		}
		if _, made := reached.Load("paging"); made != want {
			t.Errorf("run %d: a page was made: %v", i, made)
		}
	}
}

// A retry of the example is quick. Reference: 200 ms.
func BenchmarkRetry(b *testing.B) {
	text, err := os.ReadFile("../../examples/schools/job.yaml")
	if err != nil {
		b.Fatal(err)
	}
	data, err := filepath.Abs("../../examples/data")
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "job.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "../data", data)), 0o644); err != nil {
		b.Fatal(err)
	}
	once := func() *pipeline.Outcome {
		j, err := pipeline.Load(path, os.LookupEnv)
		if err != nil {
			b.Fatal(err)
		}
		o, err := pipeline.Run(background, j, options())
		if err != nil {
			b.Fatal(err)
		}
		return o
	}
	once()
	for b.Loop() {
		if !once().Already {
			b.Fatal("drawn again")
		}
	}
}

// A run that makes nothing new shows the same values, from whichever format has them.
func TestAlreadyReleasedShowsTheValues(t *testing.T) {
	for _, format := range []string{"csv", "json"} {
		path := manyJob(t, good(t), "formats: [csv]", "formats: ["+format+"]", "column: x}", "column: x, by: g}")
		var texts [2]strings.Builder
		for i := range texts {
			o, err := run(t, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.WriteDetail(&texts[i]); err != nil {
				t.Fatal(err)
			}
		}
		first, ok := strings.CutPrefix(texts[1].String(), "already released: nothing was drawn and nothing was debited\n")
		var made []string // all but the line that says that the ledger is new
		for line := range strings.Lines(texts[0].String()) {
			if !strings.HasPrefix(line, "Ledger ") {
				made = append(made, line)
			}
		}
		if !ok || first != strings.Join(made, "") || !strings.Contains(first, "estimate") || !strings.Contains(texts[0].String(), "because the job names none") {
			t.Errorf("%s:\n%s\nthen\n%s", format, texts[0].String(), texts[1].String())
		}
	}
}

// A ledger that the job names is made only where a person asks for it; a job cannot ask.
// A slip in the address, its folder included, makes nothing.
func TestNamedLedgerMustExist(t *testing.T) {
	data := good(t)
	dir := t.TempDir()
	path := manyJob(t, data, "budget: {", "budget: {ledger: 'sqlite:"+filepath.Join(dir, "named.db")+"', ")
	slip := manyJob(t, data, "budget: {", "budget: {ledger: 'sqlite:"+filepath.Join(dir, "no", "such", "named.db")+"', ")
	without := func(o *pipeline.Options) { o.CreateLedger = false }
	for _, c := range []struct {
		path string
		set  func(*pipeline.Options)
		says string
	}{
		{path, without, "make one with: dprelease ledger init " + path + ", or run the job with --create-ledger; nothing was drawn"},
		{slip, without, "make one with"},
		{slip, func(*pipeline.Options) {}, "there is no folder " + filepath.Join(dir, "no", "such")},
	} {
		_, err := runWith(t, c.path, c.set)
		var f *failure.Failure
		if !errors.As(err, &f) || f.Exit != failure.ExitLedger || f.Code != "LEDGER_MISSING" || !strings.Contains(f.Message, c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
	if _, err := runWith(t, path, func(o *pipeline.Options) { o.CreateLedger = true }); err != nil {
		t.Fatal(err)
	}
	if o, err := runWith(t, path, without); err != nil || !o.Already {
		t.Errorf("and then without it: %v", err)
	}
}

// A run does not believe what was edited in the database, whichever row it was: nothing
// is drawn, published or spent.
func TestRunAfterTampering(t *testing.T) {
	tier.Full(t, "TestLostLedgerIsNotReplaced")
	for what, statement := range map[string]string{
		"what is spent": `UPDATE dprelease_accounts SET state = SUBSTR(state, 1, LENGTH(state) - 1) || ',"spent":["0","0"]}'`,
		"the limit":     `UPDATE dprelease_accounts SET state = SUBSTR(state, 1, LENGTH(state) - 1) || ',"limit":{"epsilon":"100","delta":"0"}}'`,
		"the account":   "DELETE FROM dprelease_accounts",
		"the release":   "DELETE FROM dprelease_releases",
		"its state":     "UPDATE dprelease_releases SET state = 'abandoned'",
		"a record":      "DELETE FROM dprelease_records WHERE kind = 'debit'",
		"the newest":    "DELETE FROM dprelease_records WHERE seq = (SELECT MAX(seq) FROM dprelease_records)",
	} {
		path := manyJob(t, good(t))
		if _, err := run(t, path); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(path)
		if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, "dprelease.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, again := range []bool{false, true} {
			var f *failure.Failure
			_, err := runWith(t, path, func(o *pipeline.Options) { o.Again = again })
			switch {
			case errors.As(err, &f) && f.Code == "LEDGER_TAMPERED" && f.Exit == failure.ExitLedger:
				refused++
			case err != nil:
				t.Errorf("%s: %v", what, err)
			}
		}
		// The stored release may be published where only the account was edited: that
		// spends nothing.
		other := strings.NewReplacer("job: tiny", "job: other", "dir: out", "dir: out2")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		second := filepath.Join(dir, "other.yaml")
		if err := os.WriteFile(second, []byte(other.Replace(string(text))), 0o644); err != nil {
			t.Fatal(err)
		}
		var f *failure.Failure
		_, err = run(t, second)
		onlyRelease := what == "the release" || what == "its state"
		if errors.As(err, &f) && f.Code == "LEDGER_TAMPERED" {
			refused++
		} else if !onlyRelease {
			t.Errorf("%s: another job: %v", what, err)
		}
		if refused == 0 || onlyRelease && refused < 2 {
			t.Errorf("%s: %d runs were refused", what, refused)
		}
	}
}
