package table

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
	"github.com/dprelease/dprelease/plugins/columns"
)

// writeFloats writes one float64 column, snappy, in row groups of groupRows.
func writeFloats(w io.Writer, rows, groupRows int) error {
	node := parquet.NewNode("x", parquet.Repetitions.Optional, parquet.NoLogicalType, parquet.Types.Double, 0)
	out := parquet.NewWriter(w, parquet.Style{Codec: parquet.Codecs.Snappy}, []parquet.Node{node})
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, groupRows)
	for at := 0; at < rows; at += groupRows {
		n := min(groupRows, rows-at)
		for i := range n {
			values[i] = 100 + 15*r.NormFloat64()
		}
		if err := out.Group(n, []parquet.Column{{Node: node, Values: values[:n]}}); err != nil {
			return err
		}
	}
	return out.Close()
}

const benchRows = 4_000_000

func benchFile(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "floats.parquet")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	if err := writeFloats(w, benchRows, 1_000_000); err != nil {
		b.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkScanSum is opening, verifying, scanning and summing. Reference: BenchmarkPlainSum, the sum of a slice in
// memory, and DuckDB's avg on one thread (lab/duckdb-avg.mjs; 2.7 ns a row where this was written).
func BenchmarkScanSum(b *testing.B) {
	path := benchFile(b)
	for _, workers := range []int{1, 2} {
		b.Run("workers="+string(rune('0'+workers)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				scanSum(b, path, workers, nil)
			}
			perRow(b)
		})
	}
}

// BenchmarkScanOnePercent picks every hundredth row. Reference: BenchmarkScanSum, of which it may take 1.1.
func BenchmarkScanOnePercent(b *testing.B) {
	path := benchFile(b)
	for b.Loop() {
		scanSum(b, path, 2, func(blk Block) (Pick, error) {
			var p Pick
			for i := 0; i < blk.Rows; i += 100 {
				p.Rows = append(p.Rows, uint32(i))
			}
			return p, nil
		})
	}
	perRow(b)
}

// BenchmarkExamine examines a column of each kind. Reference: the scan of the same column, which follows it in a run.
func BenchmarkExamine(b *testing.B) {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(3, 4))
	floats, ints := make([]float64, n), make([]int64, n)
	for i := range n {
		floats[i], ints[i] = r.NormFloat64(), r.Int64N(1<<40)
	}
	node := func(name string, typ parquet.Type) parquet.Node {
		return parquet.NewNode(name, parquet.Repetitions.Optional, parquet.NoLogicalType, typ, 0)
	}
	types, each := parquet.Types, parquet.Encodings
	few := textColumn("few", n, each.Plain, func(i int) string { return fmt.Sprint("group ", i*i%50) })
	own := textColumn("own", n, each.Plain, func(i int) string { return fmt.Sprint("text ", i*7919%n) })
	columns := map[string]genColumn{
		"floats": {node: node("floats", types.Double), values: floats, valid: slices.Repeat([]bool{true}, n)},
		"deltas": {node: node("deltas", types.Int64), values: ints, valid: slices.Repeat([]bool{true}, n), encoding: each.DeltaBinaryPacked},
		"few":    few, "own": own,
	}
	for _, codec := range []parquet.Codec{parquet.Codecs.Snappy, parquet.Codecs.Zstd} {
		for name, c := range columns {
			s := style{codec: codec, pageSize: 1 << 20, groups: []int{n / 2, n / 2}, dict: name == "few"}
			path := temp(b, "x.parquet", writeParquet(b, s, []genColumn{c}))
			for what, do := range map[string]func(t *Table) error{
				"examine": func(t *Table) error { return t.Examine(b.Context(), []string{name}) },
				"scan": func(t *Table) error {
					return t.Scan(b.Context(), ScanOptions{Columns: []string{name}}, func(Batch) error { return nil })
				},
			} {
				b.Run(fmt.Sprintf("%v/%s/%s", codec, name, what), func(b *testing.B) {
					for b.Loop() {
						t := must(Open(b.Context(), Spec{Path: path}))
						if err := do(t); err != nil {
							b.Fatal(err)
						}
						t.Close()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
				})
			}
		}
	}
}

// BenchmarkPlainSum is the floor: the values are there already.
func BenchmarkPlainSum(b *testing.B) {
	v := make([]float64, benchRows)
	for i := range v {
		v[i] = float64(i)
	}
	for b.Loop() {
		sink = sumOf(v)
	}
	perRow(b)
}

var sink float64

func perRow(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func sumOf(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

func scanSum(b *testing.B, path string, workers int, pick func(Block) (Pick, error)) {
	ctx := context.Background()
	t, err := Open(ctx, Spec{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	var sum float64
	rows := 0
	err = t.Scan(ctx, ScanOptions{Columns: []string{"x"}, Workers: workers, Pick: pick}, func(batch Batch) error {
		rows += batch.Rows
		sum += sumOf(batch.Columns[0].Float64)
		return nil
	})
	if err != nil || pick == nil && rows != benchRows {
		b.Fatal(rows, err)
	}
	sink = sum
}

// BenchmarkCSV opens and scans a table of a number and a text. Reference: the same table in Parquet.
func BenchmarkCSV(b *testing.B) {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(7, 8))
	var x Release
	x.Columns = []columns.Column{{Name: "x", Float64: make([]float64, n)}, {Name: "few", Texts: make([]string, n)}}
	for i := range n {
		x.Columns[0].Float64[i], x.Columns[1].Texts[i] = 100+15*r.NormFloat64(), fmt.Sprint("group ", r.IntN(50))
	}
	var plain, stored bytes.Buffer
	if err := errors.Join(WriteCSV(&plain, x), WriteParquet(&stored, x)); err != nil {
		b.Fatal(err)
	}
	quoted := regexp.MustCompile(`(?m)[^,\n]+$`).ReplaceAll(plain.Bytes(), []byte(`"$0"`))
	for _, file := range []struct {
		name string
		text []byte
	}{{"x.parquet", stored.Bytes()}, {"x.csv", plain.Bytes()}, {"quoted.csv", quoted}} {
		path := temp(b, file.name, file.text)
		for _, columns := range [][]string{{"x"}, {"few"}, {"x", "few"}} {
			b.Run(fmt.Sprint(file.name, columns), func(b *testing.B) {
				for b.Loop() {
					t := must(Open(b.Context(), Spec{Path: path, CSV: CSV{Kinds: map[string]Kind{"x": Float}, Contents: columns}}))
					if err := t.Scan(b.Context(), ScanOptions{Columns: columns}, func(Batch) error { return nil }); err != nil {
						b.Fatal(err)
					}
					t.Close()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
		}
	}
}
