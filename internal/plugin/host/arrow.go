package host

import (
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Metadata of the row stream: the schema's version and the role of a field.
const (
	metaVersion = "dprelease.rows"
	metaRole    = "dprelease.role"
	roleColumn  = "column"
	roleWeight  = "weight"
)

// arrowWriter writes rows as an Arrow IPC stream. It keeps no reference to a batch
// after Write.
type arrowWriter struct {
	out     io.WriteCloser
	columns []sdk.Column
	schema  *arrow.Schema
	w       *ipc.Writer // nil before the first batch, which decides whether rows have weights
}

func (w *arrowWriter) begin(weights bool) {
	var fields []arrow.Field
	role := func(r string) arrow.Metadata { return arrow.NewMetadata([]string{metaRole}, []string{r}) }
	for _, c := range w.columns {
		f := arrow.Field{Name: c.Name, Type: arrow.PrimitiveTypes.Float64, Nullable: true, Metadata: role(roleColumn)}
		if c.Type == sdk.Category {
			f.Type = arrow.PrimitiveTypes.Int32
		}
		fields = append(fields, f)
	}
	if weights {
		fields = append(fields, arrow.Field{Name: "weight", Type: arrow.PrimitiveTypes.Float64, Metadata: role(roleWeight)})
	}
	meta := arrow.NewMetadata([]string{metaVersion}, []string{"1"})
	w.schema = arrow.NewSchema(fields, &meta)
	w.w = ipc.NewWriter(w.out, ipc.WithSchema(w.schema))
}

// Write writes a batch, which must have passed sdk.Batch.Check, in pieces of at most
// wire.BatchRows rows.
func (w *arrowWriter) Write(b sdk.Batch) error {
	if w.w == nil {
		w.begin(b.Weights != nil)
	}
	for from := 0; from < b.Rows; from += wire.BatchRows {
		if err := w.piece(b, from, min(from+wire.BatchRows, b.Rows)); err != nil {
			return err
		}
	}
	return nil
}

func (w *arrowWriter) piece(b sdk.Batch, from, to int) error {
	var columns []arrow.Array
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	n := to - from
	for i, c := range w.columns {
		v := b.Columns[i]
		if c.Type == sdk.Category {
			codes := v.Codes[from:to]
			columns = append(columns, newArray(arrow.PrimitiveTypes.Int32, n, bitmapOf(codes), arrow.Int32Traits.CastToBytes(codes)))
			continue
		}
		var valid []byte
		if v.Valid != nil {
			valid = v.Valid[from/8 : (to+7)/8]
		}
		columns = append(columns, newArray(arrow.PrimitiveTypes.Float64, n, valid, arrow.Float64Traits.CastToBytes(v.Float64[from:to])))
	}
	if b.Weights != nil {
		columns = append(columns, newArray(arrow.PrimitiveTypes.Float64, n, nil, arrow.Float64Traits.CastToBytes(b.Weights[from:to])))
	}
	record := array.NewRecord(w.schema, columns, int64(n))
	defer record.Release()
	return w.w.Write(record)
}

// Close writes the end of the stream and closes what it goes to.
func (w *arrowWriter) Close() error {
	if w.w == nil {
		w.begin(false)
	}
	if err := w.w.Close(); err != nil {
		return err
	}
	return w.out.Close()
}

func newArray(t arrow.DataType, n int, valid, values []byte) arrow.Array {
	bitmap, nulls := (*memory.Buffer)(nil), 0
	if valid != nil {
		bitmap, nulls = memory.NewBufferBytes(valid), array.UnknownNullCount
	}
	data := array.NewData(t, n, []*memory.Buffer{bitmap, memory.NewBufferBytes(values)}, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// bitmapOf has a bit for each code that is not missing.
func bitmapOf(codes []int32) []byte {
	out := make([]byte, (len(codes)+7)/8)
	for i, c := range codes {
		if c >= 0 {
			out[i>>3] |= 1 << (i & 7)
		}
	}
	return out
}
