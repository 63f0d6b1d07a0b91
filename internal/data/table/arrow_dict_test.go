package table

import (
	"bytes"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal256"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// writeRecords writes records as a stream; deltas says how a dictionary that grew is written.
func writeRecords(t *testing.T, s *arrow.Schema, deltas bool, recs ...arrow.Record) string {
	t.Helper()
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(s), ipc.WithDictionaryDeltas(deltas))
	for _, r := range recs {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return temp(t, "x.arrows", buf.Bytes())
}

func indices(v ...int32) arrow.Array {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.AppendValues(v, nil)
	return b.NewArray()
}

func texts(v ...string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for _, s := range v {
		if s == "(null)" {
			b.AppendNull()
		} else {
			b.Append(s)
		}
	}
	return b.NewArray()
}

// TestArrowDictionariesThatChange: a stream may add to its dictionary or replace it between batches, and an entry of a
// dictionary may be null.
func TestArrowDictionariesThatChange(t *testing.T) {
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	s := arrow.NewSchema([]arrow.Field{{Name: "d", Type: dt, Nullable: true}}, nil)
	rec := func(dict, idx arrow.Array) arrow.Record {
		return array.NewRecord(s, []arrow.Array{array.NewDictionaryArray(dt, idx, dict)}, int64(idx.Len()))
	}
	recs := []arrow.Record{
		rec(texts("a", "b"), indices(1, 0, 1)),
		rec(texts("a", "b", "c", "(null)"), indices(2, 0, 3, 1)),
		rec(texts("x", "y"), indices(0, 1)),
	}
	want := wantColumn{name: "d", texts: []string{"b", "a", "b", "c", "a", "", "b", "x", "y"}, valid: []bool{true, true, true, true, true, false, true, true, true}}
	for _, deltas := range []bool{false, true} {
		checkScan(t, writeRecords(t, s, deltas, recs...), []wantColumn{want}, 9)
	}
}

func TestArrowDictionariesOfNumbers(t *testing.T) {
	floats := array.NewFloat64Builder(memory.DefaultAllocator)
	floats.AppendValues([]float64{0.5, 2.5}, nil)
	ints := array.NewInt16Builder(memory.DefaultAllocator)
	ints.AppendValues([]int16{-7, 9}, []bool{true, false})
	ft := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.PrimitiveTypes.Float64}
	it := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.PrimitiveTypes.Int16}
	s := arrow.NewSchema([]arrow.Field{{Name: "f", Type: ft}, {Name: "i", Type: it, Nullable: true}}, nil)
	rec := array.NewRecord(s, []arrow.Array{
		array.NewDictionaryArray(ft, indices(1, 0, 1), floats.NewArray()), array.NewDictionaryArray(it, indices(0, 1, 0), ints.NewArray()),
	}, 3)
	checkScan(t, writeRecords(t, s, false, rec), []wantColumn{
		{name: "f", f64: []float64{2.5, 0.5, 2.5}}, {name: "i", i64: []int64{-7, 0, -7}, valid: []bool{true, false, true}},
	}, 3)
}

// TestArrowNestedIsSkipped: what lies between the flat columns takes nodes and buffers in ways of its own; the columns
// after it must still be found.
func TestArrowNestedIsSkipped(t *testing.T) {
	p := arrow.PrimitiveTypes
	members := []arrow.Field{{Name: "a", Type: p.Int32}, {Name: "b", Type: arrow.BinaryTypes.String}}
	nested := []arrow.DataType{
		arrow.MapOf(arrow.BinaryTypes.String, p.Int32), arrow.FixedSizeListOf(2, p.Float32), arrow.LargeListOf(arrow.BinaryTypes.String),
		arrow.StructOf(members...), arrow.SparseUnionOf(members, []arrow.UnionTypeCode{0, 1}), arrow.DenseUnionOf(members, []arrow.UnionTypeCode{0, 1}),
		arrow.Null, arrow.ListOf(arrow.StructOf(members...)), &arrow.FixedSizeBinaryType{ByteWidth: 3}, arrow.FixedWidthTypes.Duration_s,
		arrow.RunEndEncodedOf(p.Int32, p.Float64), arrow.ListViewOf(p.Int8), arrow.BinaryTypes.BinaryView, &arrow.Decimal256Type{Precision: 40, Scale: 2},
	}
	var fields []arrow.Field
	for i, dt := range nested {
		fields = append(fields, arrow.Field{Name: string(rune('a'+i)) + "1", Type: dt, Nullable: true})
		fields = append(fields, arrow.Field{Name: string(rune('a'+i)) + "2", Type: p.Float64})
	}
	s := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	var want []wantColumn
	for i := range nested {
		if f, ok := b.Field(2 * i).(*array.Decimal256Builder); ok {
			f.AppendValues([]decimal256.Num{decimal256.FromI64(150), decimal256.FromI64(-25), decimal256.FromI64(0)}, nil)
			want = append(want, wantColumn{name: fields[2*i].Name, f64: []float64{1.5, -0.25, 0}})
		} else {
			b.Field(2 * i).AppendNulls(2)
			b.Field(2 * i).AppendEmptyValue()
		}
		v := []float64{float64(i), -1, 3}
		b.Field(2*i+1).(*array.Float64Builder).AppendValues(v, nil)
		want = append(want, wantColumn{name: fields[2*i+1].Name, f64: v})
	}
	checkScan(t, writeRecords(t, s, false, b.NewRecord()), want, 3)
}
