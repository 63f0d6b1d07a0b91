package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the scripts show of one release, two accounts and kept columns holds on both
// databases.
func TestIdentityOnBothDatabases(t *testing.T) {
	if testing.Short() {
		t.Skip("the full tests find releases again, and keep columns, on both databases; the script identity stays")
	}
	onBothAtOnce(t, func(t *testing.T, w *world) {
		write := func(name string, replace ...string) string {
			text := strings.NewReplacer("NAME", "one", "OUT", name, "RELEASES", releases[false]).Replace(worldJob)
			if err := os.WriteFile(filepath.Join(w.dir, name+".yaml"), []byte(strings.NewReplacer(replace...).Replace(text)), 0o600); err != nil {
				t.Fatal(err)
			}
			return name + ".yaml"
		}
		w.must(t, 0, "Charged for everything", "run", write("first"))
		w.must(t, 0, "already released", "run", write("dot", "people.parquet", "./people.parquet"))
		equal(t, "another spelling", files(t, filepath.Join(w.dir, "outs/first")), files(t, filepath.Join(w.dir, "outs/dot")))

		other := write("other", "id: people", "id: persons")
		w.must(t, 4, "BUDGET_SAME_DATA", "run", other)
		w.must(t, 0, "may spend on the same data", "ledger", "separate", other, "--dataset", "persons", "--relation", "replace-one",
			"--from", "people", "--from-relation", "replace-one", "--reason", "a test")
		w.must(t, 0, "Charged for everything", "run", other)

		immutable := write("immutable", "domain: [a, b]", "domain: [a, b], immutable: true", "job: one", "job: groups")
		w.must(t, 4, "BUDGET_KEPT", "run", immutable)
		w.must(t, 0, "keeps g", "ledger", "keep", immutable, "--dataset", "people", "--relation", "replace-one", "--columns", "g", "--reason", "a test")
		w.must(t, 0, "Charged for everything", "run", immutable)
		w.must(t, 0, "neighbours keep g:", "ledger", "show", immutable)

		outside := write("outside", "domain: [a, b]", "domain: [a, c]", "job: one", "job: outside")
		w.must(t, 6, "dataset.columns.g: holds a value outside", "run", outside)
		w.must(t, 6, "trying again cannot help", "run", "--spend-again", outside)
		w.must(t, 0, "agree", "ledger", "verify", immutable, "--releases", ".")
	})
}
