package arrow

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	apache "github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// everything has a field of each type, with and without missing values.
func everything() (fields []Field) {
	for typ := Int64; typ <= Decimal; typ++ {
		for _, nullable := range []bool{false, true} {
			fields = append(fields, Field{Name: "n" + strings.Repeat("é", len(fields)), Type: typ, Nullable: nullable,
				Metadata: []Pair{{"role", "column"}, {"empty", ""}}})
			if typ == Decimal {
				fields[len(fields)-1].Scale = 4
			}
		}
	}
	return fields
}

func text(row int) string { return strings.Repeat("aß", row%5) }

func number(row int) int64 { return int64(row*row*row - 100) }

func isMissing(f Field, row int) bool { return f.Nullable && row%3 == 1 }

func columnsOf(t *testing.T, fields []Field, rows int) (columns []Column) {
	for _, f := range fields {
		b := NewBuilder(f.Type)
		b.Int(77)
		b.Reset()
		for row := range rows {
			switch {
			case isMissing(f, row):
				b.Null()
			case f.Type == Text:
				b.Text([]byte(text(row)))
			case f.Type == Float64:
				b.Float(float64(number(row)) / 8)
			default:
				b.Int(number(row))
			}
		}
		c, err := b.Column()
		if err != nil || b.Rows() != rows {
			t.Fatal(b.Rows(), err)
		}
		columns = append(columns, c)
	}
	return columns
}

var types = map[Type]apache.DataType{
	Int64: apache.PrimitiveTypes.Int64, Int32: apache.PrimitiveTypes.Int32, Float64: apache.PrimitiveTypes.Float64,
	Bool: apache.FixedWidthTypes.Boolean, Text: apache.BinaryTypes.String, Date: apache.FixedWidthTypes.Date32,
	Time: apache.FixedWidthTypes.Time64us, Timestamp: &apache.TimestampType{Unit: apache.Microsecond},
	Decimal: &apache.Decimal128Type{Precision: 18, Scale: 4},
}

// compare holds a record, as Arrow's own library reads it, against what was written.
func compare(t *testing.T, fields []Field, rec apache.Record, rows int) {
	t.Helper()
	if int(rec.NumRows()) != rows || int(rec.NumCols()) != len(fields) {
		t.Fatalf("%d rows of %d columns", rec.NumRows(), rec.NumCols())
	}
	for i, f := range fields {
		got := rec.Schema().Field(i)
		role, _ := got.Metadata.GetValue("role")
		if got.Name != f.Name || got.Nullable != f.Nullable || role != "column" || !apache.TypeEqual(got.Type, types[f.Type]) {
			t.Errorf("field %v", got)
		}
		nulls := 0
		for row := range rows {
			if rec.Column(i).IsNull(row) != isMissing(f, row) {
				t.Fatalf("%v: row %d is missing: %v", got, row, rec.Column(i).IsNull(row))
			}
			if isMissing(f, row) {
				nulls++
				continue
			}
			v, same := number(row), false
			switch c := rec.Column(i).(type) {
			case *array.Int64:
				same = c.Value(row) == v
			case *array.Int32:
				same = c.Value(row) == int32(v)
			case *array.Float64:
				same = c.Value(row) == float64(v)/8
			case *array.Boolean:
				same = c.Value(row) == (v != 0)
			case *array.String:
				same = c.Value(row) == text(row)
			case *array.Date32:
				same = c.Value(row) == apache.Date32(v)
			case *array.Time64:
				same = c.Value(row) == apache.Time64(v)
			case *array.Timestamp:
				same = c.Value(row) == apache.Timestamp(v)
			case *array.Decimal128:
				same = c.Value(row) == decimal128.FromI64(v)
			}
			if !same {
				t.Errorf("%v: row %d is %v", got, row, rec.Column(i))
			}
		}
		if rec.Column(i).NullN() != nulls {
			t.Errorf("%v: %d missing, not %d", got, rec.Column(i).NullN(), nulls)
		}
	}
}

// Arrow's own library reads what is written here.
func TestWritten(t *testing.T) {
	fields, sizes := everything(), []int{0, 1, 7, 8, 9, 64, 1000}
	var file, stream bytes.Buffer
	out, err := NewFile(&file, fields)
	if err != nil {
		t.Fatal(err)
	}
	flow, err := NewStream(&stream, fields, Pair{"version", "1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range sizes {
		columns := columnsOf(t, fields, rows)
		if err := errors.Join(out.Write(rows, columns), flow.Write(rows, columns)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), flow.Close()); err != nil {
		t.Fatal(err)
	}

	r, err := ipc.NewFileReader(bytes.NewReader(file.Bytes()))
	if err != nil || r.NumRecords() != len(sizes) {
		t.Fatal(r.NumRecords(), err)
	}
	s, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Schema().Metadata().GetValue("version"); v != "1" {
		t.Errorf("version %q", v)
	}
	for i, rows := range sizes {
		rec, err := r.Record(i)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, fields, rec, rows)
		if !s.Next() {
			t.Fatal(s.Err())
		}
		compare(t, fields, s.Record(), rows)
	}
	if s.Next() || s.Err() != nil || stream.Len() > 0 {
		t.Errorf("the stream goes on: %v, %d bytes", s.Err(), stream.Len())
	}
}

// Without columns and without batches.
func TestNothingWritten(t *testing.T) {
	var file bytes.Buffer
	w, err := NewFile(&file, nil)
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if r, err := ipc.NewFileReader(bytes.NewReader(file.Bytes())); err != nil || r.NumRecords() != 0 || len(r.Schema().Fields()) != 0 {
		t.Error(err)
	}
}

// A missing value leaves no bytes, and a bitmap without zeros is left out: how a caller kept its rows does not show.
func TestNoTrace(t *testing.T) {
	write := func(c Column) string {
		var out bytes.Buffer
		w, err := NewFile(&out, []Field{{Name: "x", Type: Float64, Nullable: true}})
		if err = errors.Join(err, w.Write(3, []Column{c}), w.Close()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	b := NewBuilder(Float64)
	b.Float(1)
	b.Null()
	b.Float(math.Inf(1))
	c, _ := b.Column()
	if !bytes.Equal(c[1][8:16], make([]byte, 8)) {
		t.Error("a missing value has bytes")
	}
	if all := write(Column{nil, c[1]}); all != write(Column{{0b111}, c[1]}) || all != write(Column{{0xff}, c[1]}) || all == write(c) {
		t.Error("the bitmap")
	}
}

// brittle fails after some bytes.
type brittle struct{ left int }

var errBrittle = errors.New("no room")

func (b *brittle) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errBrittle
	}
	return len(p), nil
}

// A failure to write is returned by the call in which it happens, and by all after it.
func TestFailuresToWrite(t *testing.T) {
	fields := everything()
	columns := columnsOf(t, fields, 9)
	var whole bytes.Buffer
	w, _ := NewFile(&whole, fields)
	if err := errors.Join(w.Write(9, columns), w.Close()); err != nil {
		t.Fatal(err)
	}
	for left := range whole.Len() {
		w, err := NewFile(&brittle{left}, fields)
		if err == nil {
			err = w.Write(9, columns)
		}
		if last := w.Close(); !errors.Is(last, errBrittle) || err != nil && err != last {
			t.Fatalf("after %d bytes: %v, %v", left, err, last)
		}
	}
}
