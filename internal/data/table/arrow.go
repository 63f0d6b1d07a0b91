package table

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"sync"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// arrowFile is an Arrow IPC file or stream. Opening it reads and checks the descriptions of the batches. Scans read their
// bodies.
type arrowFile struct {
	opened
	fields  []arrowField
	cols    []Column
	batches []*arrowBatch
	latest  map[int64]*arrowDict // while opening: the dictionary in force for each id

	mu sync.Mutex // guards what verify finds out
}

const (
	arrowMagic     = "ARROW1"
	maxArrowParts  = 1 << 19 // batches times columns
	maxDictUpdates = 4096
	maxMessageMeta = 64 << 20
)

var (
	errMessage  = fail(CodeCorrupt, "", "an arrow message does not fit the file")
	errSchema   = fail(CodeCorrupt, "", "the arrow file has no schema, or states two that differ")
	errArrowEnd = fail(CodeCorrupt, "", "the file does not end as an arrow file must; it was cut short or never closed")
)

// arrowStart reports whether an Arrow file of this size can begin so: with the magic of a file, or with the length of a
// stream's first message, before which older writers put no mark.
func arrowStart(head []byte, size int64) bool {
	if len(head) < 8 || string(head[:len(arrowMagic)]) == arrowMagic {
		return true // openArrow says what is wrong with a short file
	}
	length := int32(binary.LittleEndian.Uint32(head))
	return length == -1 || length >= 0 && int64(length) <= size && length <= maxMessageMeta
}

func openArrow(ctx context.Context, base opened) (*arrowFile, error) {
	f := &arrowFile{opened: base, latest: map[int64]*arrowDict{}}
	var head [8]byte
	if n, _ := base.f.ReadAt(head[:], 0); n < 8 {
		return nil, fail(CodeCorrupt, "", "too short to be an arrow file")
	}
	read := f.readStream
	if string(head[:6]) == arrowMagic {
		read = f.readFile
	}
	if err := read(ctx); err != nil {
		return nil, err
	}
	f.latest = nil
	var rows int64
	for _, b := range f.batches {
		if b.rows > math.MaxInt64-rows {
			return nil, errMessage
		}
		rows += b.rows
	}
	if pagewalk.TooManyRows(rows, f.size) {
		return nil, fail(CodeLimit, "", "the file declares far more rows than its bytes can plausibly hold")
	}
	return f, nil
}

// message is one IPC message: its metadata, and the places of its start, body and end.
type message struct {
	meta []byte
	off  int64
	body int64
	size int64 // of the body
	end  int64
}

const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

// readMessage reads the metadata of the message at off. The last message must end at limit. ok is false at the end marker.
func readMessage(r io.ReaderAt, off, limit int64) (m message, ok bool, err error) {
	var head [8]byte
	m.off = off
	if limit-off < 4 {
		return m, false, errMessage
	}
	if _, err := r.ReadAt(head[:min(8, limit-off)], off); err != nil {
		return m, false, fail(CodeUnreadable, "", "a message cannot be read")
	}
	size := int64(int32(binary.LittleEndian.Uint32(head[:])))
	off += 4
	if size == -1 {
		if limit-off < 4 {
			return m, false, errMessage
		}
		size = int64(int32(binary.LittleEndian.Uint32(head[4:])))
		off += 4
	}
	if size == 0 {
		m.end = off
		return m, false, nil
	}
	if size < 8 || size > limit-off {
		return m, false, errMessage
	}
	if size > maxMessageMeta {
		return m, false, fail(CodeLimit, "", "the description of an arrow message is too long")
	}
	m.meta = make([]byte, size)
	if _, err := r.ReadAt(m.meta, off); err != nil {
		return m, false, fail(CodeUnreadable, "", "a message cannot be read")
	}
	m.body = off + size
	m.size = flatRoot(m.meta).int64(3)
	if m.size < 0 || m.size > limit-m.body {
		return m, false, errMessage
	}
	m.end = m.body + m.size
	return m, true, nil
}

// header returns the union in a message and its number.
func (m *message) header() (byte, flat, error) {
	root := flatRoot(m.meta)
	h, ok := root.table(2)
	if !ok {
		return 0, flat{}, errMessage
	}
	return root.byte(1), h, nil
}

// messages visits the messages between two places. marked says that an end marker follows them.
func (f *arrowFile) messages(ctx context.Context, off, end int64,
	visit func(m *message, kind byte, h flat) error) (marked bool, err error) {
	for off < end {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		m, ok, err := readMessage(f.f, off, end)
		switch {
		case err != nil:
			return false, err
		case !ok && m.end != end:
			return false, fail(CodeCorrupt, "", "the messages of the arrow file end before the file does; several files in one are not read")
		case !ok:
			return true, nil
		}
		kind, h, err := m.header()
		if err == nil {
			err = visit(&m, kind, h)
		}
		if err != nil {
			return false, err
		}
		off = m.end
	}
	return false, nil
}

func (f *arrowFile) setSchema(h flat, version int16) (err error) {
	f.fields, err = readArrowSchema(h, version)
	for i := range f.fields {
		f.cols = append(f.cols, f.fields[i].column)
	}
	return err
}

// readStream reads a stream. It insists on the end marker, because a stream that was cut between two batches looks whole.
func (f *arrowFile) readStream(ctx context.Context) error {
	begun := false
	marked, err := f.messages(ctx, 0, f.size, func(m *message, kind byte, h flat) error {
		switch {
		case begun:
			return f.add(m, kind, h, false)
		case kind != headerSchema:
			return errSchema
		}
		begun = true
		return f.setSchema(h, flatRoot(m.meta).int16(0, 0))
	})
	switch {
	case err != nil:
		return err
	case !begun:
		return errSchema
	case !marked:
		return fail(CodeCorrupt, "", "the arrow stream ends without its end marker; it was cut short or never closed")
	}
	return nil
}

// readFile reads the file format. Footer and messages must agree: a footer that points elsewhere, such as the last one
// of several files in one, would give the rows of another file.
func (f *arrowFile) readFile(ctx context.Context) error {
	var tail [10]byte
	if f.size < 8+10+8 {
		return fail(CodeCorrupt, "", "too short to be an arrow file")
	}
	if _, err := f.f.ReadAt(tail[:], f.size-10); err != nil {
		return fail(CodeUnreadable, "", "the end of the file cannot be read")
	}
	n := int64(int32(binary.LittleEndian.Uint32(tail[:])))
	if string(tail[4:]) != arrowMagic || n <= 8 || n > f.size-10-8 {
		return errArrowEnd
	}
	if n > maxMessageMeta {
		return fail(CodeLimit, "", "the footer is too long")
	}
	b := make([]byte, n)
	start := f.size - 10 - n
	if _, err := f.f.ReadAt(b, start); err != nil {
		return fail(CodeUnreadable, "", "the footer cannot be read")
	}
	root := flatRoot(b)
	h, ok := root.table(1)
	if !ok {
		return errSchema
	}
	if err := f.setSchema(h, root.int16(0, 0)); err != nil {
		return err
	}
	// The blocks of each kind, as the footer lists them.
	blocks := map[byte][]byte{}
	for slot, kind := range map[int]byte{2: headerDictionary, 3: headerBatch} {
		at, count := root.vector(slot, 24)
		blocks[kind] = b[at : int(at)+24*count]
	}
	found := map[byte][]*message{}
	// Older writers leave the end marker out, and one the schema.
	_, err := f.messages(ctx, 8, start, func(m *message, kind byte, h flat) error {
		if m.off == 8 && kind == headerSchema {
			fields, err := readArrowSchema(h, flatRoot(m.meta).int16(0, 0))
			if err == nil && !reflect.DeepEqual(fields, f.fields) {
				err = errSchema
			}
			return err
		}
		left := blocks[kind]
		if len(left) < 24 || int64(binary.LittleEndian.Uint64(left)) != m.off ||
			int64(int32(binary.LittleEndian.Uint32(left[8:]))) != m.body-m.off ||
			int64(binary.LittleEndian.Uint64(left[16:])) != m.size {
			return fail(CodeCorrupt, "", "the footer does not list the messages of the arrow file")
		}
		blocks[kind] = left[24:]
		found[kind] = append(found[kind], m)
		return nil
	})
	if err != nil {
		return err
	}
	if len(blocks[headerDictionary])+len(blocks[headerBatch]) > 0 {
		return fail(CodeCorrupt, "", "the footer lists messages that the arrow file does not hold")
	}
	for _, kind := range []byte{headerDictionary, headerBatch} {
		for _, m := range found[kind] {
			_, h, err := m.header()
			if err == nil {
				err = f.add(m, kind, h, true)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// add reads one message after the schema. The file format lets a dictionary grow, and does not let it be replaced.
func (f *arrowFile) add(m *message, kind byte, h flat, file bool) error {
	switch kind {
	case headerDictionary:
		return f.addDictionary(m, h, file)
	case headerBatch:
		return f.addBatch(m, h)
	}
	return fail(CodeCorrupt, "", "an arrow message of a kind that does not belong where it is")
}

func (f *arrowFile) addBatch(m *message, h flat) error {
	b, err := readBatch(h, m.body, m.size, f.fields)
	if err != nil {
		return err
	}
	b.dicts = make([]*arrowDict, len(f.fields))
	for i := range f.fields {
		field := &f.fields[i]
		if !field.hasDict || !field.column.Usable {
			continue
		}
		if b.dicts[i] = f.latest[field.dict]; b.dicts[i] == nil && b.rows > b.columns[i].nulls {
			return fail(CodeCorrupt, "", "a record batch refers to a dictionary that is not there")
		}
	}
	f.batches = append(f.batches, b)
	if len(f.batches)*(len(f.fields)+1) > maxArrowParts {
		return fail(CodeLimit, "", "the file has too many record batches")
	}
	return nil
}

// arrowDict is a dictionary at one point of a stream: the values of a batch, after those of prev if it is a delta.
type arrowDict struct {
	batch   *arrowBatch
	prev    *arrowDict
	updates int
	total   int64 // values, with those of prev
}

// maxDictRows is the most values that a dictionary may have.
const maxDictRows = 1 << 22

func (f *arrowFile) addDictionary(m *message, h flat, file bool) error {
	id := h.int64(0)
	data, ok := h.table(1)
	if !ok {
		return errMessage
	}
	var field *arrowField
	known := false
	for i := range f.fields {
		g := &f.fields[i]
		known = known || g.hasDict && (g.dict == id || g.manyDicts)
		if g.hasDict && g.dict == id && g.column.Usable {
			if field != nil && field.values != g.values {
				return fail(CodeCorrupt, "", "two columns share a dictionary and differ in type")
			}
			field = g
		}
	}
	if field == nil && known {
		return nil // of a nested or unusable column
	}
	if field == nil {
		return fail(CodeCorrupt, "", "a dictionary that belongs to no column")
	}
	values := arrowField{column: Column{Name: field.column.Name, Usable: true}, store: field.values, buffers: 2, path: []int{0}}
	if values.view = field.values.view; field.values.shape == asCodes && !values.view {
		values.buffers = 3
	}
	b, err := readBatch(data, m.body, m.size, []arrowField{values})
	if err != nil {
		return err
	}
	d := &arrowDict{batch: b, total: b.rows}
	have := f.latest[id]
	switch delta := h.byte(2) != 0; {
	case delta && have == nil:
		return fail(CodeCorrupt, "", "an addition to a dictionary that is not there")
	case delta:
		d.prev, d.updates, d.total = have, have.updates+1, b.rows+have.total
	case file && have != nil:
		return fail(CodeCorrupt, "", "a dictionary occurs twice in the arrow file")
	}
	if d.updates > maxDictUpdates || d.total > maxDictRows {
		return fail(CodeLimit, "", "a dictionary has more than 2^22 entries, or is added to too often")
	}
	f.latest[id] = d
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

// pieces yields a column in stretches of a block each. The stretches of a batch share what must be unpacked as a whole,
// and the stretches of all batches that refer to a dictionary share that.
func (f *arrowFile) pieces(col int, _ *reading) iter.Seq[*piece] {
	return func(yield func(*piece) bool) {
		field := &f.fields[col]
		dicts := map[*arrowDict]*sharedDict{}
		for _, b := range f.batches {
			if d := b.dicts[col]; d != nil {
				if dicts[d] == nil {
					dicts[d] = &sharedDict{shared: shared{cost: d.cost()}}
				}
				dicts[d].pieces += int((b.rows + blockRows - 1) / blockRows)
			}
		}
		first := int64(0)
		for _, b := range f.batches {
			whole := &sharedParts{shared: shared{pieces: int((b.rows + blockRows - 1) / blockRows), cost: b.wholeCost(col)}}
			for from := int64(0); from < b.rows; from += blockRows {
				n := min(blockRows, b.rows-from)
				d := arrowDecoder{r: f.f, batch: b, col: col, whole: whole, dict: dicts[b.dicts[col]]}
				p := &piece{first: first + from, rows: int(n), cost: n * 9, scratch: b.share(col, n) + b.largest(col), shared: []*shared{&whole.shared}}
				if d.dict != nil {
					d.of = b.dicts[col]
					p.scratch += 8 * n // the indices
					p.shared = append(p.shared, &d.dict.shared)
				}
				if texts := b.columns[col].texts; texts != nil {
					d.size = &texts[from/blockRows]
					p.cost += internCost(n, *d.size)
				}
				p.glance = func(w *worker) bool { return d.glance() }
				p.decode = func(w *worker, out *vec) error {
					d.w, d.out = w, out
					return about(guarded(func() error { return d.decode(from, int(n)) }), f.path, "column "+field.column.Name)
				}
				if !yield(p) {
					return
				}
			}
			first += b.rows
		}
	}
}

// segments returns a column's buffers in every batch and dictionary, cut so that several goroutines can share a large one.
func (f *arrowFile) segments(col int) []extent {
	var out []extent
	f.eachStored(col, func(b *arrowBatch, col int) {
		for _, c := range b.fields[col].path {
			for _, e := range b.columns[c].parts {
				for ; e.size > 0; e.off, e.size = e.off+segmentBytes, e.size-segmentBytes {
					out = append(out, extent{e.off, min(e.size, segmentBytes)})
				}
			}
		}
	})
	return out
}

func (f *arrowFile) stored(col int) []extent { return f.segments(col) }

// eachStored visits the batches that store a column, with its place there. Each dictionary comes before the first batch
// that refers to it.
func (f *arrowFile) eachStored(col int, visit func(b *arrowBatch, col int)) {
	seen := map[*arrowDict]bool{}
	for _, b := range f.batches {
		for d := b.dicts[col]; d != nil && !seen[d]; d = d.prev {
			seen[d] = true
			visit(d.batch, 0)
		}
		visit(b, col)
	}
}

// storage describes how the bytes of a column are read. It holds the number of nulls that each batch declares, because
// that decides whether its validity is read.
func (f *arrowFile) storage(col int) string {
	field := &f.fields[col]
	var batches, dicts [][]int64
	f.eachStored(col, func(b *arrowBatch, col int) {
		facts := []int64{b.rows, int64(b.codec)}
		for _, c := range b.fields[col].path {
			facts = append(facts, b.columns[c].nulls)
			for _, e := range b.columns[c].parts {
				facts = append(facts, e.size)
			}
		}
		if b.dicts == nil {
			dicts = append(dicts, facts)
		} else {
			batches = append(batches, facts)
		}
	})
	return fmt.Sprint("arrow", field.store, field.values, field.hasDict, batches, dicts)
}
