package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
)

const databaseJob = `version: 1
job: NAME
dataset:
  id: people
  source: {postgres: "${PEOPLE_DB}", SOURCE}
  RELATION
  columns:
    x: {lower: 0, upper: 10}
    g: {domain: [a, b]}
budget: {ledger: "${WORLD_LEDGER}", limit: {epsilon: 1000}}
samples: {some: {method: poisson, rate: 0.5}}
releases:
  - {name: count, mechanism: count, params: {by: g}, guarantee: {epsilon: 0.5}}
  - {name: total, from: some, mechanism: sum, params: {column: x}, guarantee: {epsilon: 0.5}}
output: {dir: OUT, formats: [csv]}
`

// A table in a database, as a job reads it: a retry publishes the same bytes although the
// server has the rows in another order, and another row is a new release. Of a query
// nothing is public.
func TestDatabaseSource(t *testing.T) {
	address := postgrestest.New(t)
	name := strings.TrimPrefix(address[strings.LastIndex(address, "search_path="):], "search_path=")
	server := postgrestest.Shared(t)
	t.Setenv("PEOPLE_DB", address)
	people := name + ".people"
	must := func(statement string) {
		t.Helper()
		if err := server.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	must("create table " + people + " as select n as id, n % 11 as x, case when n % 2 = 0 then 'a' else 'b' end as g, '{}'::jsonb as j from generate_series(1, 400) n")
	w := newWorld(t, "sqlite:"+filepath.Join(testdir.New(t), "ledger.db"))
	job := func(file, source, relation, out string) string {
		t.Helper()
		text := strings.NewReplacer("NAME", "people", "SOURCE", source, "RELATION", relation, "OUT", out).Replace(databaseJob)
		if err := os.WriteFile(filepath.Join(w.dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	run := func(exit int, says, file string) string {
		t.Helper()
		return w.must(t, exit, says, "run", file)
	}
	public := "relation: replace-one\n  size: 400"
	whole := job("whole.yaml", "table: people", public, "one")
	w.must(t, 0, "", "plan", whole)
	run(0, "Charged for everything", whole)
	first := files(t, filepath.Join(w.dir, "one"))
	for name, content := range first {
		if strings.Contains(content, server.Address()) {
			t.Errorf("%s names the server", name)
		}
	}
	must("create table " + people + "2 as select * from " + people + " order by g, x desc")
	must("alter table " + people + " rename to old")
	must("alter table " + people + "2 rename to people")
	again := job("again.yaml", "table: people", public, "two")
	run(0, "already released", again)
	equal(t, "the rows in another order", first, files(t, filepath.Join(w.dir, "two")))
	must("update " + people + " set x = 10 - x where id = 7")
	run(0, "Charged for everything", job("changed.yaml", "table: people", public, "three"))

	// The public number of rows is compared, and is no fact of a query.
	must("delete from " + people + " where id = 8")
	run(3, "dataset.size: is not the number of rows of the table", job("fewer.yaml", "table: people", public, "four"))
	const query = `query: "select x, g from people where x > 2"`
	run(3, "dataset.relation: replace-one does not go with dataset.source.query", job("query.yaml", query, public, "five"))
	run(3, "dataset.at_least: does not go with dataset.source.query", job("least.yaml", query, "relation: add-remove\n  at_least: 5", "five"))
	run(0, "Charged for everything", job("some.yaml", query, "relation: add-remove", "five"))
	run(0, "already released", job("some.yaml", query, "relation: add-remove", "five"))
	// Another query is another question, though its rows are the same: whether they are is not told for free. A query that
	// fails on a row has been paid for, and every failure says the same.
	run(0, "Charged for everything", job("same.yaml", `query: "select x, g from people where x > 2 and x < 99"`, "relation: add-remove", "same"))
	for i, where := range []string{"1 / (x - 5) = 0", "1/(case when id = 9 then 0 else 1 end) = 1", "(x * 2000000000) > 0"} {
		run(6, "SOURCE_UNREACHABLE: the rows could not all be read; nothing was published, and the budget is spent",
			job(fmt.Sprint("fails", i, ".yaml"), `query: "select x, g from people where `+where+`"`, "relation: add-remove", "seven"))
	}
	must("create function " + name + ".peek(n bigint) returns bigint language sql immutable as 'select n'")
	run(6, "calls a function that somebody wrote", job("peek.yaml", `query: "select peek(x) as x, g from people"`, "relation: add-remove", "seven"))
	run(3, "dataset.slice: does not go with dataset.source.query", job("slice.yaml", query, "relation: add-remove\n  slice: {column: g, is: a}", "seven"))
	run(6, "has a limit", job("limit.yaml", `query: "select x, g from people limit 3"`, "relation: add-remove", "six"))
	run(6, "no column x in the table", job("column.yaml", `query: "select x as y, g from people"`, "relation: add-remove", "six"))
	run(6, "column g cannot be used: of the type jsonb", job("json.yaml", `query: "select x, j as g from people"`, "relation: add-remove", "six"))
	for to, want := range map[string]string{
		strings.Replace(address, server.Address(), "127.0.0.1:1", 1):          "SOURCE_UNREACHABLE, exit 75; spent: none; retry: yes",
		strings.Replace(address, "sslmode=disable", "sslmode=verify-full", 1): "SOURCE_TLS, exit 6; spent: none; retry: no",
		strings.Replace(address, "/postgres?", "/nowhere?", 1):                "SOURCE_NOT_FOUND, exit 6; spent: none; retry: no",
	} {
		t.Setenv("PEOPLE_DB", to)
		if _, _, said := w.ended(t, "run", whole); !strings.Contains(said, "failed: code "+want) {
			t.Errorf("want %s: %s", want, said)
		}
	}
	t.Setenv("PEOPLE_DB", strings.Replace(address, "ledger@", "ledger:tiger@", 1))
	if exit, out, said := w.ended(t, "run", whole); exit != 3 || !strings.Contains(said, "dataset.source.postgres: must not hold a password") || strings.Contains(out+said, "tiger") {
		t.Errorf("a password in the address: exit %d, %s%s", exit, out, said)
	}
}
