package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
)

// A retry behind a failure that spent does not spend again, also where the first run was told to; behind one that spent nothing it may.
func TestRetriesSpendOnce(t *testing.T) {
	for _, f := range []*failure.Failure{
		failure.New(failure.ExitLedger, "LEDGER_LOCKED", "locked"),
		failure.Resting(&failure.Failure{Exit: failure.ExitNotPublished, Code: "NOT_PUBLISHED", Message: "full", Spent: failure.SpentRun}),
	} {
		s := &story{runErr: f}
		exit, _, errw := try(context.Background(), s, "run", "--retries", "1", "--retry-wait", "1ms", "--spend-again", "--revise", "j.yaml")
		if free := f.Cost() == failure.SpentNone; exit != 75 || strings.Count(errw, "run again") != 1 || s.got.Again != free || s.got.Revise != free {
			t.Errorf("%s: exit %d, the retry has %v %v: %s", f.Code, exit, s.got.Again, s.got.Revise, errw)
		}
	}
}

// A run waits for a database that is back before its retries are used up, and says so; it gives up after as many as were asked for, and
// tries nothing again that would fail again.
func TestRetries(t *testing.T) {
	address := postgrestest.New(t)
	name := strings.TrimPrefix(address[strings.LastIndex(address, "search_path="):], "search_path=")
	if err := postgrestest.Shared(t).Exec("create table " + name + ".people as select n % 11 as x, 'a' as g from generate_series(1, 40) n"); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "sqlite:"+filepath.Join(testdir.New(t), "ledger.db"))
	text := strings.NewReplacer("NAME", "people", "SOURCE", "table: people", "RELATION", "relation: replace-one\n  size: 40", "OUT", "out").Replace(databaseJob)
	if err := os.WriteFile(filepath.Join(w.dir, "job.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PEOPLE_DB", "postgres://ledger@127.0.0.1:1/postgres?sslmode=disable")
	exit, _, said := w.ended(t, "run", "--retries", "2", "--retry-wait", "10ms", "job.yaml")
	if exit != 75 || strings.Count(said, "note: run again in 10ms") != 2 || !strings.Contains(said, "(2 of 2)") {
		t.Errorf("exit %d: %s", exit, said)
	}
	t.Setenv("PEOPLE_DB", strings.Replace(address, "/postgres?", "/nowhere?", 1))
	if exit, _, said := w.ended(t, "run", "--retries", "2", "--retry-wait", "10ms", "job.yaml"); exit != 6 || strings.Contains(said, "run again") {
		t.Errorf("exit %d: %s", exit, said)
	}
	t.Setenv("PEOPLE_DB", address)
	w.must(t, 0, "Charged for everything", "run", "--retries", "2", "job.yaml")
	w.must(t, 2, "--retries: is not for a run that publishes at an hour", "run", "--retries", "2", "--publish-at", "06:00", "job.yaml")
}
