package table

import (
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/dprelease/dprelease/internal/table/pagewalk"
)

// vec is one decoded stretch of one column: one slice set, nulls zero.
type vec struct {
	f64   []float64
	i64   []int64
	codes []int32
	dict  *dictionary
	valid []byte // nil: no nulls
	hold  []*buffer

	moved    bool // its values are where the piece's are to be put, and nowhere else
	changed  int64
	picked   bool // it holds the wanted rows of its piece, and no others
	adjusted bool // ScanOptions.Adjust is done with it
	inPlace  bool // the values are the first buffer's own memory
}

func (v *vec) rows() int {
	return max(len(v.f64), len(v.i64), len(v.codes))
}

func (v *vec) release(p *pool) {
	for _, b := range v.hold {
		p.put(b)
	}
	*v = vec{}
}

// chunk is one column chunk of one scan.
type chunk struct {
	r      io.ReaderAt
	leaf   *pagewalk.Leaf
	facts  *pagewalk.Chunk
	layout *pagewalk.Layout
	shape  shape
	marks  marks

	once    sync.Once
	dict    *dictionary
	dictErr error

	whole atomic.Bool // a page was met that has to be unpacked as a whole; the others are taken to be like it
}

// dataAt is the place of the i-th page with rows among the chunk's pages, as pagesOf counts them.
func (c *chunk) dataAt(i int) int {
	if c.layout.Dict != nil {
		i++
	}
	return i
}

var (
	errChecksum = fail(CodeCorrupt, "", "the checksum of a page does not match its bytes")
	errPageRead = fail(CodeUnreadable, "", "a page cannot be read")
	errPageSize = fail(CodeCorrupt, "", "a page does not hold the values it declares")
)

// page decodes one data page. Exactly p.Values rows come out of it, or an error.
func (w *worker) page(c *chunk, p *pagewalk.Page, to mark, out *vec) error {
	data, values, err := w.stream(c, p, to, out)
	if err == errWhole {
		data, values, err = w.body(c, p, to, out)
	}
	if err != nil {
		return err
	}
	n := int(p.Values)
	present := n
	if c.leaf.MaxDef > 0 {
		levels := data[p.RepLen : p.RepLen+p.DefLen]
		if !p.V2 {
			if len(values) < 4 {
				return errPageSize
			}
			size := binary.LittleEndian.Uint32(values)
			if uint64(size) > uint64(len(values)-4) {
				return errPageSize
			}
			levels, values = values[4:4+size], values[4+size:]
			w.prefix = 4 + int(size)
		}
		if !allPresent(levels, n) {
			bitmap := w.pool.get((n + 7) / 8)
			out.hold = append(out.hold, bitmap)
			out.valid = bitmap.bytes()[:(n+7)/8]
			if present, err = decodeLevels(levels, n, out.valid); err != nil {
				return err
			}
			if present == n {
				out.valid = nil
			}
		}
	}
	if p.Nulls >= 0 && present != n-int(p.Nulls) {
		return errPageSize
	}
	if err := w.values(c, p, values, present, n, out); err != nil {
		return err
	}
	if !out.inPlace {
		// The values are elsewhere now; the page's memory can serve the next one.
		w.pool.put(out.hold[0])
		out.hold[0] = nil
	}
	return nil
}

// body reads a page, notes what it read, checks its checksum and unpacks it into a buffer that out holds. data starts
// with the levels of a v2 page; values is what follows them (for v1, everything).
func (w *worker) body(c *chunk, p *pagewalk.Page, to mark, out *vec) (data, values []byte, err error) {
	front := p.Front()
	data = w.room(c, p, out)
	packed := p.Packed && c.facts.Codec != pagewalk.Uncompressed
	src := data
	if packed {
		src = w.scratch(int(p.Stored))
	}
	if err := w.read(c, p, to, src); err != nil {
		return nil, nil, err
	}
	if packed {
		copy(data, src[:front])
		if err := w.unpack.unpack(c.facts.Codec, data[front:], src[front:]); err != nil {
			return nil, nil, err
		}
	}
	return data, data[front:], nil
}

// room is a buffer for an unpacked page, which out holds.
func (w *worker) room(c *chunk, p *pagewalk.Page, out *vec) []byte {
	prefix := p.Front()
	if !p.V2 && c.leaf.MaxDef > 0 {
		prefix = w.prefix // levels are as long as those of the page before, mostly
	}
	shift := -prefix & 7 // then the values begin at a multiple of 8 and need not be moved
	buf := w.pool.get(int(p.Unpacked) + 8)
	out.hold = append(out.hold, buf)
	return buf.bytes()[shift : shift+int(p.Unpacked)]
}

// values decodes the present values of a page and puts zeros in the places of nulls.
func (w *worker) values(c *chunk, p *pagewalk.Page, b []byte, present, n int, out *vec) error {
	if p.Encoding == pagewalk.EncPlainDictionary || p.Encoding == pagewalk.EncRLEDictionary {
		return w.indexed(c, b, present, n, out)
	}
	if c.shape == asCodes {
		return w.texts(c, p, b, present, n, out)
	}
	if c.leaf.Type == pagewalk.Boolean {
		return w.bools(p, b, present, n, out)
	}
	if c.leaf.Type == pagewalk.ByteArray {
		return w.bigDecimals(c, p, b, present, n, out)
	}
	width := c.leaf.Width()
	if p.Encoding != pagewalk.EncPlain {
		var err error
		if b, err = w.library.fixed(c.leaf, p.Encoding, b, present); err != nil {
			return err
		}
	}
	if len(b) != present*width {
		return errPageSize
	}
	if width == 8 && present == n && aligned(b) && (c.leaf.Note.Meaning != pagewalk.Decimal || c.shape == asInt64) {
		return w.inPlace(c, p, b, n, out)
	}
	return w.fill(c.shape, present, n, out, func(v *vec) error {
		if c.shape == asFloat64 {
			return plainFloats(v.f64, b, c.leaf)
		}
		return plainInts(v.i64, b, c.leaf)
	})
}

// inPlace lets the column be the page's own memory.
func (w *worker) inPlace(c *chunk, p *pagewalk.Page, b []byte, n int, out *vec) error {
	if c.shape == asFloat64 {
		out.f64, out.inPlace = viewFloat64(b, n), true
		return nil
	}
	if c.leaf.Type != pagewalk.Int64 {
		return w.fill(asInt64, n, n, out, func(v *vec) error { return plainInts(v.i64, b, c.leaf) })
	}
	out.i64, out.inPlace = viewInt64(b, n), true
	saturate(out.i64, c.leaf)
	return nil
}

// fill makes room for n values, lets decode write the present ones to the front, and moves them to their rows.
func (w *worker) fill(s shape, present, n int, out *vec, decode func(v *vec) error) error {
	switch s {
	case asFloat64:
		buf := w.pool.get(n * 8)
		out.hold = append(out.hold, buf)
		out.f64 = viewFloat64(buf.bytes(), n)
		if err := decode(&vec{f64: out.f64[:present]}); err != nil {
			return err
		}
		spread(out.f64, present, out.valid)
	case asInt64:
		buf := w.pool.get(n * 8)
		out.hold = append(out.hold, buf)
		out.i64 = viewInt64(buf.bytes(), n)
		if err := decode(&vec{i64: out.i64[:present]}); err != nil {
			return err
		}
		spread(out.i64, present, out.valid)
	default:
		buf := w.pool.get(n * 4)
		out.hold = append(out.hold, buf)
		out.codes = viewInt32(buf.bytes(), n)
		if err := decode(&vec{codes: out.codes[:present]}); err != nil {
			return err
		}
		spread(out.codes, present, out.valid)
	}
	return nil
}

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

// bools decodes booleans: plain bits, or runs behind a length.
func (w *worker) bools(p *pagewalk.Page, b []byte, present, n int, out *vec) error {
	bits := b
	if p.Encoding == pagewalk.EncRLE {
		if present > 0 && (len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)-4)) {
			return errPageSize
		}
		bits = make([]byte, (present+7)/8)
		if present > 0 {
			if _, err := decodeLevels(b[4:], present, bits); err != nil {
				return err
			}
		}
	} else if len(b) != (present+7)/8 {
		return errPageSize
	}
	return w.fill(asInt64, present, n, out, func(v *vec) error {
		for i := range v.i64 {
			v.i64[i] = int64(bits[i>>3] >> (i & 7) & 1)
		}
		return nil
	})
}
