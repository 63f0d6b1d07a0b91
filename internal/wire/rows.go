package wire

import (
	"errors"
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
	framing *framing       // what Room reckons with
	begun   bool           // the schema was written, or room was kept for it
	written bool           // it was written
	heads   map[int][]byte // what stands in front of so many values that are in their place
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
	if done, err := w.headOnly(b, at, n); done || err != nil {
		return err
	}
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
	w.begun = true
	rec := array.NewRecord(w.schema, cols, int64(n))
	defer rec.Release()
	if err := w.w.Write(rec); err != nil {
		return err
	}
	w.written = true
	return w.flush()
}

// flush tells the destination that a message has ended, if it wants to know.
func (w *RowsWriter) flush() error {
	if f, ok := w.out.(flusher); ok {
		return f.Flush()
	}
	return nil
}

// Close writes the end of the stream. It does not close the underlying writer.
func (w *RowsWriter) Close() error {
	if w.w == nil {
		w.start(false)
	}
	if err := w.w.Close(); err != nil {
		return err
	}
	return w.flush()
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

// IsBadBatch reports whether err says that a batch that was to be written was not
// well formed, and not that it could not be written.
func IsBadBatch(err error) bool { return errors.Is(err, errRowShape) || errors.Is(err, errRowCode) }
