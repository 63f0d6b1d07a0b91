package main_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/stores/storetest"
)

// Noise of ε 50 moves a count with probability 2·e^-50 < 1e-21.
const icebergJob = `version: 1
job: NAME
dataset:
  id: trips
  source: {iceberg: "SOURCE", snapshot: SNAPSHOT}
  relation: replace-one
  size: SIZE
  columns:
    fare: {lower: 0, upper: 10}
    borough: {domain: [Bronx, Queens]}
budget: {ledger: "${WORLD_LEDGER}", limit: {epsilon: 1000}}
releases:
  - {name: count, mechanism: count, params: {by: borough}, guarantee: {epsilon: 100}}
  - {name: mean, mechanism: mean, params: {column: fare}, guarantee: {epsilon: 1}}
output: {dir: "OUT", formats: [csv]}
`

// Each snapshot of a table gives its own rows, and the same ones after the table has moved on, from a folder or from
// object storage. What cannot be read as the table means it costs nothing.
func TestIceberg(t *testing.T) {
	const a, b, deleted = "73066087800482203", "3769948794920636908", "2721410817239555231"
	w := newWorld(t)
	from := filepath.Join("iceberg", "testdata", "v2")
	lake := filepath.Join(w.dir, "lake")
	if err := os.CopyFS(lake, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	later := map[string]string{}
	for i := 3; i <= 6; i++ { // the table as it was after its first snapshot
		name := filepath.Join(lake, "metadata", fmt.Sprintf("v%d.metadata.json", i))
		later[name] = name + ".later"
		if err := os.Rename(name, later[name]); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name, source, snapshot, size, out string, exit int, want string) string {
		t.Helper()
		text := strings.NewReplacer("NAME", name, "SOURCE", source, "SNAPSHOT", snapshot, "SIZE", size, "OUT", out).Replace(icebergJob)
		if err := os.WriteFile(filepath.Join(w.dir, "job.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, stdout, stderr := w.ended(t, "run", "job.yaml")
		if got != exit || !strings.Contains(stdout+stderr, want) {
			t.Fatalf("%s: exit %d, want %d and %q:\n%s%s", name, got, exit, want, stdout, stderr)
		}
		return stdout + stderr
	}
	holds := func(out, file string, want ...string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(w.dir, out, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range want {
			if !strings.Contains(string(text), s) {
				t.Errorf("%s/%s has no %q:\n%s", out, file, s, text)
			}
		}
	}

	run("trips", "lake", a, "400", "first", 0, "Charged for everything")
	holds("first", "count.csv", "Bronx,200", "Queens,200")
	holds("first", "report.json", `"snapshot": "`+a+`"`)
	holds("first", "report-public.html", "snapshot "+a)
	run("trips", "lake", b, "700", "early", 6, "SOURCE_NOT_FOUND")
	for name, hidden := range later {
		if err := os.Rename(hidden, name); err != nil {
			t.Fatal(err)
		}
	}

	// The table has moved on: the job is the same run, and the next snapshot is another.
	run("trips", "lake", a, "400", "again", 0, "already released")
	same(t, "the same snapshot later", files(t, filepath.Join(w.dir, "first")), files(t, filepath.Join(w.dir, "again")))
	run("trips", "lake", b, "400", "wrong", 3, "is not the number of rows")
	run("trips", "lake/metadata/v6.metadata.json", b, "700", "second", 0, "Charged for everything")
	holds("second", "count.csv", "Bronx,350", "Queens,350")

	s := storetest.Start(t)
	if err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, other := filepath.Rel(from, path)
		s.Put(t, "lake/trips/"+filepath.ToSlash(rel), text)
		return errors.Join(err, other)
	}); err != nil {
		t.Fatal(err)
	}
	run("trips", s.Address("lake/trips"), a, "400", "far", 0, "already released")
	run("afar", s.Address("lake/trips"), b, "700", "afar", 0, "Charged for everything")
	holds("afar", "count.csv", "Bronx,350", "Queens,350")

	for _, c := range []struct{ source, snapshot, code string }{
		{"lake", "17", "SOURCE_NOT_FOUND"}, {"lake", deleted, "SOURCE_UNSUPPORTED"}, {"lake/data", a, "SOURCE_NOT_FOUND"}, {"gone", a, "SOURCE_NOT_FOUND"},
	} {
		said := run("refused", c.source, c.snapshot, "400", "refused", 6, c.code)
		if !strings.Contains(said, "nothing debited") || !strings.Contains(said, "dataset.source.iceberg") {
			t.Errorf("%s: %s", c.source, said)
		}
	}
}
