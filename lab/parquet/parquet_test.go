package parquet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
	ours "github.com/dprelease/dprelease/internal/testkit/parquet"
	"github.com/dprelease/dprelease/plugins/columns"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// column is a column that both programs write: the same values, in the types of each.
type column struct {
	name     string
	typ      parquet.Type
	length   int
	text     bool
	encoding parquet.Encoding
	values   any
	ours     any
	want     func(i int) any // value i of those that are there
}

// encodings makes n values in each type and encoding that a page may have.
func encodings(n int, r *rand.Rand) []column {
	i32, i64, f32, f64 := make([]int32, n), make([]int64, n), make([]float32, n), make([]float64, n)
	bools, texts, same := make([]bool, n), make([]parquet.ByteArray, n), make([]ours.ByteArray, n)
	for i := range n {
		i32[i], i64[i] = int32(r.Uint32())>>r.IntN(31), int64(r.Uint64())>>r.IntN(63)
		f32[i], f64[i] = float32(r.NormFloat64()), r.NormFloat64()
		bools[i] = r.IntN(3) == 0
		texts[i] = fmt.Appendf(nil, "https://example.org/%d/%d", i/50, r.IntN(40))
		if i%9 == 0 {
			texts[i] = nil
		}
		same[i] = ours.ByteArray(texts[i])
	}
	T, E := parquet.Types, parquet.Encodings
	var out []column
	add := func(name string, typ parquet.Type, values, own any, want func(i int) any, encodings ...parquet.Encoding) {
		for _, e := range encodings {
			out = append(out, column{name: fmt.Sprint(name, e), typ: typ, text: typ == T.ByteArray, encoding: e, values: values, ours: own, want: want})
		}
	}
	add("i32", T.Int32, i32, i32, func(i int) any { return int64(i32[i]) }, E.Plain, E.RLEDict, E.DeltaBinaryPacked, E.ByteStreamSplit)
	add("i64", T.Int64, i64, i64, func(i int) any { return i64[i] }, E.Plain, E.RLEDict, E.DeltaBinaryPacked, E.ByteStreamSplit)
	add("f32", T.Float, f32, f32, func(i int) any { return float64(f32[i]) }, E.Plain, E.RLEDict, E.ByteStreamSplit)
	add("f64", T.Double, f64, f64, func(i int) any { return f64[i] }, E.Plain, E.RLEDict, E.ByteStreamSplit)
	add("text", T.ByteArray, texts, same, func(i int) any { return string(texts[i]) }, E.Plain, E.RLEDict, E.DeltaLengthByteArray, E.DeltaByteArray)
	add("bool", T.Boolean, bools, bools, func(i int) any { return map[bool]int64{true: 1}[bools[i]] }, E.Plain, E.RLE)
	return out
}

type style struct {
	codec    compress.Compression
	v2       bool
	nulls    bool
	pageSize int64
}

// theirs writes the columns with arrow-go, all rows in one row group.
func theirs(s style, all []column, valid []bool) []byte {
	rep, version := parquet.Repetitions.Required, parquet.DataPageV1
	if s.nulls {
		rep = parquet.Repetitions.Optional
	}
	if s.v2 {
		version = parquet.DataPageV2
	}
	props := []parquet.WriterProperty{parquet.WithCompression(s.codec), parquet.WithDictionaryDefault(false), parquet.WithDataPageVersion(version),
		parquet.WithBatchSize(64), parquet.WithVersion(parquet.V2_LATEST), parquet.WithDataPageSize(s.pageSize)}
	var fields schema.FieldList
	for _, c := range all {
		note := schema.LogicalType(schema.NoLogicalType{})
		if c.text {
			note = schema.StringLogicalType{}
		}
		fields = append(fields, must(schema.NewPrimitiveNodeLogical(c.name, rep, note, c.typ, -1, -1)))
		if c.encoding == parquet.Encodings.RLEDict {
			props = append(props, parquet.WithDictionaryFor(c.name, true))
		} else {
			props = append(props, parquet.WithEncodingFor(c.name, c.encoding))
		}
	}
	var b bytes.Buffer
	root := must(schema.NewGroupNode("root", parquet.Repetitions.Required, fields, -1))
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(props...)))
	g := must(w.AppendRowGroupChecked())
	var levels []int16
	for _, there := range valid {
		levels = append(levels, map[bool]int16{true: 1}[there])
	}
	for _, c := range all {
		cw := must(g.NextColumn())
		var err error
		switch cw := cw.(type) {
		case *file.Int32ColumnChunkWriter:
			_, err = cw.WriteBatch(c.values.([]int32), levels, nil)
		case *file.Int64ColumnChunkWriter:
			_, err = cw.WriteBatch(c.values.([]int64), levels, nil)
		case *file.Float32ColumnChunkWriter:
			_, err = cw.WriteBatch(c.values.([]float32), levels, nil)
		case *file.Float64ColumnChunkWriter:
			_, err = cw.WriteBatch(c.values.([]float64), levels, nil)
		case *file.BooleanColumnChunkWriter:
			_, err = cw.WriteBatch(c.values.([]bool), levels, nil)
		case *file.ByteArrayColumnChunkWriter:
			_, err = cw.WriteBatch(c.values.([]parquet.ByteArray), levels, nil)
		}
		must(0, err)
		must(0, cw.Close())
	}
	must(0, g.Close())
	must(0, w.Close())
	return b.Bytes()
}

// testkit writes the columns with the writer that the program's tests use.
func testkit(s style, all []column, valid []bool, rows int) []byte {
	rep := ours.Repetitions.Required
	if s.nulls {
		rep = ours.Repetitions.Optional
	}
	var nodes []ours.Node
	var parts []ours.Column
	for _, c := range all {
		note := ours.NoLogicalType
		if c.text {
			note = ours.StringLogicalType
		}
		node := ours.NewNode(c.name, rep, note, ours.Type(c.typ), 0)
		nodes = append(nodes, node)
		parts = append(parts, ours.Column{Node: node, Encoding: ours.Encoding(c.encoding), Values: c.ours, Valid: valid})
	}
	var b bytes.Buffer
	w := ours.NewWriter(&b, ours.Style{Codec: ours.Codec(s.codec), V2: s.v2, PageSize: s.pageSize}, nodes)
	must(0, w.Group(rows, parts))
	must(0, w.Close())
	return b.Bytes()
}

// rowsOf returns the value of each row: nil is null.
func rowsOf(c *column, valid []bool, rows int) []any {
	out := make([]any, rows)
	at := 0
	for i := range out {
		if valid == nil || valid[i] {
			out[i] = c.want(at)
			at++
		}
	}
	return out
}

// read reads a file with the program.
func read(t *testing.T, data []byte, all []column, valid []bool, rows int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.parquet")
	must(0, os.WriteFile(path, data, 0o600))
	tab := must(table.Open(t.Context(), table.Spec{Path: path}))
	defer tab.Close()
	names, want := []string{}, [][]any{}
	for i := range all {
		names, want = append(names, all[i].name), append(want, rowsOf(&all[i], valid, rows))
	}
	seen := 0
	err := tab.Scan(context.Background(), table.ScanOptions{Columns: names}, func(b table.Batch) error {
		for k := range b.Columns {
			v := &b.Columns[k]
			for i := range b.Rows {
				var got any
				switch {
				case v.Null(i):
				case v.Float64 != nil:
					got = v.Float64[i]
				case v.Int64 != nil:
					got = v.Int64[i]
				default:
					got = v.Dict[v.Codes[i]]
				}
				if got != want[k][int(b.Block.First)+i] {
					return fmt.Errorf("%s, row %d: %v, not %v", names[k], int(b.Block.First)+i, got, want[k][int(b.Block.First)+i])
				}
			}
		}
		seen += b.Rows
		return nil
	})
	if err != nil || seen != rows {
		t.Errorf("%d rows of %d: %v", seen, rows, err)
	}
}

// library reads a file with arrow-go.
func library(t *testing.T, data []byte, all []column, valid []bool, rows int) {
	t.Helper()
	r := must(file.NewParquetReader(bytes.NewReader(data)))
	for i := range all {
		var got []any
		for g := range r.NumRowGroups() {
			group := r.RowGroup(g)
			got = append(got, values(must(group.Column(i)), int(group.NumRows()))...)
		}
		want := rowsOf(&all[i], valid, rows)
		if len(got) != len(want) {
			t.Fatalf("%s: %d rows, not %d", all[i].name, len(got), len(want))
		}
		for k := range want {
			if got[k] != want[k] {
				t.Fatalf("%s, row %d: %v, not %v", all[i].name, k, got[k], want[k])
			}
		}
	}
}

func values(r file.ColumnChunkReader, rows int) []any {
	switch r := r.(type) {
	case *file.Int32ColumnChunkReader:
		return batch(r, rows, func(x int32) any { return int64(x) })
	case *file.Int64ColumnChunkReader:
		return batch(r, rows, func(x int64) any { return x })
	case *file.Float32ColumnChunkReader:
		return batch(r, rows, func(x float32) any { return float64(x) })
	case *file.Float64ColumnChunkReader:
		return batch(r, rows, func(x float64) any { return x })
	case *file.BooleanColumnChunkReader:
		return batch(r, rows, func(x bool) any { return map[bool]int64{true: 1}[x] })
	case *file.ByteArrayColumnChunkReader:
		return batch(r, rows, func(x parquet.ByteArray) any { return string(x) })
	}
	panic("no such column")
}

func batch[T any](r interface {
	ReadBatch(n int64, values []T, defs, reps []int16) (int64, int, error)
}, rows int, of func(T) any) []any {
	var out []any
	for len(out) < rows {
		v, defs := make([]T, rows), make([]int16, rows)
		n, present, err := r.ReadBatch(int64(rows-len(out)), v, defs, nil)
		if err != nil || n == 0 {
			panic(fmt.Sprint("a short read: ", err))
		}
		nulls := present < int(n)
		for i, at := 0, 0; i < int(n); i++ {
			if nulls && defs[i] == 0 {
				out = append(out, nil)
				continue
			}
			out = append(out, of(v[at]))
			at++
		}
	}
	return out
}

// TestBothWays: what arrow-go writes is read here, and what the tests' writer writes is read by arrow-go, in every encoding,
// codec and version of pages.
func TestBothWays(t *testing.T) {
	c := compress.Codecs
	for i, codec := range []compress.Compression{c.Uncompressed, c.Snappy, c.Gzip, c.Brotli, c.Zstd, c.Lz4Raw} {
		for k := range 4 {
			s := style{codec: codec, v2: k&1 == 1, nulls: k&2 == 2, pageSize: 3000}
			t.Run(fmt.Sprint(s), func(t *testing.T) {
				r := rand.New(rand.NewPCG(5, uint64(4*i+k)))
				const present = 3000
				rows, valid := present, []bool(nil)
				if s.nulls {
					for there := 0; there < present; {
						ok := r.IntN(4) > 0
						if valid = append(valid, ok); ok {
							there++
						}
					}
					rows = len(valid)
				}
				all := encodings(present, r)
				read(t, theirs(s, all, valid), all, valid, rows)
				own := testkit(s, all, valid, rows)
				read(t, own, all, valid, rows)
				library(t, own, all, valid, rows)
			})
		}
	}
}

// TestReleases: arrow-go reads the releases that the program writes, of any size.
func TestReleases(t *testing.T) {
	for _, n := range []int{0, 1, 100, 200_000} {
		floats, numbers, texts, blank := make([]float64, n), make([]int64, n), make([]string, n), make([]bool, n)
		var want [3][]any
		for i := range n {
			floats[i], numbers[i], texts[i], blank[i] = math.Sqrt(float64(i)), int64(i)*i64, fmt.Sprint("région ", i), i%7 == 3
			want[0], want[1] = append(want[0], any(floats[i])), append(want[1], any(numbers[i]))
			want[2] = append(want[2], any(texts[i]))
			if blank[i] {
				want[0][i], want[2][i] = nil, nil
			}
		}
		var b bytes.Buffer
		must(0, table.WriteParquet(&b, table.Release{Columns: []columns.Column{
			{Name: "x", Float64: floats, Blank: blank}, {Name: "n", Int64: numbers}, {Name: "t", Texts: texts, Blank: blank}}}))
		r := must(file.NewParquetReader(bytes.NewReader(b.Bytes())))
		if r.NumRows() != int64(n) {
			t.Fatalf("%d rows of %d", r.NumRows(), n)
		}
		if note := r.MetaData().Schema.Column(2).LogicalType(); note.String() != "String" {
			t.Error(note)
		}
		for g := range r.NumRowGroups() {
			for i := range want {
				got := values(must(r.RowGroup(g).Column(i)), n)
				for k := range got {
					if got[k] != want[i][k] {
						t.Fatalf("column %d, row %d: %v, not %v", i, k, got[k], want[i][k])
					}
				}
			}
		}
	}
}

const i64 = 1 << 40

// TestFooters compares what is read here with arrow-go's reading of the same footers.
func TestFooters(t *testing.T) {
	for _, name := range must(filepath.Glob("../../internal/data/table/testdata/writers/*.parquet")) {
		b := must(os.ReadFile(name))
		f, err := pagewalk.ReadFooter(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(name, err)
		}
		lib, err := file.NewParquetReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(name, err)
		}
		md := lib.MetaData()
		if f.Rows != md.NumRows || len(f.Groups) != lib.NumRowGroups() || len(f.Leaves) != md.Schema.NumColumns() {
			t.Fatalf("%s: %d rows, %d groups, %d columns", name, f.Rows, len(f.Groups), len(f.Leaves))
		}
		for i := range f.Leaves {
			l, c := &f.Leaves[i], md.Schema.Column(i)
			if l.String() != c.Path() || int(l.Type) != int(c.PhysicalType()) || l.MaxDef != int(c.MaxDefinitionLevel()) || l.MaxRep != int(c.MaxRepetitionLevel()) {
				t.Errorf("%s: column %d: %+v", name, i, l)
			}
			if l.Type == pagewalk.FixedLen && l.TypeLen != c.TypeLength() {
				t.Errorf("%s: column %s: length %d", name, l, l.TypeLen)
			}
			sameMeaning(t, name, l, c.LogicalType())
		}
		for g := range f.Groups {
			for i, k := range f.Groups[g].Chunks {
				c, err := md.RowGroup(g).ColumnChunk(i)
				if err != nil {
					t.Fatal(err)
				}
				if k.Values != c.NumValues() || k.Len != c.TotalCompressedSize() || k.DataPage != c.DataPageOffset() || int(k.Codec) != int(c.Compression()) {
					t.Errorf("%s: group %d, column %d: %+v", name, g, i, k)
				}
			}
		}
	}
}

func sameMeaning(t *testing.T, name string, l *pagewalk.Leaf, lt schema.LogicalType) {
	t.Helper()
	ok := true
	switch lt := lt.(type) {
	case schema.StringLogicalType:
		ok = l.Note.Meaning == pagewalk.Text
	case schema.DecimalLogicalType:
		ok = l.Note.Meaning == pagewalk.Decimal && l.Note.Scale == int(lt.Scale()) && l.Note.Precision == int(lt.Precision())
	case schema.DateLogicalType:
		ok = l.Note.Meaning == pagewalk.Date
	case schema.TimestampLogicalType:
		units := map[schema.TimeUnitType]pagewalk.Unit{schema.TimeUnitMillis: pagewalk.Millis, schema.TimeUnitMicros: pagewalk.Micros, schema.TimeUnitNanos: pagewalk.Nanos}
		ok = l.Note.Meaning == pagewalk.Timestamp && l.Note.Unit == units[lt.TimeUnit()]
	case schema.IntLogicalType:
		ok = l.Note.Meaning == pagewalk.Integer && l.Note.Bits == int(lt.BitWidth()) && l.Note.Signed == lt.IsSigned()
	case schema.UnknownLogicalType, schema.NoLogicalType:
		ok = l.Note.Meaning == pagewalk.Plain
	}
	if !ok || l.Doubt != "" {
		t.Errorf("%s: column %s: %+v (%s) is not %v", name, l, l.Note, l.Doubt, lt)
	}
}

// BenchmarkDecode reads a column of a million values in each encoding, here and with arrow-go's column reader.
func BenchmarkDecode(b *testing.B) {
	const n = 1 << 20
	for _, c := range encodings(n, rand.New(rand.NewPCG(1, 1))) {
		data := theirs(style{codec: compress.Codecs.Uncompressed, pageSize: 1 << 20}, []column{c}, nil)
		path := filepath.Join(b.TempDir(), "x.parquet")
		must(0, os.WriteFile(path, data, 0o600))
		b.Run(c.name+"/here", func(b *testing.B) {
			for b.Loop() {
				tab := must(table.Open(b.Context(), table.Spec{Path: path}))
				rows := 0
				must(0, tab.Scan(b.Context(), table.ScanOptions{Columns: []string{c.name}, Workers: 1}, func(x table.Batch) error {
					rows += x.Rows
					return nil
				}))
				tab.Close()
				if rows != n {
					b.Fatal(rows)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
		b.Run(c.name+"/arrow-go", func(b *testing.B) {
			for b.Loop() {
				f := must(os.Open(path))
				r := must(file.NewParquetReader(f))
				if rows := drain(must(r.RowGroup(0).Column(0))); rows != n {
					b.Fatal(rows)
				}
				f.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}

func drain(r file.ColumnChunkReader) int {
	switch r := r.(type) {
	case *file.Int32ColumnChunkReader:
		return all(r)
	case *file.Int64ColumnChunkReader:
		return all(r)
	case *file.Float32ColumnChunkReader:
		return all(r)
	case *file.Float64ColumnChunkReader:
		return all(r)
	case *file.BooleanColumnChunkReader:
		return all(r)
	case *file.ByteArrayColumnChunkReader:
		return all(r)
	}
	return 0
}

func all[T any](r interface {
	ReadBatch(n int64, values []T, defs, reps []int16) (int64, int, error)
}) (rows int) {
	v := make([]T, 4096)
	for {
		n, _, err := r.ReadBatch(int64(len(v)), v, nil, nil)
		if err != nil && err != io.EOF {
			panic(err)
		}
		if n == 0 {
			return rows
		}
		rows += int(n)
	}
}
