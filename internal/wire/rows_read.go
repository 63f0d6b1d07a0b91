package wire

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// RowsReader reads what a RowsWriter wrote.
type RowsReader struct {
	src   *frames
	specs []ColumnSpec
	r     *ipc.Reader
	batch Batch
	err   error
}

// NewRowsReader returns a reader of these columns.
func NewRowsReader(src io.Reader, specs []ColumnSpec) *RowsReader {
	return &RowsReader{src: newFrames(src, len(specs)), specs: specs}
}

// Next returns the next batch, which is valid until the next call, or io.EOF.
// A stream that breaks off is io.ErrUnexpectedEOF: half of the rows are never
// taken for all of them.
func (r *RowsReader) Next() (*Batch, error) {
	if r.err == nil {
		r.err = r.next()
	}
	if r.err != nil {
		return nil, r.err
	}
	return &r.batch, nil
}

// Close releases the reader's memory. The last batch is then no longer valid.
func (r *RowsReader) Close() {
	if r.r != nil {
		r.r.Release()
		r.r = nil
	}
	if r.err == nil {
		r.err = io.ErrClosedPipe
	}
}

func (r *RowsReader) next() error {
	if r.r == nil {
		rd, err := ipc.NewReaderFromMessageReader(r.src, ipc.WithAllocator(r.src.mem))
		if err != nil {
			return fmt.Errorf("row stream: cannot read its schema: %w", err)
		}
		r.r = rd
		if err := r.checkSchema(rd.Schema()); err != nil {
			return err
		}
	}
	if !r.r.Next() {
		if err := r.r.Err(); err != nil {
			return fmt.Errorf("row stream: %w", err)
		}
		return io.EOF
	}
	return r.load(r.r.Record())
}

func (r *RowsReader) checkSchema(s *arrow.Schema) error {
	n := len(s.Fields())
	if n != len(r.specs) && n != len(r.specs)+1 {
		return errRowShape
	}
	for i, spec := range r.specs {
		want := arrow.FLOAT64
		if spec.Categories > 0 {
			want = arrow.INT32
		}
		if f := s.Field(i); f.Name != spec.Name || f.Type.ID() != want {
			return errRowShape
		}
	}
	r.batch.Columns = make([]Values, len(r.specs))
	if n > len(r.specs) {
		f := s.Field(n - 1)
		role, _ := f.Metadata.GetValue(metaRole)
		if role != roleWeight || f.Type.ID() != arrow.FLOAT64 {
			return errRowShape
		}
	}
	return nil
}

func (r *RowsReader) load(rec arrow.Record) error {
	r.batch.Rows = int(rec.NumRows())
	for i := range r.specs {
		switch a := rec.Column(i).(type) {
		case *array.Float64:
			r.batch.Columns[i] = Values{Float64: a.Float64Values()}
			if a.NullN() > 0 {
				r.batch.Columns[i].Valid = a.NullBitmapBytes()
			}
		case *array.Int32:
			r.batch.Columns[i] = Values{Codes: a.Int32Values()}
			if a.NullN() > 0 {
				r.batch.Columns[i].Valid = a.NullBitmapBytes()
			}
		default:
			return errRowShape
		}
	}
	r.batch.Weights = nil
	if int(rec.NumCols()) > len(r.specs) {
		a, ok := rec.Column(len(r.specs)).(*array.Float64)
		if !ok {
			return errRowShape
		}
		r.batch.Weights = a.Float64Values()
	}
	return nil
}
