package table

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/data/arrow"
	"github.com/dprelease/dprelease/internal/data/unlinked"
)

// Spool writes rows of a database, which come once and in any order, to a file of package unlinked. Then they can be read
// like any other file, and more than once. Memory does not grow with them.
//
// Callers append the values of a row column by column, and call EndRow.
type Spool struct {
	file  *unlinked.File
	out   *arrow.Writer
	build []*arrow.Builder
	rows  int
	bytes int
}

// spoolBytes bounds the texts of a record batch. The last row may go beyond it.
const spoolBytes = 16 << 20

// arrowTypes are the Arrow types of a Spool's columns.
var arrowTypes = map[Kind]arrow.Type{
	Int: arrow.Int64, Float: arrow.Float64, Bool: arrow.Bool, String: arrow.Text,
	Date: arrow.Date, Time: arrow.Time, Timestamp: arrow.Timestamp, Decimal: arrow.Decimal,
}

// NewSpool makes a spool for columns of these names, kinds and scales. Times and timestamps are in microseconds.
func NewSpool(columns []Column) (*Spool, error) {
	s, fields := &Spool{}, make([]arrow.Field, len(columns))
	for i, c := range columns {
		typ, ok := arrowTypes[c.Kind]
		if !ok {
			return nil, fail(CodeUnsupported, "", "column "+c.Name+" is of a kind that cannot be kept")
		}
		fields[i] = arrow.Field{Name: c.Name, Type: typ, Scale: c.Scale, Nullable: true}
		s.build = append(s.build, arrow.NewBuilder(typ))
	}
	var err error
	if s.file, err = unlinked.New(""); err != nil {
		return nil, spoolError(err)
	}
	if s.out, err = arrow.NewFile(s.file, fields); err != nil {
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
func (s *Spool) Null(col int) { s.build[col].Null() }

// Int appends a value of a kind that arrives as Int64: see Kind.
func (s *Spool) Int(col int, v int64) { s.build[col].Int(v) }

// Float appends a value of a column of kind Float.
func (s *Spool) Float(col int, v float64) { s.build[col].Float(v) }

// Text appends a value of a column of kind String.
func (s *Spool) Text(col int, v []byte) {
	s.build[col].Text(v)
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
	columns := make([]arrow.Column, len(s.build))
	for i, b := range s.build {
		if b.Rows() != s.rows {
			return fail(CodeCorrupt, "", "a row without a value for each column")
		}
		var err error
		if columns[i], err = b.Column(); err != nil {
			return fail(CodeLimit, "", "the texts of a row are too long")
		}
	}
	if err := s.out.Write(s.rows, columns); err != nil {
		return spoolError(err)
	}
	for _, b := range s.build {
		b.Reset()
	}
	s.rows, s.bytes = 0, 0
	return nil
}

// Table ends the spool and opens its rows as a table, which owns the file. Messages call it name. others are columns of
// the source that are not in the spool.
func (s *Spool) Table(ctx context.Context, name string, others []Column, limit int64) (*Table, error) {
	err := s.flush()
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

// Close gives the file up, unless Table took it.
func (s *Spool) Close() {
	if s.file != nil {
		s.file.Close()
	}
}

// Unusable describes a column that cannot be read.
func Unusable(name, reason string) Column { return unusable(name, printable(reason)) }
