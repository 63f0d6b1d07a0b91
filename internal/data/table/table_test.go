package table

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder writes several files of one table and a few that do not belong to it.
func folder(t *testing.T) (dir string, want []wantColumn) {
	t.Helper()
	dir = t.TempDir()
	cols, want := generated(90, 0, rand.New(rand.NewPCG(3, 3)))
	for i, name := range []string{"a.parquet", "b.parquet", "sub/c.parquet"} {
		part := make([]genColumn, 0, 3)
		for _, c := range cols[:3] {
			switch v := c.values.(type) {
			case []float64:
				c.values = v[30*i : 30*i+30]
			case []float32:
				c.values = v[30*i : 30*i+30]
			}
			part = append(part, c)
		}
		write(t, filepath.Join(dir, name), writeParquet(t, style{codec: parquet.Codecs.Snappy, groups: []int{20, 10}}, part))
	}
	write(t, filepath.Join(dir, "_SUCCESS"), nil)
	write(t, filepath.Join(dir, ".hidden.parquet"), []byte("no"))
	write(t, filepath.Join(dir, "_temporary/d.parquet"), []byte("no"))
	write(t, filepath.Join(dir, "notes.txt"), []byte("no"))
	return dir, want[:3]
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryAndGlob(t *testing.T) {
	dir, want := folder(t)
	checkScan(t, dir, want, 90)
	checkScan(t, filepath.Join(dir, "[ab].parquet"), want, 60)
	checkScan(t, filepath.Join(dir, "b.parquet"), shift(want, 30), 30)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	checkScan(t, link, want, 90)
}

func shift(want []wantColumn, by int) []wantColumn {
	out := make([]wantColumn, len(want))
	for i, w := range want {
		out[i] = wantColumn{name: w.name, f64: w.f64[by:]}
	}
	return out
}

func TestOpenRefusals(t *testing.T) {
	dir, _ := folder(t)
	cols, _ := generated(10, 0.5, rand.New(rand.NewPCG(3, 3)))
	other := writeParquet(t, style{groups: []int{10}}, cols[4:6])
	write(t, filepath.Join(dir, "mixed/1.parquet"), other)
	write(t, filepath.Join(dir, "mixed/2.parquet"), writeParquet(t, style{groups: []int{10}}, cols[3:5]))
	write(t, filepath.Join(dir, "both/1.parquet"), other)
	data, _ := writeArrow(t, arrowStyle{batches: []int{3}, every: 4})
	write(t, filepath.Join(dir, "both/2.arrow"), data)
	write(t, filepath.Join(dir, "empty.parquet"), nil)
	write(t, filepath.Join(dir, "text.parquet"), []byte(strings.Repeat("this is not a table\n", 10)))
	if err := os.Mkdir(filepath.Join(dir, "nothing"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec Spec
		code string
		file string
	}{
		{Spec{Path: ""}, CodeUsage, ""},
		{Spec{Path: filepath.Join(dir, "missing.parquet")}, CodeNotFound, "missing.parquet"},
		{Spec{Path: filepath.Join(dir, "z*.parquet")}, CodeNotFound, "z*.parquet"},
		{Spec{Path: filepath.Join(dir, "nothing")}, CodeNotFound, "nothing"},
		{Spec{Path: filepath.Join(dir, "empty.parquet")}, CodeCorrupt, "empty.parquet"},
		{Spec{Path: filepath.Join(dir, "text.parquet")}, CodeCorrupt, "text.parquet"},
		{Spec{Path: filepath.Join(dir, "text.parquet"), Format: FormatParquet}, CodeCorrupt, "text.parquet"},
		{Spec{Path: filepath.Join(dir, "mixed"), Columns: []string{cols[3].node.Name()}}, CodeColumn, ""},
		{Spec{Path: filepath.Join(dir, "both")}, CodeSchema, "2.arrow"},
		{Spec{Path: filepath.Join(dir, "a.parquet"), Format: FormatArrow}, CodeSchema, "a.parquet"},
		{Spec{Path: filepath.Join(dir, "a.parquet"), Format: "csv"}, CodeSchema, "a.parquet"},
		{Spec{Path: filepath.Join(dir, "a.parquet"), Format: "json"}, CodeUsage, "a.parquet"},
		{Spec{Path: filepath.Join(dir, "a.parquet"), CSV: CSV{Delimiter: ';'}}, CodeUnsupported, "a.parquet"},
		{Spec{Path: filepath.Join(dir, "a.parquet"), Columns: []string{"absent"}}, CodeColumn, ""},
		{Spec{Path: "testdata/writers/duckdb-v2.parquet", Columns: []string{"tags.list.element"}}, CodeColumn, ""},
		{Spec{Path: os.DevNull}, CodeUnsupported, "null"},
	} {
		tab, err := Open(context.Background(), c.spec)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || filepath.Base("x/"+e.File) != filepath.Base("x/"+c.file) {
			t.Errorf("%+v: %v", c.spec, err)
		}
		if err == nil {
			tab.Close()
		}
	}
	if _, err := Open(context.Background(), Spec{Path: filepath.Join(dir, "text.parquet")}); !strings.Contains(err.Error(), "neither a parquet nor an arrow file") {
		t.Errorf("a text file: %v", err)
	}
}

// TestPagesAreSkipped: a pick in two pages decodes two pages.
func TestPagesAreSkipped(t *testing.T) {
	for _, v2 := range []bool{false, true} {
		n := 200_000
		cols, want := generated(n, 0, rand.New(rand.NewPCG(9, 9)))
		path := temp(t, "x.parquet", writeParquet(t, style{codec: parquet.Codecs.Snappy, v2: v2, pageSize: 8000, groups: []int{n}}, cols[:1]))
		tab, err := Open(context.Background(), Spec{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer tab.Close()
		pick := func(b Block) (Pick, error) {
			if b.First == 0 {
				return Pick{Rows: []uint32{5, 6, 40_000}}, nil
			}
			return Pick{}, nil
		}
		for _, p := range []func(Block) (Pick, error){nil, pick} {
			content := must(tab.Content(t.Context(), tab.Usable()))
			rows := 0
			err := tab.Scan(context.Background(), ScanOptions{Columns: tab.Usable(), Pick: p, Content: content}, func(b Batch) error {
				rows += b.Rows
				return want[0].check(&b.Columns[0], int(b.Block.First), b.Picked.Rows, b.Rows)
			})
			if err != nil {
				t.Fatal(err)
			}
			read := 0
			for i := range content.segments {
				if content.segments[i].seen {
					read++
				}
			}
			if p == nil && (read < 100 || rows != n) || p != nil && (read != 2 || rows != 3) {
				t.Errorf("v2=%v: decoded %d pages for %d rows", v2, read, rows)
			}
		}
	}
}

func TestScanStops(t *testing.T) {
	cols, _ := generated(200_000, 0, rand.New(rand.NewPCG(4, 4)))
	tab, err := Open(context.Background(), Spec{Path: temp(t, "x.parquet", writeParquet(t, style{pageSize: 10_000, groups: []int{200_000}}, cols[:3]))})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	own := errors.New("enough")
	stop := func(Batch) error { return own }
	if err := tab.Scan(context.Background(), ScanOptions{Columns: tab.Usable()}, stop); !errors.Is(err, own) {
		t.Error("visit:", err)
	}
	pick := func(Block) (Pick, error) { return Pick{}, own }
	if err := tab.Scan(context.Background(), ScanOptions{Columns: tab.Usable(), Pick: pick}, stop); !errors.Is(err, own) {
		t.Error("pick:", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = tab.Scan(ctx, ScanOptions{Columns: tab.Usable()}, func(Batch) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error("cancel:", err)
	}
	var e *Error
	for _, rows := range [][]uint32{{blockRows}, {3, 2}, {7, 7}} {
		pick := func(Block) (Pick, error) { return Pick{Rows: rows}, nil }
		if err := tab.Scan(context.Background(), ScanOptions{Columns: tab.Usable(), Pick: pick}, stop); !errors.As(err, &e) || e.Code != CodeUsage {
			t.Errorf("pick of %v: %v", rows, err)
		}
	}
	var passed int64
	err = tab.Scan(context.Background(), ScanOptions{Columns: tab.Usable(), Progress: func(n int64) { passed = n }, Pick: func(Block) (Pick, error) { return Pick{}, nil }},
		func(Batch) error { return own })
	if err != nil || passed != 200_000 {
		t.Error("nothing picked:", err, passed)
	}
}

// TestFileChanges: a file that is written to between Open and the end of a scan is noticed.
func TestFileChanges(t *testing.T) {
	cols, _ := generated(100, 0, rand.New(rand.NewPCG(4, 4)))
	data := writeParquet(t, style{groups: []int{100}}, cols[:3])
	path := temp(t, "x.parquet", data)
	tab, err := Open(context.Background(), Spec{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "more"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var e *Error
	if err := tab.Scan(context.Background(), ScanOptions{Columns: tab.Usable()}, func(Batch) error { return nil }); !errors.As(err, &e) || e.Code != CodeChanged {
		t.Error(err)
	}
}
