package host

import (
	"io"

	"github.com/dprelease/dprelease/internal/data/arrow"
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
	w       *arrow.Writer // nil before the first batch, which decides whether rows have weights
}

func (w *arrowWriter) begin(weights bool) (err error) {
	var fields []arrow.Field
	for _, c := range w.columns {
		f := arrow.Field{Name: c.Name, Type: arrow.Float64, Nullable: true, Metadata: []arrow.Pair{{Key: metaRole, Value: roleColumn}}}
		if c.Type == sdk.Category {
			f.Type = arrow.Int32
		}
		fields = append(fields, f)
	}
	if weights {
		fields = append(fields, arrow.Field{Name: "weight", Type: arrow.Float64, Metadata: []arrow.Pair{{Key: metaRole, Value: roleWeight}}})
	}
	w.w, err = arrow.NewStream(w.out, fields, arrow.Pair{Key: metaVersion, Value: "1"})
	return err
}

// Write writes a batch, which must have passed sdk.Batch.Check, in pieces of at most
// wire.BatchRows rows.
func (w *arrowWriter) Write(b sdk.Batch) error {
	if w.w == nil {
		if err := w.begin(b.Weights != nil); err != nil {
			return err
		}
	}
	for from := 0; from < b.Rows; from += wire.BatchRows {
		if err := w.piece(b, from, min(from+wire.BatchRows, b.Rows)); err != nil {
			return err
		}
	}
	return nil
}

func (w *arrowWriter) piece(b sdk.Batch, from, to int) error {
	var columns []arrow.Column
	for i, c := range w.columns {
		v := b.Columns[i]
		if c.Type == sdk.Category {
			codes := v.Codes[from:to]
			columns = append(columns, arrow.Column{bitmapOf(codes), wire.Raw(codes)})
			continue
		}
		var valid []byte
		if v.Valid != nil {
			valid = v.Valid[from/8 : (to+7)/8]
		}
		columns = append(columns, arrow.Column{valid, wire.Raw(v.Float64[from:to])})
	}
	if b.Weights != nil {
		columns = append(columns, arrow.Column{nil, wire.Raw(b.Weights[from:to])})
	}
	return w.w.Write(to-from, columns)
}

// Close writes the end of the stream and closes what it goes to.
func (w *arrowWriter) Close() error {
	if w.w == nil {
		if err := w.begin(false); err != nil {
			return err
		}
	}
	if err := w.w.Close(); err != nil {
		return err
	}
	return w.out.Close()
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
