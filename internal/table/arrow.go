package table

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/dprelease/dprelease/internal/table/pagewalk"
)

// arrowFile is an Arrow IPC file or stream. Its batches' descriptions are read and checked when it is opened; their
// bodies only when rows are wanted.
type arrowFile struct {
	opened
	schema  *arrowSchema
	cols    []Column
	batches []*arrowBatch
	latest  map[int64]*arrowDict // while opening: the dictionary in force for each id
}

const (
	arrowMagic     = "ARROW1"
	maxArrowParts  = 1 << 19 // batches times columns
	maxDictUpdates = 4096
)

// arrowStart says whether a file of this size can begin like this: with the magic of a file, or with the length of a
// stream's first message, which older writers put without a mark before it.
func arrowStart(head []byte, size int64) bool {
	if len(head) < 8 || string(head[:len(arrowMagic)]) == arrowMagic {
		return true // too short to say; openArrow says so
	}
	length := int32(binary.LittleEndian.Uint32(head))
	return length == -1 || length >= 0 && int64(length) <= size && length <= maxMessageMeta
}

func openArrow(ctx context.Context, base opened) (*arrowFile, error) {
	f := &arrowFile{opened: base, latest: make(map[int64]*arrowDict)}
	var head [8]byte
	if n, _ := base.f.ReadAt(head[:], 0); n < 8 {
		return nil, fail(CodeCorrupt, "", "too short to be an arrow file")
	}
	var err error
	if string(head[:6]) == arrowMagic {
		err = f.readFooter(ctx)
	} else {
		err = f.readStream(ctx)
	}
	f.latest = nil
	if err != nil {
		return nil, err
	}
	var rows int64
	for _, b := range f.batches {
		if b.rows > math.MaxInt64-rows {
			return nil, errMessage
		}
		rows += b.rows
	}
	// As for Parquet: columns without buffers, or compressed ones, could declare any number of rows in a few bytes.
	if lim := pagewalk.DefaultLimits(); rows > lim.FreeRows && (rows-lim.FreeRows)/lim.RowsPerByte > f.size {
		return nil, fail(CodeLimit, "", "the file declares far more rows than its bytes can plausibly hold")
	}
	return f, nil
}

func (f *arrowFile) setSchema(h flat, version int16) (err error) {
	if f.schema, err = readArrowSchema(h, version); err != nil {
		return err
	}
	for _, field := range f.schema.fields {
		f.cols = append(f.cols, field.column)
	}
	return nil
}

// readStream walks the messages of a stream. It must end with its end marker: without one, a stream that was cut
// between two batches would look whole.
func (f *arrowFile) readStream(ctx context.Context) error {
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if off == f.size && f.schema != nil {
			return fail(CodeCorrupt, "", "the arrow stream ends without its end marker; it was cut short or never closed")
		}
		m, ok, err := readMessage(f.f, off, f.size)
		if err != nil {
			return err
		}
		if !ok {
			if f.schema == nil || m.end != f.size {
				return fail(CodeCorrupt, "", "not an arrow stream, or bytes follow its end marker")
			}
			return nil
		}
		if err := f.add(&m); err != nil {
			return err
		}
		off = m.end
	}
}

// add takes in one message of a stream.
func (f *arrowFile) add(m *message) error {
	kind, h, err := m.header()
	if err != nil {
		return err
	}
	switch {
	case kind == headerSchema && f.schema == nil:
		return f.setSchema(h, m.version())
	case kind == headerDictionary && f.schema != nil:
		return f.addDictionary(m, h)
	case kind == headerBatch && f.schema != nil:
		return f.addBatch(m, h)
	}
	return fail(CodeCorrupt, "", "an arrow message of a kind that does not belong where it is")
}

func (f *arrowFile) addBatch(m *message, h flat) error {
	b, err := readBatch(h, m.body, m.size, f.schema.fields)
	if err != nil {
		return err
	}
	b.dicts = make([]*arrowDict, len(f.schema.fields))
	for i := range f.schema.fields {
		field := &f.schema.fields[i]
		if !field.hasDict || !field.column.Usable {
			continue
		}
		if b.dicts[i] = f.latest[field.dict]; b.dicts[i] == nil && b.rows > b.columns[i].nulls {
			return fail(CodeCorrupt, "", "a record batch refers to a dictionary that is not there")
		}
	}
	f.batches = append(f.batches, b)
	if len(f.batches)*(len(f.schema.fields)+1) > maxArrowParts {
		return fail(CodeLimit, "", "the file has too many record batches")
	}
	return nil
}

func (f *arrowFile) columns() []Column { return f.cols }

func (f *arrowFile) groups() []int64 {
	rows := make([]int64, len(f.batches))
	for i, b := range f.batches {
		rows[i] = b.rows
	}
	return rows
}

// verify has nothing left to do: opening checked every batch.
func (f *arrowFile) verify(ctx context.Context, _ []int, _ int) error { return ctx.Err() }

// sources returns one lane for each column. A batch that is not compressed is read in pieces of a block each; a
// compressed one has to be unpacked whole.
func (f *arrowFile) sources(cols []int, base int64, _ *Content) []source {
	out := make([]source, len(cols))
	cache := &dictCache{}
	for i, col := range cols {
		out[i] = source{cols: []int{i}, pieces: func(yield func(*piece) bool) {
			first := base
			for _, b := range f.batches {
				step := b.rows
				if b.codec == codecNone && !f.schema.fields[col].store.view {
					step = blockRows
				}
				for from := int64(0); from < b.rows; from += step {
					n := min(step, b.rows-from)
					if !yield(f.piece(col, b, first+from, from, n, cache)) {
						return
					}
				}
				first += b.rows
			}
		}}
	}
	return out
}

func (f *arrowFile) piece(col int, b *arrowBatch, first, from, n int64, cache *dictCache) *piece {
	field := &f.schema.fields[col]
	p := &piece{first: first, rows: int(n), cost: n * 9, light: field.store.shape != asCodes && !field.hasDict}
	if field.store.typ != arrowInt {
		p.cost += n * int64(field.store.width)
	}
	for _, e := range b.columns[col].parts {
		p.cost += e.size * n / max(b.rows, 1)
	}
	p.decode = func(w *worker, p *piece) error {
		p.data = make([]vec, 1)
		d := arrowDecoder{w: w, file: f, field: field, batch: b, column: &b.columns[col], dict: b.dicts[col], cache: cache, out: &p.data[0]}
		err := guarded(func() error { return d.decode(from, int(n)) })
		return about(err, f.path, "column "+field.column.Name)
	}
	return p
}
