package table

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// Examine finds what would end a Scan of the named columns, and delivers no row. It decodes every piece, with one exception:
// numbers in pages that snappy or zstd packed are not unpacked a second time, which would cost as much as the scan. Examine
// compares the size that such bytes declare, and reads the levels in front of the numbers. A damaged byte behind them stays
// unnoticed. docs/tables.md says so. // P21
func (t *Table) Examine(ctx context.Context, columns []string) error {
	if t.unordered { // this program wrote the rows of a query
		return t.Verify(ctx, columns)
	}
	if err := t.Scan(ctx, ScanOptions{Columns: columns, examine: true}, nil); err != nil {
		return err
	}
	return t.Verify(ctx, columns) // now that the sizes of all texts are known
}

// sure is the glance of a piece that cannot fail any more.
func sure(*worker) bool { return true }

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
		return beginSnappy(bufio.NewReaderSize(packed, 512), data[front:], int(p.Unpacked)-front)
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
