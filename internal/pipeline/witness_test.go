package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// sibling is the same job under another name and with another output folder.
func sibling(t *testing.T, path, name, out string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(filepath.Dir(path), name+".yaml")
	if err := os.WriteFile(next, []byte(strings.NewReplacer("job: tiny", "job: "+name, "dir: outs/first", "dir: "+out, "dir: out", "dir: "+out).Replace(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	return next
}

// restore puts an old copy of a ledger back.
func restore(t *testing.T, db string, old []byte) {
	t.Helper()
	for _, log := range []string{"-wal", "-shm"} {
		os.Remove(db + log)
	}
	if err := os.WriteFile(db, old, 0o600); err != nil {
		t.Fatal(err)
	}
}

// An old ledger is found out among thousands of files, and where the newer release
// itself is gone: the folder has a list of what was published in it.
func TestRestoredBackupAmongThousands(t *testing.T) {
	tier.Full(t, "TestRestoredBackupIsRefused")
	path := manyJob(t, good(t), "dir: out", "dir: outs/first")
	dir := filepath.Dir(path)
	db := filepath.Join(dir, "dprelease.db")
	outs := filepath.Join(dir, "outs")
	if _, err := run(t, path); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(outs, fmt.Sprint("file", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	next := sibling(t, path, "next", "outs/next")
	if _, err := run(t, next); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(outs, "next")); err != nil {
		t.Fatal(err)
	}
	restore(t, db, old)
	if exit, code := exitOf(second(run(t, next))); exit != failure.ExitLedger || code != "LEDGER_ROLLED_BACK" {
		t.Errorf("exit %d, code %s", exit, code)
	}
	// A list that is damaged is as good as none.
	restore(t, db, old)
	for _, text := range []string{"", "x\n", "a 1\nb c d\n\x00", strings.Repeat("z", 100000)} {
		if err := os.WriteFile(filepath.Join(outs, ".dprelease-releases"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if o, err := run(t, path); err != nil || !o.Already {
			t.Errorf("%.10q: %v", text, err)
		}
	}
}

// A run that finds its ledger empty, beside releases of the same data set that were
// paid from another one, does not start a new budget by itself.
func TestLostLedgerIsNotReplaced(t *testing.T) {
	path := manyJob(t, good(t))
	dir := filepath.Dir(path)
	first, err := run(t, path)
	if err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(t.TempDir(), "dprelease.db")
	if err := os.Rename(filepath.Join(dir, "dprelease.db"), lost); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first one made an empty ledger
		for _, job := range []string{path, sibling(t, path, "next", "next")} {
			_, err = run(t, job)
			if exit, code := exitOf(err); exit != failure.ExitLedger || code != "LEDGER_OTHER" || !strings.Contains(err.Error(), first.Dir) {
				t.Fatalf("exit %d, code %s: %v", exit, code, err)
			}
		}
	}
	// Another data set may begin where that one lies.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(other, []byte(strings.NewReplacer("  id: ", "  id: other-", "dir: out", "dir: other").Replace(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, other); err != nil {
		t.Errorf("another data set: %v", err)
	}
	for _, log := range []string{"", "-wal", "-shm"} {
		os.Remove(filepath.Join(dir, "dprelease.db"+log))
	}
	if err := os.Rename(lost, filepath.Join(dir, "dprelease.db")); err != nil {
		t.Fatal(err)
	}
	if o, err := run(t, path); err != nil || !o.Already {
		t.Errorf("the ledger is back: %v", err)
	}
}
