package table

import (
	"context"
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// Examine finds what would end a Scan of the named columns, and delivers no row. It decodes every piece, with one exception:
// numbers in pages that snappy or zstd packed are not unpacked a second time, which would cost as much as the scan. Examine
// compares the size that such bytes declare, and reads the levels in front of the numbers. A damaged byte behind them stays
// unnoticed. docs/tables.md says so. // P21
func (t *Table) Examine(ctx context.Context, columns []string) error {
	cols, err := t.find(columns)
	if err != nil {
		return err
	}
	workers := workersOr(0)
	if err := t.verify(ctx, cols, workers); err != nil || t.unordered { // this program wrote the rows of a query
		return err
	}
	e := &examination{arena: &arena{limit: t.memory}, room: semaphore.NewWeighted(t.memory / 17 * 16), most: t.memory / 17 * 16}
	for range workers {
		e.idle = append(e.idle, &worker{arena: e.arena, skim: true})
	}
	defer func() {
		for _, w := range e.idle {
			w.unpack.close()
		}
	}()
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	r := t.reading(nil, nil)
	for _, f := range t.files {
		if _, ok := f.dataFile.(*csvFile); ok {
			continue // opening it read every line
		}
		for _, col := range cols {
			if f.at[col] < 0 {
				continue
			}
			for p := range f.pieces(f.at[col], r) {
				if e.begin(inner, p) != nil {
					break
				}
				group.Go(func() error { return guarded(func() error { return e.piece(inner, p) }) })
			}
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, f := range t.files {
		if err := f.changed(); err != nil {
			return err
		}
	}
	_, _, err = t.need(cols, workers) // now that the sizes of all texts are known
	return err
}

// examination is a running Examine.
type examination struct {
	arena *arena
	room  *semaphore.Weighted
	most  int64

	mu   sync.Mutex
	idle []*worker
}

// weight is the most that a piece takes while it is decoded.
func (e *examination) weight(p *piece) int64 {
	n := p.cost + p.scratch
	for _, c := range p.shared {
		n += c.cost
	}
	return min(n, e.most)
}

// begin waits until there is room for a piece.
func (e *examination) begin(ctx context.Context, p *piece) error {
	return e.room.Acquire(ctx, e.weight(p))
}

func (e *examination) piece(ctx context.Context, p *piece) error {
	defer e.room.Release(e.weight(p))
	if err := ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	w := e.idle[len(e.idle)-1]
	e.idle = e.idle[:len(e.idle)-1]
	e.mu.Unlock()
	defer func() { // also when decode panics
		p.out.hold.release(e.arena)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.idle = append(e.idle, w)
		for _, c := range p.shared {
			if c.pieces--; c.pieces == 0 {
				c.hold.release(e.arena)
			}
		}
	}()
	if p.glance != nil && p.glance(w) {
		return nil
	}
	return p.decode(w, &p.out)
}

// glance reports whether a page holds the values that it declares, as far as its first bytes tell. Where it says no, the
// page must be decoded, which says what is wrong, if anything is.
func (w *worker) glance(c *chunk, p *pagewalk.Page) bool {
	if p.Encoding == pagewalk.EncDeltaBytes && c.shape == asCodes {
		return true // countTexts read it
	}
	width := int64(c.leaf.Width())
	switch c.leaf.Type {
	case pagewalk.Boolean, pagewalk.Int32, pagewalk.Int64, pagewalk.Float, pagewalk.Double:
	default:
		return false // a value may be none that its type can say
	}
	if p.Encoding != pagewalk.EncPlain && p.Encoding != pagewalk.EncStreamSplit {
		return false
	}
	var hold holding
	var levels vec
	defer func() { hold.release(w.arena); levels.hold.release(w.arena) }()
	data, ok := w.beginning(c, p, &hold)
	if !ok {
		return false
	}
	values, present, err := w.levels(c, p, data, &levels)
	want := int64(present) * width
	if c.leaf.Type == pagewalk.Boolean {
		want = (int64(present) + 7) / 8
	}
	return err == nil && int64(p.Unpacked)-int64(len(data)-len(values)) == want
}

// beginning unpacks a page as far as its levels go.
func (w *worker) beginning(c *chunk, p *pagewalk.Page, hold *holding) ([]byte, bool) {
	const guess = 20 // the levels of a page without nulls
	n := p.Front()
	if !p.V2 && c.leaf.MaxDef > 0 {
		n = min(guess, int(p.Unpacked))
	}
	for {
		data, err := w.arena.get(hold, n)
		if err != nil || !w.begin(c, p, data) {
			return nil, false
		}
		if p.V2 || c.leaf.MaxDef == 0 {
			return data, true
		}
		if n < 4 || uint64(binary.LittleEndian.Uint32(data))+4 > uint64(p.Unpacked) {
			return nil, false
		}
		if size := int(binary.LittleEndian.Uint32(data)) + 4; size > n {
			n = size
			continue
		}
		return data, true
	}
}

// begin fills data with the first bytes of a page, unpacked. It returns false where the page declares another size than its
// header, or no size.
func (w *worker) begin(c *chunk, p *pagewalk.Page, data []byte) bool {
	front := p.Front()
	if !p.Packed || c.facts.Codec == pagewalk.Uncompressed {
		_, err := c.r.ReadAt(data, p.Off)
		return err == nil
	}
	if _, err := c.r.ReadAt(data[:front], p.Off); err != nil {
		return false
	}
	if int(p.Unpacked) == front {
		return true // nulls alone
	}
	packed := io.NewSectionReader(c.r, p.Off+int64(front), int64(p.Stored)-int64(front))
	switch c.facts.Codec {
	case pagewalk.Snappy:
		return w.unpack.beginSnappy(packed, data[front:], int(p.Unpacked)-front)
	case pagewalk.Zstd:
		return w.unpack.beginZstd(packed, data[front:], int64(p.Unpacked)-int64(front))
	}
	return false
}

// declares reports whether what zstd packed declares to unpack to a size.
func declares(packed io.ReaderAt, size int64) bool {
	var head [zstd.HeaderMaxSize]byte
	n, _ := packed.ReadAt(head[:], 0)
	var h zstd.Header
	return h.Decode(head[:n]) == nil && h.HasFCS && h.FrameContentSize == uint64(size)
}
