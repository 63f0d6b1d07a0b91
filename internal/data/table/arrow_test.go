package table

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/float16"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// arrowStyle is the layout of a generated Arrow file.
type arrowStyle struct {
	stream  bool
	codec   string
	nulls   float64
	batches []int
	every   int // write only every so many columns; 0: all
}

func (s arrowStyle) String() string {
	return fmt.Sprintf("stream=%v/%s/nulls=%v/%v", s.stream, s.codec, s.nulls, s.batches)
}

// arrowMaker makes one column: append adds row i to the builder and says what must come back.
type arrowMaker struct {
	name   string
	typ    arrow.DataType
	append func(b array.Builder, i int)
	want   func(i int, w *wantColumn)
}

func arrowMakers(n int, r *rand.Rand) []arrowMaker {
	nums := make([]int64, n)
	texts := make([]string, n)
	few := make([]string, n)
	for i := range nums {
		nums[i] = int64(r.Uint64()) >> r.IntN(62)
		texts[i] = fmt.Sprintf("%x", r.Uint64()>>r.IntN(64))
		if i%5 == 0 {
			texts[i] += " long enough not to fit a view"
		}
		few[i] = []string{"", "x", "yy", "zürich"}[r.IntN(4)]
	}
	integer := func(f func(i int) int64) func(int, *wantColumn) {
		return func(i int, w *wantColumn) { w.i64 = append(w.i64, f(i)) }
	}
	float := func(f func(i int) float64) func(int, *wantColumn) {
		return func(i int, w *wantColumn) { w.f64 = append(w.f64, f(i)) }
	}
	text := func(v []string) func(int, *wantColumn) {
		return func(i int, w *wantColumn) { w.texts = append(w.texts, v[i]) }
	}
	p := arrow.PrimitiveTypes
	half := func(i int) float16.Num { return float16.New(float32(i % 512)) }
	return []arrowMaker{
		{"i8", p.Int8, func(b array.Builder, i int) { b.(*array.Int8Builder).Append(int8(nums[i])) }, integer(func(i int) int64 { return int64(int8(nums[i])) })},
		{"i16", p.Int16, func(b array.Builder, i int) { b.(*array.Int16Builder).Append(int16(nums[i])) }, integer(func(i int) int64 { return int64(int16(nums[i])) })},
		{"i32", p.Int32, func(b array.Builder, i int) { b.(*array.Int32Builder).Append(int32(nums[i])) }, integer(func(i int) int64 { return int64(int32(nums[i])) })},
		{"i64", p.Int64, func(b array.Builder, i int) { b.(*array.Int64Builder).Append(nums[i]) }, integer(func(i int) int64 { return nums[i] })},
		{"u8", p.Uint8, func(b array.Builder, i int) { b.(*array.Uint8Builder).Append(uint8(nums[i])) }, integer(func(i int) int64 { return int64(uint8(nums[i])) })},
		{"u32", p.Uint32, func(b array.Builder, i int) { b.(*array.Uint32Builder).Append(uint32(nums[i])) }, integer(func(i int) int64 { return int64(uint32(nums[i])) })},
		{"u64", p.Uint64, func(b array.Builder, i int) { b.(*array.Uint64Builder).Append(uint64(nums[i]) &^ (1 << 63)) }, integer(func(i int) int64 { return int64(uint64(nums[i]) &^ (1 << 63)) })},
		{"f16", arrow.FixedWidthTypes.Float16, func(b array.Builder, i int) { b.(*array.Float16Builder).Append(half(i)) }, float(func(i int) float64 { return float64(i % 512) })},
		{"f32", p.Float32, func(b array.Builder, i int) { b.(*array.Float32Builder).Append(float32(nums[i])) }, float(func(i int) float64 { return float64(float32(nums[i])) })},
		{"f64", p.Float64, func(b array.Builder, i int) { b.(*array.Float64Builder).Append(float64(nums[i])) }, float(func(i int) float64 { return float64(nums[i]) })},
		{"bool", arrow.FixedWidthTypes.Boolean, func(b array.Builder, i int) { b.(*array.BooleanBuilder).Append(nums[i]&1 == 1) }, integer(func(i int) int64 { return nums[i] & 1 })},
		{"list", arrow.ListOf(p.Int32), func(b array.Builder, i int) {
			l := b.(*array.ListBuilder)
			l.Append(true)
			l.ValueBuilder().(*array.Int32Builder).Append(int32(i))
		}, nil},
		{"pair", arrow.StructOf(arrow.Field{Name: "a", Type: p.Int32}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String}), func(b array.Builder, i int) {
			s := b.(*array.StructBuilder)
			s.Append(true)
			s.FieldBuilder(0).(*array.Int32Builder).Append(1)
			s.FieldBuilder(1).(*array.StringBuilder).Append("inner")
		}, nil},
		{"date32", p.Date32, func(b array.Builder, i int) { b.(*array.Date32Builder).Append(arrow.Date32(i - 10)) }, integer(func(i int) int64 { return int64(i - 10) })},
		{"date64", p.Date64, func(b array.Builder, i int) { b.(*array.Date64Builder).Append(arrow.Date64(86400000 * (i - 10))) }, integer(func(i int) int64 { return int64(i - 10) })},
		{"stamp", arrow.FixedWidthTypes.Timestamp_ns, func(b array.Builder, i int) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(nums[i])) }, integer(func(i int) int64 { return nums[i] })},
		{"dec", &arrow.Decimal128Type{Precision: 18, Scale: 2}, func(b array.Builder, i int) {
			b.(*array.Decimal128Builder).Append(decimal128.FromI64(nums[i] >> 8))
		}, integer(func(i int) int64 { return nums[i] >> 8 })},
		{"text", arrow.BinaryTypes.String, func(b array.Builder, i int) { b.(*array.StringBuilder).Append(texts[i]) }, text(texts)},
		{"large", arrow.BinaryTypes.LargeString, func(b array.Builder, i int) { b.(*array.LargeStringBuilder).Append(texts[i]) }, text(texts)},
		{"view", arrow.BinaryTypes.StringView, func(b array.Builder, i int) { b.(*array.StringViewBuilder).Append(texts[i]) }, text(texts)},
		{"dict", &arrow.DictionaryType{IndexType: p.Int16, ValueType: arrow.BinaryTypes.String}, func(b array.Builder, i int) {
			if err := b.(*array.BinaryDictionaryBuilder).AppendString(few[i]); err != nil {
				panic(err)
			}
		}, text(few)},
	}
}

// writeArrow writes generated columns with the Arrow library's writer.
func writeArrow(t testing.TB, s arrowStyle) ([]byte, []wantColumn) {
	t.Helper()
	n := total(s.batches)
	r := rand.New(rand.NewPCG(5, uint64(n)))
	var makers []arrowMaker
	for i, m := range arrowMakers(n, r) {
		if s.every == 0 || i%s.every == 0 {
			makers = append(makers, m)
		}
	}
	var fields []arrow.Field
	for _, m := range makers {
		fields = append(fields, arrow.Field{Name: m.name, Type: m.typ, Nullable: s.nulls > 0})
	}
	schema := arrow.NewSchema(fields, nil)
	want := make([]wantColumn, len(makers))
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	var buf bytes.Buffer
	opts := []ipc.Option{ipc.WithSchema(schema), ipc.WithDictionaryDeltas(true)}
	switch s.codec {
	case "lz4":
		opts = append(opts, ipc.WithLZ4())
	case "zstd":
		opts = append(opts, ipc.WithZstd())
	}
	type writer interface {
		Write(arrow.Record) error
		Close() error
	}
	var w writer = ipc.NewWriter(&buf, opts...)
	if !s.stream {
		w = must(ipc.NewFileWriter(&seekBuffer{&buf}, opts...))
	}
	at := 0
	for _, rows := range s.batches {
		for i := at; i < at+rows; i++ {
			for k, m := range makers {
				null := r.Float64() < s.nulls
				if s.nulls > 0 {
					want[k].valid = append(want[k].valid, !null)
				}
				if null {
					build.Field(k).AppendNull()
				} else {
					m.append(build.Field(k), i)
				}
				if m.want != nil {
					m.want(i, &want[k])
				}
				want[k].name = m.name
			}
		}
		at += rows
		rec := build.NewRecord()
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var usable []wantColumn
	for i, m := range makers {
		if m.want != nil {
			usable = append(usable, want[i])
		}
	}
	return buf.Bytes(), usable
}

// seekBuffer is enough of a WriteSeeker for a writer that only asks where it is.
type seekBuffer struct{ *bytes.Buffer }

func (s *seekBuffer) Seek(int64, int) (int64, error) { return int64(s.Len()), nil }

func TestScanArrow(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, codec := range []string{"none", "lz4", "zstd"} {
			for _, nulls := range []float64{0, 0.3} {
				s := arrowStyle{stream: stream, codec: codec, nulls: nulls, batches: []int{100, 1, 333}}
				t.Run(s.String(), func(t *testing.T) {
					data, want := writeArrow(t, s)
					checkScan(t, temp(t, "x.arrow", data), want, total(s.batches))
				})
			}
		}
	}
	big := arrowStyle{codec: "none", nulls: 0.1, batches: []int{150_000, 20}}
	t.Run(big.String(), func(t *testing.T) {
		data, want := writeArrow(t, big)
		checkScan(t, temp(t, "x.arrow", data), want, total(big.batches))
	})
}
