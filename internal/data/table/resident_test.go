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
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// residentVariable names the file that a child of TestResident reads.
const residentVariable = "DPRELEASE_TEST_RESIDENT"

// TestResidentChild reads one file to its end, in a process of its own.
func TestResidentChild(t *testing.T) {
	path := os.Getenv(residentVariable)
	if path == "" {
		t.Skip("TestResident starts this")
	}
	tab, err := Open(context.Background(), Spec{Path: path, Memory: residentMemory})
	if err == nil {
		defer tab.Close()
		columns := tab.Usable()
		if err = tab.Verify(context.Background(), columns); err == nil {
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
	fmt.Println("peak:", kilobytes<<10, "ended:", err)
}

// residentMemory is what the values of a child's scan may take, and residentMost what its process may.
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			child := exec.CommandContext(t.Context(), self, "-test.run=^TestResidentChild$", "-test.v")
			child.Env = append(os.Environ(), residentVariable+"="+path)
			out, err := child.CombinedOutput()
			var most int64
			_, told, _ := bytes.Cut(out, []byte("peak:"))
			if _, wrong := fmt.Sscan(string(told), &most); err != nil || wrong != nil {
				t.Fatalf("%v, %v\n%s", err, wrong, out)
			}
			if most > residentMost {
				t.Errorf("%d MB for a budget of %d MB\n%s", most>>20, residentMemory>>20, out)
			}
			t.Logf("%d MB", most>>20)
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
