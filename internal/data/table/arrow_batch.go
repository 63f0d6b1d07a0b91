package table

import (
	"context"
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow/bitutil"
)

var (
	errBuffer     = fail(CodeCorrupt, "", "an arrow buffer does not hold what its batch declares")
	errBufferRead = fail(CodeUnreadable, "", "a buffer cannot be read")
)

// batchColumn is one column of one record or dictionary batch.
type batchColumn struct {
	rows  int64
	nulls int64
	parts []extent // validity, then what the type has

	unpacked []int64 // the size of each part once it is unpacked; known after verify
	texts    []int64 // bytes that the texts of each stretch take: a guess until Examine
}

// arrowBatch is a record batch: its rows, and the places of its columns.
type arrowBatch struct {
	rows    int64
	codec   int8 // -1 none, 0 lz4 frames, 1 zstd
	fields  []arrowField
	columns []batchColumn
	dicts   []*arrowDict // by column; nil in a dictionary batch
}

// maxUnpacked is the most bytes that a buffer may declare, so that no sum over the buffers of a file overflows.
const maxUnpacked = 1 << 40

const (
	codecNone = -1
	codecLZ4  = 0
	codecZstd = 1
)

// readBatch reads a RecordBatch table and checks every buffer. The body begins at the given place.
func readBatch(h flat, body, size int64, fields []arrowField) (*arrowBatch, error) {
	b := &arrowBatch{rows: h.int64(0), codec: codecNone, fields: fields}
	if b.rows < 0 {
		return nil, errMessage
	}
	if c, ok := h.table(3); ok {
		b.codec = int8(c.byte(0))
		if b.codec != codecLZ4 && b.codec != codecZstd || c.byte(1) != 0 {
			return nil, fail(CodeUnsupported, "", "a body compression that is not read here")
		}
	}
	nodes, nNodes := h.vector(1, 16)
	buffers, nBuffers := h.vector(2, 16)
	counts, nCounts := h.vector(4, 8)
	raw := h.Bytes
	pair := func(start uint32, i int) (a, c int64) {
		o := int(start) + 16*i
		return int64(binary.LittleEndian.Uint64(raw[o:])), int64(binary.LittleEndian.Uint64(raw[o+8:]))
	}
	if nNodes != len(fields) {
		return nil, errMessage
	}
	next, count, end := 0, 0, int64(0)
	for i := range fields {
		f := &fields[i]
		want := f.buffers
		if f.view {
			if count >= nCounts {
				return nil, errMessage
			}
			more := int64(binary.LittleEndian.Uint64(raw[int(counts)+8*count:]))
			if more < 0 || more > int64(nBuffers) {
				return nil, errMessage
			}
			want += int(more)
			count++
		}
		if next+want > nBuffers {
			return nil, errMessage
		}
		var col batchColumn
		col.rows, col.nulls = pair(uint32(nodes), i)
		if !f.inList && col.rows != b.rows || col.rows < 0 || col.nulls < 0 || col.nulls > col.rows {
			return nil, errMessage
		}
		col.parts = make([]extent, want)
		for k := range col.parts {
			off, n := pair(uint32(buffers), next)
			next++
			if n != 0 {
				if off < 0 || n < 0 || off > size || n > size-off || !follows(off, end) {
					return nil, errMessage
				}
				end = off + n
			}
			col.parts[k] = extent{body + off, n}
		}
		b.columns = append(b.columns, col)
	}
	if next != nBuffers || count != nCounts || !follows(size, end) {
		return nil, errMessage
	}
	return b, nil
}

// follows reports whether a buffer at off follows one that ends at end, with padding to an alignment that writers use.
// No two of these places differ in a single bit, so a damaged bit is noticed.
func follows(off, end int64) bool {
	for _, align := range []int64{8, 16, 32, 64, 128, 256, 512, 4096} {
		if off == (end+align-1)/align*align {
			return true
		}
	}
	return off == end
}

// verify compares every bitmap of the columns with the nulls that its batch declares, and finds out the unpacked sizes of
// compressed buffers.
func (f *arrowFile) verify(ctx context.Context, cols []int, _ int) (err error) {
	f.mu.Lock() // columns share structs and dictionaries
	defer f.mu.Unlock()
	w := &worker{arena: &arena{limit: DefaultMemory}}
	defer w.unpack.close()
	for _, col := range cols {
		f.eachStored(col, func(b *arrowBatch, col int) {
			for _, c := range b.fields[col].path {
				if err == nil {
					err = ctx.Err()
				}
				if err == nil && b.columns[c].unpacked == nil {
					err = guarded(func() error { return f.verifyPart(w, b, c) })
				}
			}
		})
		if err != nil {
			return about(err, f.path, "column "+f.cols[col].Name)
		}
	}
	return nil
}

func (f *arrowFile) verifyPart(w *worker, b *arrowBatch, col int) error {
	c, field := &b.columns[col], &b.fields[col]
	unpacked := make([]int64, len(c.parts))
	for k, e := range c.parts {
		unpacked[k] = e.size
		fixed := field.fixed(k, b.rows)
		if b.codec != codecNone && e.size != 0 {
			var head [8]byte
			if e.size < 8 {
				return errBuffer
			}
			if _, err := f.f.ReadAt(head[:], e.off); err != nil {
				return errBufferRead
			}
			if unpacked[k] = int64(binary.LittleEndian.Uint64(head[:])); unpacked[k] == -1 {
				unpacked[k] = e.size - 8 // not worth compressing
			}
			if unpacked[k] < 0 || unpacked[k] > maxUnpacked || fixed > 0 && unpacked[k] > fixed+fixed/8+4096 {
				return fail(CodeLimit, "", "a compressed buffer declares more than its rows need")
			}
		}
		if unpacked[k] < fixed && (k > 0 || c.nulls > 0) && b.rows > 0 {
			return errBuffer
		}
	}
	switch {
	case len(c.parts) == 0 || unpacked[0] == 0:
		if c.nulls > 0 {
			return errBuffer
		}
	default:
		// The bitmap must have a zero for each null that the batch declares.
		if unpacked[0] < (b.rows+7)/8 {
			return errBuffer
		}
		var hold holding
		defer func() { hold.release(w.arena) }()
		bits, err := w.unpackPart(f.f, b, c.parts[0], unpacked[0], &hold)
		if err != nil {
			return err
		}
		if int64(bitutil.CountSetBits(bits, 0, int(b.rows))) != b.rows-c.nulls {
			return fail(CodeCorrupt, "", "a record batch does not have as many nulls as it declares")
		}
	}
	c.unpacked = unpacked
	if field.store.shape == asCodes && !field.hasDict && field.column.Usable && b.dicts != nil {
		total := int64(0)
		for _, n := range unpacked[2:] {
			total += n
		}
		for from := int64(0); from < b.rows; from += blockRows {
			c.texts = append(c.texts, total/b.rows*min(blockRows, b.rows-from))
		}
	}
	return nil
}

// share returns how many bytes n rows of a column take of the buffers that are read in stretches.
func (b *arrowBatch) share(col int, n int64) int64 {
	total := int64(0)
	for _, e := range b.columns[col].parts {
		if b.codec == codecNone {
			total += e.size/max(b.rows, 1)*n + n
		}
	}
	return total
}

// largest returns the stored size of the largest compressed buffer of a column. It is in memory while it is unpacked.
func (b *arrowBatch) largest(col int) (most int64) {
	for _, e := range b.columns[col].parts {
		if b.codec != codecNone {
			most = max(most, e.size)
		}
	}
	return most
}

// isWhole reports whether a part is read as a whole: compressed parts are, and the texts that views point to. Other parts
// are read in stretches.
func (b *arrowBatch) isWhole(col, k int) bool {
	return b.codec != codecNone || b.fields[col].view && k >= 2
}

// eachWhole visits the parts of a column, and the bitmaps of the structs around it, that are read as a whole.
func (b *arrowBatch) eachWhole(col int, visit func(c, k int) error) error {
	for _, c := range b.fields[col].path {
		for k, n := range b.columns[c].unpacked {
			if n > 0 && b.isWhole(c, k) && (c == col || k == 0) {
				if err := visit(c, k); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// wholeCost returns how many bytes the parts of a column take that are read as a whole.
func (b *arrowBatch) wholeCost(col int) (total int64) {
	_ = b.eachWhole(col, func(c, k int) error { total += b.columns[c].unpacked[k]; return nil })
	return total
}

// cost returns how many bytes a dictionary takes, while it is decoded and after.
func (d *arrowDict) cost() int64 {
	total := int64(0)
	for a := d; a != nil; a = a.prev {
		total += a.batch.rows * (headerBytes + 32)
		for _, n := range a.batch.columns[0].unpacked {
			total += 2 * n
		}
	}
	return total + internBlock
}
