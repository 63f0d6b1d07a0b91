package table

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/zeebo/xxh3"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// vec is one decoded piece. One of its slices is set, and nulls are zero.
type vec struct {
	f64   []float64
	i64   []int64
	codes []int32
	dict  *dictionary
	valid []byte // nil: no nulls
	hold  holding

	unread Unread
}

func (v *vec) rows() int {
	return max(len(v.f64), len(v.i64), len(v.codes))
}

// cut leaves the first rows.
func (v *vec) cut(rows int) {
	v.f64, v.i64, v.codes = v.f64[:min(rows, len(v.f64))], v.i64[:min(rows, len(v.i64))], v.codes[:min(rows, len(v.codes))]
}

// zero makes the place of a null hold zero.
func (v *vec) zero(row int) {
	switch {
	case v.f64 != nil:
		v.f64[row] = 0
	case v.i64 != nil:
		v.i64[row] = 0
	case v.codes != nil:
		v.codes[row] = 0
	}
}

// chunk is one column chunk of one scan.
type chunk struct {
	r      io.ReaderAt
	leaf   *pagewalk.Leaf
	facts  *pagewalk.Chunk
	layout *pagewalk.Layout
	shape  shape
	domain map[string]string                   // what the column is compared with, or nil
	note   func(i int, sum xxh3.Uint128) error // nil if nobody wants digests
	shared *shared                             // the dictionary's memory
	dict   *dictionary
}

var (
	errChecksum = fail(CodeCorrupt, "", "the checksum of a page does not match its bytes")
	errPageRead = fail(CodeUnreadable, "", "a page cannot be read")
	errPageSize = fail(CodeCorrupt, "", "a page does not hold the values it declares")
)

// page decodes the at-th page of a chunk, a data page. It returns an error unless the page has exactly p.Values rows.
func (w *worker) page(c *chunk, p *pagewalk.Page, at int, out *vec) error {
	var raw holding // the unpacked page; kept if the values stay in it
	defer func() { raw.release(w.arena) }()
	values, present, err := w.front(c, p, at, &raw, out)
	if err != nil {
		return err
	}
	return w.values(c, p, values, present, int(p.Values), out, &raw)
}

// front unpacks a page and reads its levels. It returns the bytes of the values, and how many there are.
func (w *worker) front(c *chunk, p *pagewalk.Page, at int, raw *holding, out *vec) (values []byte, present int, err error) {
	data, err := w.body(c, p, at, raw)
	if err != nil {
		return nil, 0, err
	}
	return w.levels(c, p, data, out)
}

// levels reads the levels of a page. It returns what of data comes after them, and how many values there are.
func (w *worker) levels(c *chunk, p *pagewalk.Page, data []byte, out *vec) (values []byte, present int, err error) {
	n := int(p.Values)
	present = n
	values = data[p.Front():]
	if c.leaf.MaxDef > 0 {
		levels := data[p.RepLen : p.RepLen+p.DefLen]
		if !p.V2 {
			if len(values) < 4 {
				return nil, 0, errPageSize
			}
			size := binary.LittleEndian.Uint32(values)
			if uint64(size) > uint64(len(values)-4) {
				return nil, 0, errPageSize
			}
			levels, values = values[4:4+size], values[4+size:]
			w.prefix = 4 + int(size)
		}
		if !allPresent(levels, n, c.leaf.MaxDef) {
			if out.valid, err = w.arena.get(&out.hold, (n+7)/8); err != nil {
				return nil, 0, err
			}
			if present, err = decodeLevels(levels, n, c.leaf.MaxDef, out.valid); err != nil {
				return nil, 0, err
			}
			if present == n {
				out.valid = nil
			}
		}
	}
	if p.Nulls >= 0 && present != n-int(p.Nulls) {
		return nil, 0, errPageSize
	}
	return values, present, nil
}

// body reads and unpacks a page. In a v2 page the levels come first.
func (w *worker) body(c *chunk, p *pagewalk.Page, at int, hold *holding) ([]byte, error) {
	front := p.Front()
	prefix := front
	if !p.V2 && c.leaf.MaxDef > 0 {
		prefix = w.prefix // mostly, levels are as long as those of the page before
	}
	shift := -prefix & 7 // so that the values begin at a multiple of 8 and need not move
	room, err := w.arena.get(hold, int(p.Unpacked)+8)
	if err != nil {
		return nil, err
	}
	data := room[shift : shift+int(p.Unpacked)]
	if !p.Packed || c.facts.Codec == pagewalk.Uncompressed {
		return data, w.read(c, p, at, data)
	}
	if c.facts.Codec == pagewalk.Snappy && p.Stored >= p.Unpacked && w.unpackPieces(c, p, at, data) {
		return data, nil
	}
	var stored holding
	defer func() { stored.release(w.arena) }()
	src, err := w.arena.get(&stored, int(p.Stored))
	if err != nil {
		return nil, err
	}
	if err := w.read(c, p, at, src); err != nil {
		return nil, err
	}
	copy(data, src[:front])
	return data, w.unpack.unpack(c.facts.Codec, data[front:], src[front:])
}

// unpackPieces unpacks a page of snappy as it is read, through memory that stays in the core's cache: a page that did not
// become smaller is little else than a copy. Where it returns false, reading the page as a whole says why.
func (w *worker) unpackPieces(c *chunk, p *pagewalk.Page, at int, data []byte) bool {
	if w.pieces == nil {
		w.pieces = bufio.NewReaderSize(nil, segmentBytes)
	}
	front, r := p.Front(), &pageReader{c: c, p: p}
	w.pieces.Reset(r)
	_, err := io.ReadFull(w.pieces, data[:front])
	all := err == nil && beginSnappy(w.pieces, data[front:], len(data)-front) && w.pieces.Buffered() == 0 && r.off == int(p.Stored)
	return all && r.end(at) == nil
}

// read fills dst with a stored page.
func (w *worker) read(c *chunk, p *pagewalk.Page, at int, dst []byte) error {
	r := &pageReader{c: c, p: p}
	if _, err := io.ReadFull(r, dst); err != nil {
		return errPageRead
	}
	return r.end(at)
}

// pageReader reads a stored page piece by piece, and hashes each piece while it is in the core's cache. Whoever reads has
// room for a whole piece, or for the rest.
type pageReader struct {
	c      *chunk
	p      *pagewalk.Page
	off    int
	crc    uint32
	digest digester
}

func (r *pageReader) Read(b []byte) (int, error) {
	b = b[:min(len(b), segmentBytes, int(r.p.Stored)-r.off)]
	if len(b) == 0 {
		return 0, io.EOF
	}
	if _, err := r.c.r.ReadAt(b, r.p.Off+int64(r.off)); err != nil {
		return 0, err
	}
	r.off += len(b)
	if r.p.HasCRC {
		r.crc = crc32.Update(r.crc, crc32.IEEETable, b)
	}
	if r.c.note != nil {
		r.digest.piece(b)
	}
	return len(b), nil
}

// end checks the page, and notes its digest.
func (r *pageReader) end(at int) error {
	if r.p.HasCRC && r.crc != r.p.CRC {
		return errChecksum
	}
	if r.c.note == nil {
		return nil
	}
	return r.c.note(at, r.digest.sum())
}

// values decodes the present values of a page and puts zeros in the places of nulls. hold is the memory of b, which may
// become that of the column.
func (w *worker) values(c *chunk, p *pagewalk.Page, b []byte, present, n int, out *vec, hold *holding) (err error) {
	switch {
	case p.Coded():
		return w.indexed(c, b, present, n, out)
	case c.shape == asCodes:
		return w.texts(c, p, b, present, n, out)
	case c.leaf.Type == pagewalk.Boolean:
		return w.bools(p, b, present, n, out)
	case c.leaf.Type == pagewalk.ByteArray:
		return w.bigDecimals(c, p, b, present, n, out)
	}
	if p.Encoding != pagewalk.EncPlain {
		var made holding
		defer func() { made.release(w.arena) }()
		hold = &made
		if b, err = w.decoded(c.leaf, p.Encoding, b, present, hold); err != nil {
			return err
		}
	}
	if len(b) != present*c.leaf.Width() {
		return errPageSize
	}
	if present == n && aligned(b) {
		switch {
		case c.leaf.Type == pagewalk.Double && c.shape == asFloat64:
			out.f64 = view[float64](b, n)
		case c.leaf.Type == pagewalk.Int64 && c.shape == asInt64:
			out.i64 = view[int64](b, n)
		}
		if out.rows() > 0 {
			out.hold.buffers = append(out.hold.buffers, hold.buffers...)
			hold.buffers = nil
			return nil
		}
	}
	return w.fill(c.shape, present, n, out, func(v *vec) error { return v.plain(b, c.leaf) })
}

// fill makes room for n values, has decode write the present ones to the front, and moves them to their rows.
func (w *worker) fill(s shape, present, n int, out *vec, decode func(v *vec) error) error {
	if err := w.arena.room(s, out, n); err != nil {
		return err
	}
	err := decode(&vec{f64: first(out.f64, present), i64: first(out.i64, present), codes: first(out.codes, present)})
	spread(out.f64, present, out.valid)
	spread(out.i64, present, out.valid)
	spread(out.codes, present, out.valid)
	return err
}

func first[T any](v []T, n int) []T { return v[:min(n, len(v))] }

// spread moves the first present values of v to the rows whose bit is set, in place, from the back.
func spread[T any](v []T, present int, valid []byte) {
	if valid == nil || present == len(v) {
		return
	}
	var zero T
	for i := len(v) - 1; i >= 0; i-- {
		if bitutil.BitIsSet(valid, i) {
			present--
			v[i] = v[present]
		} else {
			v[i] = zero
		}
	}
}

// bools decodes booleans: plain bits, or a length and runs.
func (w *worker) bools(p *pagewalk.Page, b []byte, present, n int, out *vec) error {
	bits := b
	if p.Encoding == pagewalk.EncRLE {
		if present > 0 && (len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)-4)) {
			return errPageSize
		}
		bits = make([]byte, (present+7)/8)
		if present > 0 {
			if _, err := decodeLevels(b[4:], present, 1, bits); err != nil {
				return err
			}
		}
	} else if len(b) != (present+7)/8 {
		return errPageSize
	}
	return w.fill(asInt64, present, n, out, func(v *vec) error {
		readBits(v.i64, bits)
		return nil
	})
}
