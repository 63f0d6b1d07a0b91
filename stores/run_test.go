package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/stores/storetest"
)

const storeJob = `version: 1
job: NAME
dataset:
  id: people
  source: {path: "SOURCE"}
  relation: replace-one
  size: 800
  columns:
    x: {lower: 0, upper: 10}
    g: {domain: [a, b]}
    year: {domain: ["2023", "2024"], missing: drop}
budget: {ledger: "${WORLD_LEDGER}", limit: {epsilon: 1000}}
samples: {some: {method: srswor, size: 5}}
releases:
  - {name: mean, from: some, mechanism: mean, params: {column: x}, guarantee: {epsilon: 0.5}}
  - {name: count, mechanism: count, params: {by: year}, guarantee: {epsilon: 0.5}}
output: {dir: "OUT", formats: [csv]}
`

// A table in object storage, partitioned by folders, and releases that go there: on a
// server of the S3 protocol. What the server is asked says nothing of the draw; a release
// is there whole or its report is not there; and no credential is anywhere.
func TestObjectStorage(t *testing.T) {
	s := storetest.Start(t)
	w := newWorld(t)
	var data bytes.Buffer
	if err := table.WriteParquet(&data, people(400)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"sales/year=2024/part.parquet", "sales/year=__HIVE_DEFAULT_PARTITION__/part.parquet", "sales/_SUCCESS", "sales.bak/part.parquet"} {
		s.Put(t, key, data.Bytes())
	}
	var said strings.Builder
	run := func(name, source, out string, exit int, want string) {
		t.Helper()
		text := strings.NewReplacer("NAME", name, "SOURCE", source, "OUT", out).Replace(storeJob)
		if err := os.WriteFile(filepath.Join(w.dir, "job.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, stdout, stderr := w.ended(t, "run", "job.yaml")
		said.WriteString(stdout + stderr)
		if got != exit || !strings.Contains(stdout+stderr, want) {
			t.Fatalf("%s: exit %d, want %d and %q:\n%s%s", name, got, exit, want, stdout, stderr)
		}
	}
	asked := func(do func()) (tables, rest []string) {
		before := len(s.Requests())
		do()
		for _, r := range s.Requests()[before:] {
			if strings.Contains(r, "/sales") {
				tables = append(tables, r)
			} else {
				rest = append(rest, r)
			}
		}
		slices.Sort(tables)
		return tables, rest
	}

	// The same columns, two draws: the store is asked the same.
	first, _ := asked(func() { run("first", s.Address("sales"), "first", 0, "Charged for everything") })
	second, _ := asked(func() { run("second", s.Address("sales"), "second", 0, "Charged for everything") })
	if len(first) < 4 || !slices.Equal(first, second) {
		t.Errorf("two draws, two logs:\n%q\n%q", first, second)
	}
	if strings.Contains(fmt.Sprint(first), "sales.bak") {
		t.Errorf("another folder was read: %q", first)
	}
	run("pattern", s.Address("sales/year=*/*.parquet"), "pattern", 0, "Charged for everything")
	run("first", s.Address("sales"), "again", 0, "already released")
	same(t, "a retry", files(t, filepath.Join(w.dir, "first")), files(t, filepath.Join(w.dir, "again")))

	for _, year := range []string{"2024", "__HIVE_DEFAULT_PARTITION__"} {
		dir := filepath.Join(w.dir, "sales", "year="+year)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "part.parquet"), data.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	run("first", "file://"+filepath.Join(w.dir, "sales"), "disk", 0, "already released") // the same table on a disk

	// Releases that go there: the report comes last.
	out := s.Address("releases/one")
	_, puts := asked(func() { run("far", s.Address("sales"), out, 0, "Charged for everything") })
	puts = slices.DeleteFunc(puts, func(r string) bool { return !strings.HasPrefix(r, "PUT") || strings.HasSuffix(r, "/.dprelease-try") })
	if n := len(puts); n < 5 || !strings.HasSuffix(puts[n-1], "/releases/one/report.json") {
		t.Errorf("what was put: %q", puts)
	}
	run("far", s.Address("sales"), out, 0, "already released")
	run("other", s.Address("sales"), out, 3, "holds the releases of another job")

	// The store refuses the report, which comes last: nothing is there that anybody would take for a release, and the next run puts the rest.
	s.Refuse(func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/report.json")
	})
	cut := s.Address("releases/cut")
	run("cut", s.Address("sales"), cut, 75, "NOT_PUBLISHED")
	s.Refuse(nil)
	if got := s.Keys(t, "releases/cut/"); len(got) == 0 || slices.Contains(got, "releases/cut/report.json") {
		t.Errorf("after a failure there are %q", got)
	}
	run("cut", s.Address("sales"), cut, 0, "already released")
	if got := s.Keys(t, "releases/cut/"); !slices.Contains(got, "releases/cut/report.json") || len(got) != len(puts) {
		t.Errorf("after the retry there are %q", got)
	}
	// Who may write nothing there hears it before the debit; who may remove nothing leaves an object that counts as nothing.
	s.Refuse(func(r *http.Request) bool { return r.Method == http.MethodPut })
	run("denied", s.Address("sales"), s.Address("releases/denied"), 2, "OUTPUT_UNWRITABLE")
	if text := said.String(); !strings.Contains(text[strings.LastIndex(text, "OUTPUT_UNWRITABLE"):], "spent: none") {
		t.Errorf("a folder that cannot be written was noticed after the debit:\n%s", text)
	}
	s.Refuse(func(r *http.Request) bool { return r.Method == http.MethodDelete })
	run("kept", s.Address("sales"), s.Address("releases/kept"), 0, "Charged for everything")
	run("kept", s.Address("sales"), s.Address("releases/kept"), 0, "already released")
	s.Refuse(nil)
	if got := s.Keys(t, "releases/one/"); slices.Contains(got, "releases/one/.dprelease-try") {
		t.Errorf("left behind: %q", got)
	}
	s.Put(t, "releases/taken/notes.txt", []byte("mine"))
	run("taken", s.Address("sales"), s.Address("releases/taken"), 3, "already holds something else")

	s.Refuse(func(r *http.Request) bool { return r.Method == http.MethodGet })
	run("refused", s.Address("sales"), "refused", 6, "SOURCE_DENIED")
	s.Refuse(nil)
	run("gone", s.Address("nothing"), "gone", 6, "SOURCE_NOT_FOUND")
	run("signed", strings.Replace(s.Address("sales"), "s3://", "s3://id:secret@", 1), "signed", 3, "must not hold a credential")

	for _, name := range []string{"first", "pattern"} {
		for file, content := range files(t, filepath.Join(w.dir, name)) {
			said.WriteString(file + content)
		}
	}
	for _, key := range s.Keys(t, "releases/one/") {
		said.Write(s.Get(t, key))
	}
	for _, word := range []string{storetest.ID, storetest.Secret, "secret words"} {
		if strings.Contains(said.String(), word) {
			t.Errorf("%q was said or written", word)
		}
	}
}
