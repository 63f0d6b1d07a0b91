package wire

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// RowsReader reads what a RowsWriter wrote.
type RowsReader struct {
	src     *frames
	specs   []ColumnSpec
	started bool
	weights bool
	body    *memory.Buffer // of the batch
	batch   Batch
	err     error
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
	r.release()
	r.src.Release()
	if r.err == nil {
		r.err = io.ErrClosedPipe
	}
}

func (r *RowsReader) release() {
	if r.body != nil {
		r.body.Release()
		r.body = nil
	}
}

func (r *RowsReader) next() error {
	if !r.started {
		if err := r.start(); err != nil {
			return err
		}
	}
	r.release()
	meta, size, err := r.src.head()
	if err != nil {
		return frameError(err)
	}
	if r.body, err = r.src.body(size); err != nil {
		return frameError(err)
	}
	return r.load(meta, r.body.Bytes())
}

func frameError(err error) error {
	if err == io.EOF {
		return err
	}
	return fmt.Errorf("row stream: %w", err)
}

// start reads the schema, with the library's reader.
func (r *RowsReader) start() error {
	rd, err := ipc.NewReaderFromMessageReader(r.src, ipc.WithAllocator(r.src.mem))
	if err != nil {
		return fmt.Errorf("row stream: cannot read its schema: %w", err)
	}
	defer rd.Release()
	r.started = true
	return r.checkSchema(rd.Schema())
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
		r.weights = true
	}
	return nil
}

// load looks at a batch where it lies.
func (r *RowsReader) load(meta, body []byte) error {
	columns := len(r.specs)
	if r.weights {
		columns++
	}
	b, err := parseBatch(meta, columns)
	if err != nil {
		return err
	}
	r.batch.Rows, r.batch.Weights = b.rows, nil
	for i := range columns {
		width := 8
		if i < len(r.specs) && r.specs[i].Categories > 0 {
			width = 4
		}
		values, valid, err := b.column(i, width, body)
		if err != nil {
			return err
		}
		switch {
		case i == len(r.specs):
			r.batch.Weights = arrow.Float64Traits.CastFromBytes(values)
		case width == 4:
			r.batch.Columns[i] = Values{Codes: arrow.Int32Traits.CastFromBytes(values), Valid: valid}
		default:
			r.batch.Columns[i] = Values{Float64: arrow.Float64Traits.CastFromBytes(values), Valid: valid}
		}
	}
	return nil
}
