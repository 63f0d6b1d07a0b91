package table

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"github.com/klauspost/compress/snappy"

	"github.com/dprelease/dprelease/internal/data/table/compact"
	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
	"github.com/dprelease/dprelease/plugins/columns"
)

// A release has one row group. Its pages are of the first version, plain and compressed with snappy, and of about a
// megabyte, which every reader reads.
const (
	releasePageBytes = 1 << 20
	releasePageRows  = 1 << 16
)

const parquetMagic = "PAR1"

// parquetWriter writes the columns of a release, one after the other.
type parquetWriter struct {
	buf    *bytes.Buffer
	schema []*compact.Struct
	chunks []*compact.Struct
	bytes  int // of all pages, unpacked
}

// WriteParquet writes a release as a Parquet file with one row group, compressed with snappy. Columns with missing values
// are optional, and others required.
func WriteParquet(to io.Writer, r Release) error {
	rows, err := r.rows()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	w := &parquetWriter{buf: &buf, schema: []*compact.Struct{new(compact.Struct).Text(4, "schema").Int32(5, len(r.Columns))}}
	buf.WriteString(parquetMagic)
	for i := range r.Columns {
		w.column(&r.Columns[i], rows)
	}
	var groups []*compact.Struct
	if rows > 0 {
		groups = append(groups, new(compact.Struct).Structs(1, w.chunks).Int64(2, w.bytes).Int64(3, rows))
	}
	footer := new(compact.Struct).Int32(1, 2).Structs(2, w.schema).Int64(3, rows).Structs(4, groups).Text(6, "dprelease").AppendTo(nil)
	buf.Write(footer)
	buf.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	buf.WriteString(parquetMagic)
	_, err = to.Write(buf.Bytes())
	return err
}

// column writes the pages of a column and notes what the footer says about it.
func (w *parquetWriter) column(c *columns.Column, rows int) {
	typ := pagewalk.ByteArray
	switch {
	case c.Float64 != nil:
		typ = pagewalk.Double
	case c.Int64 != nil:
		typ = pagewalk.Int64
	}
	element := new(compact.Struct).Int32(1, int(typ))
	if c.Blank != nil {
		element.Int32(3, 1)
	} else {
		element.Int32(3, 0)
	}
	element.Text(4, c.Name)
	if typ == pagewalk.ByteArray { // text, in both of the ways to say it
		element.Int32(6, 0).Struct(10, new(compact.Struct).Struct(1, new(compact.Struct)))
	}
	w.schema = append(w.schema, element)
	start, before := w.buf.Len(), w.bytes
	var values []byte
	first := 0
	for i := range rows {
		if !c.Hidden(i) {
			switch typ {
			case pagewalk.Double:
				values = binary.LittleEndian.AppendUint64(values, math.Float64bits(c.Float64[i]))
			case pagewalk.Int64:
				values = binary.LittleEndian.AppendUint64(values, uint64(c.Int64[i]))
			default:
				values = append(binary.LittleEndian.AppendUint32(values, uint32(len(c.Texts[i]))), c.Texts[i]...)
			}
		}
		if n := i + 1 - first; i+1 == rows || n == releasePageRows || len(values) >= releasePageBytes {
			w.page(c.Blank, first, n, values)
			values, first = values[:0], i+1
		}
	}
	meta := new(compact.Struct).Int32(1, int(typ)).Int32s(2, pagewalk.EncPlain, pagewalk.EncRLE).Texts(3, c.Name).Int32(4, pagewalk.Snappy).
		Int64(5, rows).Int64(6, w.bytes-before).Int64(7, w.buf.Len()-start).Int64(9, start)
	w.chunks = append(w.chunks, new(compact.Struct).Int64(2, 0).Struct(3, meta))
}

// page writes a page of n rows: the levels, which say which rows have a value, and the values.
func (w *parquetWriter) page(blank []bool, first, n int, values []byte) {
	body := values
	if blank != nil {
		bits := make([]byte, (n+7)/8)
		for i, hidden := range blank[first : first+n] {
			if !hidden {
				bits[i/8] |= 1 << (i % 8)
			}
		}
		levels := append(binary.AppendUvarint(nil, uint64(len(bits))<<1|1), bits...) // one run of bits
		body = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
		body = append(body, values...)
	}
	stored := snappy.Encode(nil, body)
	data := new(compact.Struct).Int32(1, n).Int32(2, pagewalk.EncPlain).Int32(3, pagewalk.EncRLE).Int32(4, pagewalk.EncRLE)
	header := new(compact.Struct).Int32(1, 0).Int32(2, len(body)).Int32(3, len(stored)).Struct(5, data).AppendTo(nil)
	w.buf.Write(header)
	w.buf.Write(stored)
	w.bytes += len(header) + len(body)
}
