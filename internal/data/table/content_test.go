package table

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
)

// scanned returns the fingerprint of a table after some scans of it.
func scanned(t *testing.T, path string, columns []string, scans ...ScanOptions) Fingerprint {
	t.Helper()
	tab := must(Open(t.Context(), Spec{Path: path}))
	defer tab.Close()
	content := must(tab.Content(t.Context(), columns))
	if err := content.Ahead(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, o := range scans {
		o.Content = content
		if err := tab.Scan(t.Context(), o, func(Batch) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return must(content.Fingerprint(t.Context(), Key{1}))
}

// Whatever was scanned before, and however, the fingerprint is the same: a sample, the full table and no scan at all
// are of the same data.
func TestContentIsThatOfTheData(t *testing.T) {
	cols, _ := generated(5000, 0.1, rand.New(rand.NewPCG(4, 4)))
	files := map[string]string{}
	for _, v2 := range []bool{false, true} {
		data := writeParquet(t, style{codec: parquet.Codecs.Snappy, v2: v2, dict: true, pageSize: 1000, groups: []int{3000, 2000}}, cols)
		files["parquet"+map[bool]string{true: " v2"}[v2]] = temp(t, "x.parquet", data)
	}
	arrow, _ := writeArrow(t, arrowStyle{codec: "zstd", batches: []int{400, 300}})
	files["arrow"] = temp(t, "x.arrow", arrow)
	few := func(b Block) (Pick, error) {
		if b.First == 0 {
			return Pick{Rows: []uint32{7, 300}}, nil
		}
		return Pick{}, nil
	}
	for name, path := range files {
		tab := must(Open(t.Context(), Spec{Path: path}))
		all := tab.Usable()
		some := []string{all[1], all[3]}
		tab.Close()
		for _, columns := range [][]string{all, some} {
			want := scanned(t, path, columns)
			for i, scans := range [][]ScanOptions{
				{{Columns: all, Workers: 1}}, {{Columns: all, Workers: 7}}, {{Columns: all, Pick: few}}, {{Columns: all, Pick: few, Workers: 3}, {Columns: all}},
				{{Columns: some[:1]}}, {{Columns: some[1:], Pick: few}, {Columns: some}, {}},
			} {
				if scanned(t, path, columns, scans...) != want {
					t.Errorf("%s, columns %v, scans %d: another fingerprint", name, columns, i)
				}
			}
		}
		if scanned(t, path, some) == scanned(t, path, nil) {
			t.Errorf("%s: fewer columns, the same fingerprint", name)
		}
	}
}

// A value that changes between two scans, or between a scan and the fingerprint, in a file without checksums is
// noticed even where the time stamp does not tell.
func TestContentNoticesAChange(t *testing.T) {
	cols, _ := generated(2000, 0, rand.New(rand.NewPCG(5, 5)))
	data := writeParquet(t, style{codec: parquet.Codecs.Uncompressed, pageSize: 1000, groups: []int{2000}}, cols)
	path := temp(t, "x.parquet", data)
	info := must(os.Stat(path))
	tab := must(Open(t.Context(), Spec{Path: path}))
	defer tab.Close()
	content := must(tab.Content(t.Context(), tab.Usable()))
	scan := func() error {
		return tab.Scan(t.Context(), ScanOptions{Columns: tab.Usable(), Content: content}, func(Batch) error { return nil })
	}
	if err := scan(); err != nil {
		t.Fatal(err)
	}
	want := must(content.Fingerprint(t.Context(), Key{1}))
	at := strings.Index(string(data), "value-1-")
	f := must(os.OpenFile(path, os.O_WRONLY, 0))
	defer f.Close()
	if _, err := f.WriteAt([]byte{data[at+8] ^ 1}, int64(at+8)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if err := scan(); !errors.As(err, &e) || e.Code != CodeChanged {
		t.Errorf("a scan of changed bytes: %v", err)
	}
	if got := must(content.Fingerprint(t.Context(), Key{1})); got != want {
		t.Error("the fingerprint is no longer that of what was scanned first")
	}
	if got := must(tab.Fingerprint(t.Context(), tab.Usable(), Key{1})); got == want {
		t.Error("the changed bytes have the same fingerprint")
	}
}

// A file that is cut short while it is open is an error, not fewer bytes.
func TestContentOfATruncatedFile(t *testing.T) {
	cols, _ := generated(2000, 0, rand.New(rand.NewPCG(6, 6)))
	data := writeParquet(t, style{codec: parquet.Codecs.Snappy, pageSize: 1000, groups: []int{2000}}, cols)
	path := temp(t, "x.parquet", data)
	tab := must(Open(t.Context(), Spec{Path: path}))
	defer tab.Close()
	content := must(tab.Content(t.Context(), tab.Usable()))
	if err := os.Truncate(path, int64(len(data)/2)); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := content.Fingerprint(t.Context(), Key{1}); !errors.As(err, &e) || e.Code != CodeUnreadable || e.File != path {
		t.Errorf("the fingerprint of a truncated file: %v", err)
	}
}
