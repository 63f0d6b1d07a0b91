package arrow

import (
	"encoding/binary"
	"io"
	"math/bits"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Type is the type of a column. Times and timestamps are in microseconds, and decimals have up to 18 digits.
type Type byte

// The types.
const (
	Int64 Type = iota
	Int32
	Float64
	Bool
	Text
	Date
	Time
	Timestamp
	Decimal
)

// formats holds, for each type, its number in the format and the fields of its table.
var formats = map[Type]struct {
	number byte
	fields []any
}{
	Int64:     {2, []any{int32(64), true}}, // signed
	Int32:     {2, []any{int32(32), true}},
	Float64:   {3, []any{int16(2)}}, // double
	Text:      {5, nil},
	Bool:      {6, nil},
	Decimal:   {7, nil},             // see schema
	Date:      {8, []any{int16(0)}}, // days
	Time:      {9, []any{int16(2), int32(64)}},
	Timestamp: {10, []any{int16(2)}},
}

// Field describes a column.
type Field struct {
	Name     string
	Type     Type
	Scale    int // of a decimal
	Nullable bool
	Metadata []Pair
}

// Pair is a key of metadata and its value.
type Pair struct{ Key, Value string }

// The numbers of the format.
const (
	version  = int16(4) // which the format calls V5
	inSchema = byte(1)
	inBatch  = byte(3)
	magic    = "ARROW1"
	aligned  = 8
)

// Writer writes batches of rows as an Arrow IPC stream or file.
type Writer struct {
	out      io.Writer
	fields   []Field
	metadata []Pair
	isFile   bool
	at       int64
	batches  [][]int64 // of each, its place and the lengths of its message and its body
	err      error     // the first
}

// NewStream begins a stream.
func NewStream(out io.Writer, fields []Field, metadata ...Pair) (*Writer, error) {
	w := &Writer{out: out, fields: fields, metadata: metadata}
	return w.begin()
}

// NewFile begins a file.
func NewFile(out io.Writer, fields []Field) (*Writer, error) {
	w := &Writer{out: out, fields: fields, isFile: true}
	w.write([]byte(magic + "\x00\x00"))
	return w.begin()
}

func (w *Writer) begin() (*Writer, error) {
	b := flatbuffers.NewBuilder(1024)
	w.message(b, inSchema, w.schema(b), 0)
	return w, w.err
}

func (w *Writer) write(b []byte) {
	if w.err == nil && len(b) > 0 {
		_, w.err = w.out.Write(b)
		w.at += int64(len(b))
	}
}

// padding returns the bytes between n bytes and what comes behind them.
func padding(n int) []byte { return make([]byte, -n&(aligned-1)) }

// message writes what stands in front of a message's body, and returns its length.
func (w *Writer) message(b *flatbuffers.Builder, kind byte, header flatbuffers.UOffsetT, body int64) int64 {
	b.Finish(table(b, version, kind, header, body))
	text := b.FinishedBytes()
	text = append(text, padding(len(text))...)
	w.write(append(binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(len(text))), text...))
	return 8 + int64(len(text))
}

// table writes a table with these fields, in their order. It leaves out nil and the offset zero.
func table(b *flatbuffers.Builder, fields ...any) flatbuffers.UOffsetT {
	b.StartObject(len(fields))
	for i, v := range fields {
		switch v := v.(type) {
		case bool:
			b.PrependBool(v)
		case byte:
			b.PrependByte(v)
		case int16:
			b.PrependInt16(v)
		case int32:
			b.PrependInt32(v)
		case int64:
			b.PrependInt64(v)
		case flatbuffers.UOffsetT:
			b.PrependUOffsetTSlot(i, v, 0)
			continue
		default:
			continue
		}
		b.Slot(i)
	}
	return b.EndObject()
}

// tables writes a vector of tables.
func tables(b *flatbuffers.Builder, of []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(of), 4)
	for i := len(of) - 1; i >= 0; i-- {
		b.PrependUOffsetT(of[i])
	}
	return b.EndVector(len(of))
}

// numbers writes a vector of structures of so many numbers.
func numbers(b *flatbuffers.Builder, each int, of [][]int64) flatbuffers.UOffsetT {
	b.StartVector(8*each, len(of), 8)
	for i := len(of) - 1; i >= 0; i-- {
		for k := each - 1; k >= 0; k-- {
			b.PrependInt64(of[i][k])
		}
	}
	return b.EndVector(len(of))
}

func (w *Writer) schema(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	var fields []flatbuffers.UOffsetT
	for _, f := range w.fields {
		format := formats[f.Type]
		if f.Type == Decimal {
			format.fields = []any{int32(18), int32(f.Scale), int32(128)}
		}
		name, typ, children, metadata := b.CreateString(f.Name), table(b, format.fields...), tables(b, nil), pairs(b, f.Metadata)
		fields = append(fields, table(b, name, f.Nullable, format.number, typ, nil, children, metadata))
	}
	columns, metadata := tables(b, fields), pairs(b, w.metadata)
	return table(b, nil, columns, metadata)
}

func pairs(b *flatbuffers.Builder, of []Pair) flatbuffers.UOffsetT {
	if len(of) == 0 {
		return 0
	}
	var all []flatbuffers.UOffsetT
	for _, p := range of {
		key, value := b.CreateString(p.Key), b.CreateString(p.Value)
		all = append(all, table(b, key, value))
	}
	return tables(b, all)
}

// missing counts the rows without a value.
func missing(valid []byte, rows int) (n int) {
	for i := 0; valid != nil && i < rows; i += 8 {
		n += bits.OnesCount8(^valid[i/8] & (1<<min(8, rows-i) - 1))
	}
	return n
}

// Write writes a batch of rows. A bitmap without a missing value is left out.
func (w *Writer) Write(rows int, columns []Column) error {
	var nodes, places [][]int64
	var body [][]byte
	for _, c := range columns {
		n := missing(c[0], rows)
		nodes = append(nodes, []int64{int64(rows), int64(n)})
		if body = append(body, c...); n == 0 {
			body[len(body)-len(c)] = nil
		}
	}
	size := int64(0)
	for _, part := range body {
		places = append(places, []int64{size, int64(len(part))})
		size += int64(len(part) + len(padding(len(part))))
	}
	b := flatbuffers.NewBuilder(1024)
	header := table(b, int64(rows), numbers(b, 2, nodes), numbers(b, 2, places))
	at := w.at
	w.batches = append(w.batches, []int64{at, w.message(b, inBatch, header, size), size})
	for _, part := range body {
		w.write(part)
		w.write(padding(len(part)))
	}
	return w.err
}

// Close writes the end, and of a file its footer. It does not close what it writes to.
func (w *Writer) Close() error {
	w.write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	if !w.isFile {
		return w.err
	}
	b := flatbuffers.NewBuilder(1024)
	// The format has 32 bits for the length of a message, and 32 without a meaning behind them: together they are a number here.
	b.Finish(table(b, version, w.schema(b), numbers(b, 3, nil), numbers(b, 3, w.batches)))
	footer := b.FinishedBytes()
	w.write(footer)
	w.write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), magic...))
	return w.err
}
