package table

import (
	"bytes"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// WriteParquet writes a release as a Parquet file with one row group, compressed with snappy. Columns with missing values
// are optional, and others required.
func WriteParquet(w io.Writer, r Release) error {
	return writeRelease(w, r, parquetRelease)
}

// writeRelease writes a release into memory first: the libraries' writers panic on some failures to write.
func writeRelease(w io.Writer, r Release, do func(buf *bytes.Buffer, r Release) error) error {
	if _, err := r.rows(); err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := guarded(func() error { return do(&buf, r) }); err != nil {
		return err
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// blanked puts zeros in the places of missing values. An Arrow buffer has room there, and the bytes of a release must not
// hold what it leaves out.
func blanked[T any](v []T, valid []bool) []T {
	if valid == nil {
		return v
	}
	out := make([]T, len(v))
	for i, ok := range valid {
		if ok {
			out[i] = v[i]
		}
	}
	return out
}

// WriteArrow writes a release as an Arrow IPC file with one record batch.
func WriteArrow(w io.Writer, r Release) error {
	return writeRelease(w, r, arrowRelease)
}

func arrowRelease(buf *bytes.Buffer, r Release) error {
	fields := make([]arrow.Field, len(r.Columns))
	for i, c := range r.Columns {
		fields[i] = arrow.Field{Name: c.Name, Nullable: c.Valid != nil, Type: arrow.BinaryTypes.String}
		switch {
		case c.Float64 != nil:
			fields[i].Type = arrow.PrimitiveTypes.Float64
		case c.Int64 != nil:
			fields[i].Type = arrow.PrimitiveTypes.Int64
		}
	}
	mem, s := memory.NewGoAllocator(), arrow.NewSchema(fields, nil)
	build := array.NewRecordBuilder(mem, s)
	defer build.Release()
	for i, c := range r.Columns {
		switch b := build.Field(i).(type) {
		case *array.Float64Builder:
			b.AppendValues(blanked(c.Float64, c.Valid), c.Valid)
		case *array.Int64Builder:
			b.AppendValues(blanked(c.Int64, c.Valid), c.Valid)
		case *array.StringBuilder:
			b.AppendValues(blanked(c.Text, c.Valid), c.Valid)
		}
	}
	rec := build.NewRecord()
	defer rec.Release()
	out, err := ipc.NewFileWriter(&positioned{buf}, ipc.WithSchema(s), ipc.WithAllocator(mem))
	if err != nil {
		return err
	}
	if err := out.Write(rec); err != nil {
		return err
	}
	return out.Close()
}

// positioned is a buffer for the IPC writer, which seeks only to ask for its position.
type positioned struct{ *bytes.Buffer }

func (p *positioned) Seek(int64, int) (int64, error) { return int64(p.Len()), nil }
