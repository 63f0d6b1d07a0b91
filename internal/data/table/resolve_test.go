package table

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
	"github.com/dprelease/dprelease/internal/testkit/parquet"
)

// oneColumn writes a Parquet file with one column x of whole numbers.
func oneColumn(t *testing.T, path string, values ...int64) {
	t.Helper()
	node := parquet.NewNode("x", parquet.Repetitions.Required, parquet.NoLogicalType, parquet.Types.Int64, 0)
	write(t, path, writeParquet(t, style{codec: parquet.Codecs.Uncompressed, groups: []int{len(values)}}, []genColumn{{node: node, values: values}}))
}

// rowsOf returns the values of a column of whole numbers; -1 is null.
func rowsOf(t *testing.T, path, column string) (got []int64, err error) {
	t.Helper()
	tab, err := Open(t.Context(), Spec{Path: path})
	if err != nil {
		return nil, err
	}
	defer tab.Close()
	err = tab.Scan(t.Context(), ScanOptions{Columns: []string{column}}, func(b Batch) error {
		for i := range b.Rows {
			if b.Columns[0].Null(i) {
				got = append(got, -1)
			} else {
				got = append(got, b.Columns[0].Int64[i])
			}
		}
		return nil
	})
	return got, err
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// TestWhatAPathMeans holds resolve to docs/tables.md.
func TestWhatAPathMeans(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	oneColumn(t, in("data/a.parquet"), 1)
	oneColumn(t, in("data/b/c.parquet"), 2)
	oneColumn(t, in("data/b/d/e.parquet"), 3)
	oneColumn(t, in("data/.hidden.parquet"), 100)
	oneColumn(t, in("data/_old/f.parquet"), 100)
	oneColumn(t, in("elsewhere/g.parquet"), 4)
	oneColumn(t, in("flat/h.parquet"), 5)
	oneColumn(t, in("flat/_i.parquet"), 6)
	link(t, in("elsewhere"), in("data/linked"))
	link(t, in("data"), in("data/b/up")) // a circle
	link(t, in("data/a.parquet"), in("data/again.parquet"))
	if err := os.Link(in("data/a.parquet"), in("data/hard.parquet")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]int64{
		"data":                {1, 2, 3, 4},
		"data/**":             {1, 2, 3, 4},
		"data/**/*.parquet":   {1, 2, 3, 4},
		"data/*.parquet":      {1, 100},
		"data/*/*.parquet":    {2, 4, 100},
		"data/b/**/e.parquet": {3},
		"data/**/d/*.parquet": {3},
		"data/a*.parquet":     {1},
		"data/again.parquet":  {1},
		"data/linked":         {4},
		"data/.h*.parquet":    {100},
		"flat/*.parquet":      {6, 5},
		"flat":                {5},
		"fl?t/*.parquet":      {6, 5},
		"data/h*.parquet":     {1}, // a second name of a.parquet
	} {
		got, err := rowsOf(t, in(path), "x")
		slices.Sort(want)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", path, got, err, want)
		}
	}
	t.Chdir(dir)
	if got, err := rowsOf(t, "*/a.parquet", "x"); err != nil || len(got) != 1 {
		t.Errorf("a pattern without a folder: %v, %v", got, err)
	}
	oneColumn(t, in("odd/part-0"), 1)
	oneColumn(t, in("odd/x.parquet"), 1)
	for path, says := range map[string]string{
		"data/*":                     "matches a folder",
		"odd":                        "whose name does not end in",
		"s3://bucket/t.parquet":      "must stand in the same folder as this program",
		"https://host/x.parquet":     "a store that this program does not know",
		"data/**/nothing.parquet":    "no file matches",
		"nowhere/**":                 "no file matches",
		"data/[":                     "not a valid pattern",
		"file:///data/x.parquet":     "no such file",
		"data/b/nothing-[0].parquet": "no file matches",
	} {
		if !strings.Contains(path, "://") {
			path = in(path)
		}
		if _, err := rowsOf(t, path, "x"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", path, err, says)
		}
	}
}

// Folders whose log says which of their files count are refused, from inside too.
func TestManagedFolders(t *testing.T) {
	for name, inside := range map[string]string{"Delta Lake": "_delta_log/0.json", "Iceberg": "metadata/v1.metadata.json", "Hudi": ".hoodie/x"} {
		dir := t.TempDir()
		oneColumn(t, filepath.Join(dir, "lake/data/year=1/a.parquet"), 1)
		write(t, filepath.Join(dir, "lake", inside), nil)
		for _, path := range []string{"lake", "lake/data", "lake/**", "lake/data/year=1/*.parquet", "", "*/data/*/*.parquet"} {
			if _, err := rowsOf(t, filepath.Join(dir, path), "x"); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %q: %v", name, path, err)
			}
		}
		if got, err := rowsOf(t, filepath.Join(dir, "lake/data/year=1/a.parquet"), "x"); err != nil || len(got) != 1 {
			t.Errorf("one file, named: %v", err)
		}
	}
}

// TestPartitionFolders: folders called key=value are columns.
func TestPartitionFolders(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	oneColumn(t, in("y=2020/m=01/k=7/x=9/a.parquet"), 1, 2)
	oneColumn(t, in("y=2021/m=1/k=-3/x=9/a.parquet"), 3)
	oneColumn(t, in("y=__HIVE_DEFAULT_PARTITION__/m=a%2Fb/k=7/x=9/a.parquet"), 4)
	if got, err := rowsOf(t, dir, "y"); err != nil || !slices.Equal(got, []int64{2020, 2020, 2021, -1}) {
		t.Error(got, err)
	}
	if got, err := rowsOf(t, dir, "k"); err != nil || !slices.Equal(got, []int64{7, 7, -3, 7}) {
		t.Error(got, err)
	}
	if got, err := rowsOf(t, in("y=*/**"), "x"); err != nil || !slices.Equal(got, []int64{1, 2, 3, 4}) {
		t.Error("the files' own column goes first:", got, err)
	}
	tab := must(Open(t.Context(), Spec{Path: dir}))
	defer tab.Close()
	if got := tab.Usable(); !slices.Equal(got, []string{"x", "y", "m", "k"}) {
		t.Error("known by", got)
	}
	var texts []string
	err := tab.Scan(t.Context(), ScanOptions{Columns: []string{"m", "x"}, Pick: func(b Block) (Pick, error) { return Pick{Rows: []uint32{uint32(b.Rows) - 1}}, nil }}, func(b Batch) error {
		texts = append(texts, b.Columns[0].Dict[b.Columns[0].Codes[0]])
		return nil
	})
	if err != nil || !slices.Equal(texts, []string{"01", "1", "a/b"}) {
		t.Error(texts, err)
	}
	a := must(tab.Fingerprint(t.Context(), []string{"x", "m"}, Key{1}))
	if err := os.Rename(in("y=2021/m=1"), in("y=2021/m=2")); err != nil {
		t.Fatal(err)
	}
	moved := must(Open(t.Context(), Spec{Path: dir}))
	defer moved.Close()
	if a == must(moved.Fingerprint(t.Context(), []string{"x", "m"}, Key{1})) {
		t.Error("a folder was renamed, and the fingerprint of its column is the same")
	}
	oneColumn(t, in("y=2021/b.parquet"), 3)
	if _, err := rowsOf(t, dir, "k"); err == nil || !strings.Contains(err.Error(), "not in the folders of") {
		t.Error(err)
	}
	if got, err := rowsOf(t, dir, "y"); err != nil || len(got) != 5 {
		t.Error(got, err)
	}
}

// TestFilesThatDiffer: columns go by name; one that is not the same in all files can not be used, and does not keep the
// others from being read.
func TestFilesThatDiffer(t *testing.T) {
	dir := t.TempDir()
	leaf := func(name string, l parquet.Annotation, typ parquet.Type) parquet.Node {
		return parquet.NewNode(name, parquet.Repetitions.Required, l, typ, -1)
	}
	T, none := parquet.Types, parquet.NoLogicalType
	x := func(v ...int64) genColumn { return genColumn{node: leaf("x", none, T.Int64), values: v} }
	stamp := func(u pagewalk.Unit, v ...int64) genColumn {
		return genColumn{node: leaf("t", parquet.NewTimestampLogicalType(true, u), T.Int64), values: v}
	}
	float := func(name string, v ...float64) genColumn {
		return genColumn{node: leaf(name, none, T.Double), values: v}
	}
	s := style{groups: []int{2}}
	write(t, filepath.Join(dir, "1.parquet"), writeParquet(t, s, []genColumn{x(1, 2), stamp(pagewalk.Millis, 1, 2), float("A", 1, 2), float("only", 1, 2)}))
	write(t, filepath.Join(dir, "2.parquet"), writeParquet(t, s, []genColumn{float("a", 3, 4), stamp(pagewalk.Micros, 3, 4), x(3, 4)}))
	if got, err := rowsOf(t, dir, "x"); err != nil || !slices.Equal(got, []int64{1, 2, 3, 4}) {
		t.Error(got, err)
	}
	for column, says := range map[string]string{"t": "not the same in", "A": "it is not in", "a": "it is not in", "only": "it is not in"} {
		var e *Error
		if _, err := rowsOf(t, dir, column); !errors.As(err, &e) || e.Code != CodeColumn || !strings.Contains(e.Detail, says) {
			t.Errorf("%s: %v", column, err)
		}
	}
}

// TestSeveralFilesInOne: a file that was appended to another is refused, whatever the layouts: the last footer would
// give the first file's rows.
func TestSeveralFilesInOne(t *testing.T) {
	cols, _ := generated(60, 0.2, rand.New(rand.NewPCG(3, 3)))
	others, _ := generated(60, 0.2, rand.New(rand.NewPCG(4, 4)))
	var arrows [2][]byte
	for _, stream := range []bool{false, true} {
		for i, rows := range []int{60, 60} {
			arrows[i], _ = writeArrow(t, arrowStyle{stream: stream, codec: "none", batches: []int{rows}, every: 3})
		}
		refused(t, CodeCorrupt, slices.Concat(arrows[0], arrows[1]))
	}
	for _, codec := range allCodecs {
		s := style{codec: codec, groups: []int{40, 20}}
		a, b := writeParquet(t, s, cols), writeParquet(t, s, others)
		refused(t, CodeCorrupt, slices.Concat(a, b))
		refused(t, CodeCorrupt, slices.Concat(b, a, b))
	}
	node := parquet.NewNode("x", parquet.Repetitions.Required, parquet.NoLogicalType, parquet.Types.Int64, 0)
	plain := func(v int64) []byte {
		return writeParquet(t, style{codec: parquet.Codecs.Uncompressed, groups: []int{3}}, []genColumn{{node: node, values: []int64{v, v, v}}})
	}
	refused(t, CodeCorrupt, slices.Concat(plain(1), plain(2)))
}
