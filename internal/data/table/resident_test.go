//go:build linux

package table

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// residentVariable names the file that a child of TestResident reads.
const residentVariable = "DPRELEASE_TEST_RESIDENT"

// residentDefault is set where the child takes the memory of a Spec that does not say.
const residentDefault = "DPRELEASE_TEST_RESIDENT_DEFAULT"

// TestResidentChild reads one file to its end, in a process of its own.
func TestResidentChild(t *testing.T) {
	path := os.Getenv(residentVariable)
	if path == "" {
		t.Skip("TestResident starts this")
	}
	memory, before := int64(residentMemory), true
	if os.Getenv(residentDefault) != "" {
		memory = 0
	}
	tab, err := Open(context.Background(), Spec{Path: path, Memory: memory})
	if err == nil {
		defer tab.Close()
		columns := tab.Usable()
		if err = tab.Verify(context.Background(), columns); err == nil {
			before = false
			err = tab.Scan(context.Background(), ScanOptions{Columns: columns, Workers: 2}, func(Batch) error { return nil })
		}
	}
	var known *Error
	if err != nil && !errors.As(err, &known) {
		t.Errorf("not a refusal of the file: %v", err)
	}
	status, failed := os.ReadFile("/proc/self/status") // the peak since this program began
	if failed != nil {
		t.Fatal(failed)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int64
	if _, failed := fmt.Sscan(peak, &kilobytes); failed != nil {
		t.Fatal(failed)
	}
	fmt.Println("peak:", kilobytes<<10, "ended:", err, "found by Verify:", before)
}

// residentMemory is the memory that the values of a child's scan may take, and residentMost that of its process.
const (
	residentMemory = 64 << 20
	residentMost   = 3*residentMemory + 100<<20 // the program, and what is not collected yet
)

// TestResident: a hostile file costs no more memory than the budget stands for. What counts is what the system gave to
// the process at most, not what the collector finds in use.
func TestResident(t *testing.T) {
	tier.Full(t, "TestBombs")
	files, err := filepath.Glob("testdata/hostile/*.parquet")
	if err != nil || len(files) < 15 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	big := strings.Repeat("x", 512<<10)
	for name, data := range bombs(t, big) {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if most, out := resident(t, path); most > residentMost {
				t.Errorf("%d MB for a budget of %d MB\n%s", most>>20, residentMemory>>20, out)
			}
		})
	}
}

// resident reads a file in a process of its own, and returns the most memory that it had and what it said.
func resident(t *testing.T, path string, environment ...string) (most int64, out string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestResidentChild$", "-test.v")
	child.Env = append(append(os.Environ(), residentVariable+"="+path), environment...)
	b, err := child.CombinedOutput()
	_, told, _ := bytes.Cut(b, []byte("peak:"))
	if _, wrong := fmt.Sscan(string(told), &most); err != nil || wrong != nil {
		t.Fatalf("%v, %v\n%s", err, wrong, b)
	}
	t.Logf("%d MB:%s", most>>20, told)
	return most, string(told)
}

// prefixed makes row groups of pages of texts that share a start of 512 KB: each page stands for half a megabyte a text.
func prefixed(t *testing.T, codec parquet.Codec, groups, pages, texts int) []byte {
	t.Helper()
	start := strings.Repeat("x", 512<<10)
	shared, added := slices.Repeat([]int64{int64(len(start))}, texts), slices.Repeat([]int64{8}, texts)
	shared[0], added[0] = 0, int64(len(start)+8)
	rest := start
	for i := range texts {
		rest += fmt.Sprintf("%08d", i)
	}
	body := slices.Concat(parquet.Deltas(shared, 128, 4, true), parquet.Deltas(added, 128, 4, true), []byte(rest))
	node := parquet.NewNode("s", parquet.Repetitions.Required, parquet.StringLogicalType, parquet.Types.ByteArray, 0)
	column := parquet.Column{Node: node, Encoding: parquet.Encodings.DeltaByteArray, Bodies: slices.Repeat([][]byte{body}, pages)}
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.Style{Codec: codec}, []parquet.Node{node})
	for range groups {
		if err := w.Group(pages*texts, []parquet.Column{column}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPeakOfAnyFile: a process that reads a Parquet file stays below 1 GiB where nothing says how much it may take, whatever
// the number of row groups and pages; what does not fit is refused before a value is read, and so before a debit.
func TestPeakOfAnyFile(t *testing.T) {
	tier.Full(t, "TestBombs")
	c := parquet.Codecs
	for name, x := range map[string]struct {
		data   []byte
		wanted string
	}{
		"eight groups of 280 MB each": {prefixed(t, c.Zstd, 8, 1, 560), "ended: <nil>"},
		"eight pages of 280 MB each":  {prefixed(t, c.Zstd, 1, 8, 560), "found by Verify: true"},
		"a page of 1.6 GB":            {prefixed(t, c.Snappy, 1, 1, 3200), "found by Verify: true"},
		"eight groups of 1.6 GB each": {prefixed(t, c.Brotli, 8, 1, 3200), "found by Verify: true"},
	} {
		t.Run(name, func(t *testing.T) {
			path := temp(t, "x.parquet", x.data)
			most, out := resident(t, path, residentDefault+"=1")
			if most > 1<<30 || !strings.Contains(out, x.wanted) {
				t.Errorf("%d KB stored, %d MB:%s", len(x.data)>>10, most>>20, out)
			}
		})
	}
}

// bombs are small files that stand for much memory, in shapes that differ in where it is taken.
func bombs(t *testing.T, big string) map[string][]byte {
	t.Helper()
	text := func(encoding parquet.Encoding, codec parquet.Codec, n int, of func(i int) string) []byte {
		dict := encoding == parquet.Encodings.RLEDict
		if dict {
			encoding = parquet.Encodings.Plain
		}
		return writeParquet(t, style{codec: codec, groups: []int{n}, pageSize: 1 << 30, dict: dict}, []genColumn{textColumn("s", n, encoding, of)})
	}
	gzipped := func(s string, n int) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		for range n {
			if _, err := w.Write([]byte(s)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	numbered := func(i int) string { return fmt.Sprint(i) + big }
	return map[string][]byte{
		"groups-none.parquet":    prefixed(t, parquet.Codecs.Uncompressed, 8, 1, 40),
		"groups-snappy.parquet":  prefixed(t, parquet.Codecs.Snappy, 8, 1, 40),
		"groups-zstd.parquet":    prefixed(t, parquet.Codecs.Zstd, 8, 1, 40),
		"groups-brotli.parquet":  prefixed(t, parquet.Codecs.Brotli, 8, 1, 40),
		"groups-lz4.parquet":     prefixed(t, parquet.Codecs.Lz4Raw, 8, 1, 40),
		"groups-gzip.parquet":    prefixed(t, parquet.Codecs.Gzip, 8, 1, 40),
		"pages-brotli.parquet":   prefixed(t, parquet.Codecs.Brotli, 1, 8, 40),
		"page-brotli.parquet":    text(0, parquet.Codecs.Brotli, 230, numbered),
		"page-lz4.parquet":       text(0, parquet.Codecs.Lz4Raw, 230, numbered),
		"prefixes.parquet":       text(parquet.Encodings.DeltaByteArray, parquet.Codecs.Zstd, 400, func(i int) string { return big + fmt.Sprint(i) }),
		"lengths.parquet":        text(parquet.Encodings.DeltaLengthByteArray, parquet.Codecs.Zstd, 230, numbered),
		"dictionary.parquet":     text(parquet.Encodings.RLEDict, parquet.Codecs.Zstd, 230, numbered),
		"page-zstd.parquet":      text(0, parquet.Codecs.Zstd, 230, numbered),
		"page-gzip.parquet":      text(0, parquet.Codecs.Gzip, 230, numbered),
		"page-snappy.parquet":    text(0, parquet.Codecs.Snappy, 230, numbered),
		"runs.parquet":           runLengths(t, 30),
		"views.arrow":            overlappingViews(t),
		"one-field.csv.gz":       append(gzipped("s\n", 1), gzipped(big, 600)...),
		"one-quoted-field.csv":   []byte("s\n\"" + strings.Repeat(big, 300)),
		"fields.csv.gz":          gzipped("s"+strings.Repeat(",", 1<<20)+"\n", 400),
		"different-texts.csv.gz": append(gzipped("s\n", 1), gzipped(big+"\n", 400)...),
	}
}
