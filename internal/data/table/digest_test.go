package table

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDigestsStay compares digests with recorded ones. A ledger finds its releases by them: with another digest a
// release would be drawn, and paid for, again.
func TestDigestsStay(t *testing.T) {
	const golden = "testdata/digests.txt"
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(b)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatal("a line without a digest and a name")
		}
		want[name] = sum
	}
	got := map[string]string{}
	record := func(name, path string, columns func(all []string) []string) {
		tab := must(Open(t.Context(), Spec{Path: path}))
		defer tab.Close()
		f := must(tab.Fingerprint(t.Context(), columns(tab.Usable()), Key{1, 2, 3}))
		got[name] = fmt.Sprintf("%x", f)
	}
	all := func(all []string) []string { return all }
	last := func(all []string) []string { return all[len(all)-1:] }
	for _, path := range must(filepath.Glob("testdata/writers/*.*ar*")) {
		record(filepath.Base(path), path, all)
		record(filepath.Base(path)+" last column", path, last)
	}
	for _, name := range []string{"eusilc", "schools"} {
		record(name, filepath.Join("../../../examples/data", name+".parquet"), all)
	}
	// Several files, of which one has nulls where the others have none.
	dir := t.TempDir()
	for i, name := range []string{"polars-snappy", "polars-zstd", "polars-lz4"} {
		data := must(os.ReadFile(filepath.Join("testdata/writers", name+".parquet")))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d.parquet", i)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record("folder", dir, all)
	record("folder last column", dir, last)
	if len(got) < 40 {
		t.Fatalf("only %d digests", len(got))
	}
	for name, sum := range got {
		if want[name] != sum {
			t.Errorf("%s  %s\nis not the recorded %s", sum, name, want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d digests, %d recorded", len(got), len(want))
	}
}
