package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/dprelease/dprelease/internal/data/table/compact"
	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// The values of columns that Go has no type for.
type (
	ByteArray         []byte
	FixedLenByteArray []byte
	Int96             [12]byte
)

// Type is a physical type.
type Type int

// Types are the physical types.
var Types = struct {
	Boolean, Int32, Int64, Int96, Float, Double, ByteArray, FixedLenByteArray Type
}{0, 1, 2, 3, 4, 5, 6, 7}

// Encoding is the form in which the values of a page are stored.
type Encoding int

// Encodings are the encodings of values.
var Encodings = struct {
	Plain, RLE, DeltaBinaryPacked, DeltaLengthByteArray, DeltaByteArray, RLEDict, ByteStreamSplit Encoding
}{0, 3, 5, 6, 7, 8, 9}

// Codec compresses pages.
type Codec int

func (c Codec) String() string {
	return [...]string{"uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw"}[c]
}

// Codecs are the codecs.
var Codecs = struct{ Uncompressed, Snappy, Gzip, Brotli, Zstd, Lz4Raw Codec }{0, 1, 2, 4, 6, 7}

// Repetition is the rule of a column for nulls.
type Repetition int

// Repetitions are those of flat columns.
var Repetitions = struct{ Required, Optional Repetition }{0, 1}

// Node describes a column.
type Node struct {
	name       string
	repetition Repetition
	typ        Type
	length     int
	note       Annotation
}

// Name returns the name of the column.
func (n Node) Name() string { return n.name }

// Annotation is the meaning of a column's values, in the two ways of the format.
type Annotation struct {
	converted        int // -1: none
	scale, precision int
	logical          *compact.Struct
}

func none() *compact.Struct { return new(compact.Struct) }

// The annotations that have no parameters.
var (
	NoLogicalType      = Annotation{converted: -1}
	StringLogicalType  = Annotation{logical: none().Struct(1, none())}
	DateLogicalType    = Annotation{converted: 6, logical: none().Struct(6, none())}
	UUIDLogicalType    = Annotation{converted: -1, logical: none().Struct(14, none())}
	Float16LogicalType = Annotation{converted: -1, logical: none().Struct(15, none())}
)

// NewDecimalLogicalType makes decimals.
func NewDecimalLogicalType(precision, scale int) Annotation {
	return Annotation{converted: 5, scale: scale, precision: precision, logical: none().Struct(5, none().Int32(1, scale).Int32(2, precision))}
}

// NewTimestampLogicalType makes timestamps.
func NewTimestampLogicalType(utc bool, unit pagewalk.Unit) Annotation {
	converted := map[pagewalk.Unit]int{pagewalk.Millis: 9, pagewalk.Micros: 10, pagewalk.Nanos: -1}[unit]
	return Annotation{converted: converted, logical: none().Struct(8, none().Bool(1, utc).Struct(2, none().Struct(int(unit), none())))}
}

// NewIntLogicalType makes whole numbers of a width.
func NewIntLogicalType(bits int, signed bool) Annotation {
	converted := map[int]int{8: 11, 16: 12, 32: 13, 64: 14}[bits]
	if signed {
		converted += 4
	}
	return Annotation{converted: converted, logical: none().Struct(10, none().Byte(1, int8(bits)).Bool(2, signed))}
}

// NewNode describes a column. length counts for values of a fixed length.
func NewNode(name string, r Repetition, note Annotation, typ Type, length int) Node {
	return Node{name, r, typ, length, note}
}

// Style is the layout of a file.
type Style struct {
	Codec    Codec
	V2       bool  // pages of the second version
	Dict     bool  // dictionaries, where a column asks for no encoding
	PageSize int64 // 0: a megabyte
}

// Column holds the values of a column: a slice of one of the types above or of Go's, without the nulls.
type Column struct {
	Node     Node
	Encoding Encoding // 0 where nothing is asked for
	Values   any
	Valid    []bool // nil: no nulls
	// Bodies are pages that are encoded already and hold equally many rows, in the place of Values.
	Bodies [][]byte
}

// Writer writes a file, a row group at a time.
type Writer struct {
	w      io.Writer
	style  Style
	at     int
	rows   int
	schema []*compact.Struct
	groups []*compact.Struct
	err    error
}

// NewWriter begins a file.
func NewWriter(w io.Writer, s Style, nodes []Node) *Writer {
	out := &Writer{w: w, style: s, schema: []*compact.Struct{none().Int32(3, 1).Text(4, "root").Int32(5, len(nodes))}}
	for _, n := range nodes {
		e := none().Int32(1, int(n.typ))
		if n.typ == Types.FixedLenByteArray {
			e.Int32(2, n.length)
		}
		e.Int32(3, int(n.repetition)).Text(4, n.name)
		if n.note.converted >= 0 {
			e.Int32(6, n.note.converted)
		}
		if n.note.precision > 0 {
			e.Int32(7, n.note.scale).Int32(8, n.note.precision)
		}
		if n.note.logical != nil {
			e.Struct(10, n.note.logical)
		}
		out.schema = append(out.schema, e)
	}
	out.write([]byte("PAR1"))
	return out
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
	w.at += len(b)
}

// Group writes a row group.
func (w *Writer) Group(rows int, columns []Column) error {
	var chunks []*compact.Struct
	start := w.at
	for i := range columns {
		chunks = append(chunks, w.chunk(rows, &columns[i]))
	}
	w.groups = append(w.groups, none().Structs(1, chunks).Int64(2, w.at-start).Int64(3, rows))
	w.rows += rows
	return w.err
}

// Close writes the footer.
func (w *Writer) Close() error {
	f := none().Int32(1, 2).Structs(2, w.schema).Int64(3, w.rows).Structs(4, w.groups).Text(6, "tests").AppendTo(nil)
	w.write(append(binary.LittleEndian.AppendUint32(f, uint32(len(f))), "PAR1"...))
	return w.err
}

// chunk writes the pages of a column, and returns what the footer says about it.
func (w *Writer) chunk(rows int, c *Column) *compact.Struct {
	if c.Bodies != nil {
		at := w.at
		for _, body := range c.Bodies {
			n := rows / len(c.Bodies)
			w.data(c, 0, n, n, c.Encoding, body)
		}
		return w.facts(rows, c, at, at, -1, int(c.Encoding), 3)
	}
	v := valuesOf(c)
	start, dictAt := w.at, -1
	encoding, indices, dict := c.Encoding, []int(nil), []byte(nil)
	if encoding == Encodings.RLEDict || w.style.Dict && encoding == 0 && c.Node.typ != Types.Boolean {
		encoding = Encodings.Plain
		var entries int
		indices, dict, entries = v.dictionary()
		dictAt = w.at
		w.page(dict, nil, func(unpacked, stored int) *compact.Struct {
			return none().Int32(1, 2).Int32(2, unpacked).Int32(3, stored).Struct(7, none().Int32(1, entries).Int32(2, 0))
		})
	}
	dataAt, encodings := w.at, []int{int(encoding), 3}
	if indices != nil {
		encodings = []int{0, 3, 8}
	}
	for from, value := 0, 0; from < rows; {
		to, end := w.cut(rows, c, v, from, value)
		if indices != nil && end <= len(indices) {
			w.data(c, from, to, end-value, Encodings.RLEDict, packIndices(indices[value:end], v.distinct))
		} else { // also what did not fit the dictionary
			w.data(c, from, to, end-value, encoding, v.encode(encoding, value, end))
		}
		from, value = to, end
	}
	return w.facts(rows, c, start, dataAt, dictAt, encodings...)
}

// facts returns what the footer says about a chunk that has been written.
func (w *Writer) facts(rows int, c *Column, start, dataAt, dictAt int, encodings ...int) *compact.Struct {
	meta := none().Int32(1, int(c.Node.typ)).Int32s(2, encodings...).Texts(3, c.Node.name).Int32(4, int(w.style.Codec)).Int64(5, rows).
		Int64(6, w.at-start).Int64(7, w.at-start).Int64(9, dataAt)
	if dictAt >= 0 {
		meta.Int64(11, dictAt)
	}
	return none().Int64(2, 0).Struct(3, meta)
}

// cut returns where a page ends that begins at a row and a value: after a multiple of 64 rows, when it is large enough.
func (w *Writer) cut(rows int, c *Column, v *values, from, value int) (to, end int) {
	limit := w.style.PageSize
	if limit == 0 {
		limit = 1 << 20
	}
	size := int64(0)
	for to, end = from, value; to < rows; {
		if c.Valid == nil || c.Valid[to] {
			size += int64(v.size(end))
			end++
		}
		if to++; (to-from)%64 == 0 && size >= limit {
			break
		}
	}
	return to, end
}

// data writes a data page.
func (w *Writer) data(c *Column, from, to, present int, encoding Encoding, body []byte) {
	var levels []byte
	n := to - from
	if c.Node.repetition == Repetitions.Optional {
		there := make([]uint32, n)
		for i := range there {
			if c.Valid == nil || c.Valid[from+i] {
				there[i] = 1
			}
		}
		levels = packRuns(there, 1)
	}
	if w.style.V2 {
		w.page(body, levels, func(unpacked, stored int) *compact.Struct {
			head := none().Int32(1, n).Int32(2, n-present).Int32(3, n).Int32(4, int(encoding)).Int32(5, len(levels)).Int32(6, 0)
			return none().Int32(1, 3).Int32(2, unpacked).Int32(3, stored).Struct(8, head)
		})
		return
	}
	if c.Node.repetition == Repetitions.Optional {
		body = append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...), body...)
	}
	w.page(body, nil, func(unpacked, stored int) *compact.Struct {
		head := none().Int32(1, n).Int32(2, int(encoding)).Int32(3, 3).Int32(4, 3)
		return none().Int32(1, 0).Int32(2, unpacked).Int32(3, stored).Struct(5, head)
	})
}

// page compresses a body and writes it behind its header. front comes before it as it is.
func (w *Writer) page(body, front []byte, header func(unpacked, stored int) *compact.Struct) {
	stored, err := Compress(w.style.Codec, body)
	if w.err == nil {
		w.err = err
	}
	w.write(header(len(front)+len(body), len(front)+len(stored)).AppendTo(nil))
	w.write(front)
	w.write(stored)
}

// Compress compresses a page.
func Compress(c Codec, b []byte) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	switch c {
	case Codecs.Uncompressed:
		return b, nil
	case Codecs.Snappy:
		return snappy.Encode(nil, b), nil
	case Codecs.Zstd:
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return z.EncodeAll(b, nil), z.Close()
	case Codecs.Lz4Raw:
		dst := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, dst, nil)
		return dst[:n], err
	case Codecs.Gzip:
		w = gzip.NewWriter(&out)
	case Codecs.Brotli:
		w = brotli.NewWriterLevel(&out, 5)
	default:
		return nil, fmt.Errorf("no codec %d", c)
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}
