package table

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/dprelease/dprelease/internal/data/unlinked"
)

// Spool writes rows of a database, which come once and in any order, to a file of package unlinked. Then they can be read
// like any other file, and more than once. Memory does not grow with them.
//
// Callers append the values of a row column by column, and call EndRow.
type Spool struct {
	file  *unlinked.File
	out   *ipc.FileWriter
	build *array.RecordBuilder
	rows  int
	bytes int
}

// spoolBytes bounds the texts of a record batch. The last row may go beyond it.
const spoolBytes = 16 << 20

// arrowTypes are the Arrow types of a Spool's columns. Decimals have up to 18 digits.
var arrowTypes = map[Kind]arrow.DataType{
	Int: arrow.PrimitiveTypes.Int64, Float: arrow.PrimitiveTypes.Float64, Bool: arrow.FixedWidthTypes.Boolean,
	String: arrow.BinaryTypes.String,
	Date:   arrow.FixedWidthTypes.Date32, Time: arrow.FixedWidthTypes.Time64us, Timestamp: arrow.FixedWidthTypes.Timestamp_us,
}

// NewSpool makes a spool for columns of these names, kinds and scales. Times and timestamps are in microseconds.
func NewSpool(columns []Column) (*Spool, error) {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		typ := arrowTypes[c.Kind]
		if c.Kind == Decimal {
			typ = &arrow.Decimal128Type{Precision: 18, Scale: int32(c.Scale)}
		}
		if typ == nil {
			return nil, fail(CodeUnsupported, "", "column "+c.Name+" is of a kind that cannot be kept")
		}
		fields[i] = arrow.Field{Name: c.Name, Type: typ, Nullable: true}
	}
	f, err := unlinked.New("")
	if err != nil {
		return nil, spoolError(err)
	}
	mem, schema := memory.NewGoAllocator(), arrow.NewSchema(fields, nil)
	s := &Spool{file: f, build: array.NewRecordBuilder(mem, schema)}
	if s.out, err = ipc.NewFileWriter(spooled{f}, ipc.WithSchema(schema), ipc.WithAllocator(mem)); err != nil {
		s.Close()
		return nil, spoolError(err)
	}
	return s, nil
}

// spoolError drops the text of a system's error.
func spoolError(err error) error {
	if errors.Is(err, unlinked.ErrFull) {
		return fail(CodeLimit, "", "the folder of temporary files has no room for the rows: name another one (TMPDIR)")
	}
	return fail(CodeUnreadable, "", "the folder of temporary files cannot be used")
}

// Null appends a missing value.
func (s *Spool) Null(col int) { s.build.Field(col).AppendNull() }

// Int appends a value of a kind that arrives as Int64: see Kind.
func (s *Spool) Int(col int, v int64) {
	switch b := s.build.Field(col).(type) {
	case *array.Int64Builder:
		b.Append(v)
	case *array.BooleanBuilder:
		b.Append(v != 0)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v))
	}
}

// Float appends a value of a column of kind Float.
func (s *Spool) Float(col int, v float64) { s.build.Field(col).(*array.Float64Builder).Append(v) }

// Text appends a value of a column of kind String.
func (s *Spool) Text(col int, v []byte) {
	s.build.Field(col).(*array.StringBuilder).BinaryBuilder.Append(v)
	s.bytes += len(v)
}

// EndRow ends a row.
func (s *Spool) EndRow() error {
	if s.rows++; s.rows < blockRows && s.bytes < spoolBytes {
		return nil
	}
	return s.flush()
}

// flush writes a record batch.
func (s *Spool) flush() error {
	if s.rows == 0 {
		return nil
	}
	rec := s.build.NewRecord()
	defer rec.Release()
	if rec.NumRows() != int64(s.rows) {
		return fail(CodeCorrupt, "", "a row without a value for each column")
	}
	s.rows, s.bytes = 0, 0
	if err := s.out.Write(rec); err != nil {
		return spoolError(err)
	}
	return nil
}

// Table ends the spool and opens its rows as a table, which owns the file. Messages call it name. others are columns of
// the source that are not in the spool.
func (s *Spool) Table(ctx context.Context, name string, others []Column, limit int64) (*Table, error) {
	err := guarded(s.flush)
	if err == nil && s.out.Close() != nil {
		err = spoolError(nil)
	}
	if err != nil {
		return nil, err
	}
	f, err := openArrow(ctx, opened{path: name, f: spooled{s.file}, size: s.file.Size()})
	if err != nil {
		return nil, refuse(name, err)
	}
	t := &Table{files: []*member{{dataFile: f}}, memory: limit, unordered: true}
	if t.memory <= 0 {
		t.memory = DefaultMemory
	}
	if err := t.addBlocks(f); err != nil {
		return nil, err
	}
	t.unify()
	for _, c := range others {
		t.files[0].at = append(t.files[0].at, -1)
		t.columns = append(t.columns, c)
	}
	s.file, s.build = nil, nil
	return t, nil
}

// spooled is the content of a spool. Nobody else can open the file.
type spooled struct{ *unlinked.File }

// Unchanged returns nil.
func (spooled) Unchanged() error { return nil }

// Seek returns the end, where all writing is done: the writer of Arrow files asks where it stands, and goes nowhere.
func (s spooled) Seek(int64, int) (int64, error) { return s.Size(), nil }

// Close gives the file up, unless Table took it.
func (s *Spool) Close() {
	if s.file != nil {
		s.file.Close()
	}
}

// Unusable describes a column that cannot be read.
func Unusable(name, reason string) Column { return unusable(name, printable(reason)) }
