package wire

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// ColumnSpec is one column of the row stream.
type ColumnSpec struct {
	Name string
	// Categories is the size of the domain of a category column, 0 for a number.
	Categories int
}

// Values holds some rows of one column: Float64 for a number, Codes (-1 where
// missing) for a category. Valid is the bitmap of a number column, least
// significant bit first, nil where all are valid.
type Values struct {
	Float64 []float64
	Codes   []int32
	Valid   []byte
}

// Batch is some rows. Weights is nil where all rows weigh the same.
type Batch struct {
	Rows    int
	Columns []Values
	Weights []float64
}

// Metadata of the row stream: the schema's version and the role of a field.
const (
	metaVersion = "dprelease.rows"
	metaRole    = "dprelease.role"
	roleColumn  = "column"
	roleWeight  = "weight"
)

var (
	errRowShape = errors.New("rows do not have the shape of the plan's columns")
	errRowCode  = errors.New("a category code is outside its domain")
)

// RowsWriter writes rows as an Arrow IPC stream. It keeps no reference to the
// slices after Write, and does not copy them where it need not.
type RowsWriter struct {
	out     io.Writer
	specs   []ColumnSpec
	schema  *arrow.Schema
	w       *ipc.Writer
	weights bool
	bitmaps [][]byte
}

// NewRowsWriter returns a writer of these columns. Whether the rows carry weights
// is decided by the first batch.
func NewRowsWriter(out io.Writer, specs []ColumnSpec) *RowsWriter {
	return &RowsWriter{out: out, specs: specs, bitmaps: make([][]byte, len(specs))}
}

func (w *RowsWriter) start(weights bool) {
	var fields []arrow.Field
	role := func(r string) arrow.Metadata { return arrow.NewMetadata([]string{metaRole}, []string{r}) }
	for _, s := range w.specs {
		f := arrow.Field{Name: s.Name, Type: arrow.PrimitiveTypes.Float64, Nullable: true, Metadata: role(roleColumn)}
		if s.Categories > 0 {
			f.Type = arrow.PrimitiveTypes.Int32
		}
		fields = append(fields, f)
	}
	if weights {
		fields = append(fields, arrow.Field{Name: "weight", Type: arrow.PrimitiveTypes.Float64, Metadata: role(roleWeight)})
	}
	meta := arrow.NewMetadata([]string{metaVersion}, []string{"1"})
	w.schema, w.weights = arrow.NewSchema(fields, &meta), weights
	w.w = ipc.NewWriter(w.out, ipc.WithSchema(w.schema))
}

// Write writes a batch, cut into pieces of at most BatchRows rows.
func (w *RowsWriter) Write(b Batch) error {
	if err := w.check(b); err != nil {
		return err
	}
	if w.w == nil {
		w.start(b.Weights != nil)
	}
	for at := 0; at < b.Rows; at += BatchRows {
		if err := w.piece(b, at, min(BatchRows, b.Rows-at)); err != nil {
			return err
		}
	}
	return nil
}

func (w *RowsWriter) check(b Batch) error {
	if b.Rows < 0 || len(b.Columns) != len(w.specs) || (b.Weights != nil && len(b.Weights) != b.Rows) ||
		(w.w != nil && b.Rows > 0 && w.weights != (b.Weights != nil)) {
		return errRowShape
	}
	for i, s := range w.specs {
		v := b.Columns[i]
		if s.Categories == 0 {
			if len(v.Float64) != b.Rows || v.Codes != nil || (v.Valid != nil && len(v.Valid) < (b.Rows+7)/8) {
				return errRowShape
			}
			continue
		}
		if len(v.Codes) != b.Rows || v.Float64 != nil || v.Valid != nil {
			return errRowShape
		}
		for _, c := range v.Codes {
			if c < -1 || int(c) >= s.Categories {
				return errRowCode
			}
		}
	}
	return nil
}

func (w *RowsWriter) piece(b Batch, at, n int) error {
	cols := make([]arrow.Array, 0, len(w.specs)+1)
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, s := range w.specs {
		v := b.Columns[i]
		if s.Categories > 0 {
			codes := v.Codes[at : at+n]
			w.bitmaps[i] = codesBitmap(w.bitmaps[i], codes)
			cols = append(cols, makeArray(arrow.PrimitiveTypes.Int32, n, w.bitmaps[i], arrow.Int32Traits.CastToBytes(codes)))
			continue
		}
		var valid []byte
		if v.Valid != nil {
			valid = v.Valid[at/8 : at/8+(n+7)/8]
		}
		cols = append(cols, makeArray(arrow.PrimitiveTypes.Float64, n, valid, arrow.Float64Traits.CastToBytes(v.Float64[at:at+n])))
	}
	if w.weights {
		cols = append(cols, makeArray(arrow.PrimitiveTypes.Float64, n, nil, arrow.Float64Traits.CastToBytes(b.Weights[at:at+n])))
	}
	rec := array.NewRecord(w.schema, cols, int64(n))
	defer rec.Release()
	return w.w.Write(rec)
}

// Close writes the end of the stream. It does not close the underlying writer.
func (w *RowsWriter) Close() error {
	if w.w == nil {
		w.start(false)
	}
	return w.w.Close()
}

func makeArray(t arrow.DataType, n int, valid, values []byte) arrow.Array {
	bitmap := (*memory.Buffer)(nil)
	nulls := 0
	if valid != nil {
		bitmap, nulls = memory.NewBufferBytes(valid), array.UnknownNullCount
	}
	data := array.NewData(t, n, []*memory.Buffer{bitmap, memory.NewBufferBytes(values)}, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// codesBitmap clears the bits of missing codes; it returns an unused nil where
// there is none.
func codesBitmap(buf []byte, codes []int32) []byte {
	or := int32(0)
	for _, c := range codes {
		or |= c
	}
	if or >= 0 {
		return nil
	}
	need := (len(codes) + 7) / 8
	if cap(buf) < need {
		buf = make([]byte, BatchRows/8)
	}
	buf = buf[:need]
	clear(buf)
	for i, c := range codes {
		if c >= 0 {
			buf[i>>3] |= 1 << (i & 7)
		}
	}
	return buf
}

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

// IsBadBatch reports whether err says that a batch that was to be written was not
// well formed, and not that it could not be written.
func IsBadBatch(err error) bool { return errors.Is(err, errRowShape) || errors.Is(err, errRowCode) }
