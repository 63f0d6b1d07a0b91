package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
)

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
