package table

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"sync"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// parquetFile is one Parquet file: its footer, and the page layouts of the chunks that verify walked.
type parquetFile struct {
	opened
	footer *pagewalk.Footer
	cols   []Column

	mu      sync.Mutex
	layouts map[[2]int]*pagewalk.Layout // by group and leaf
	pages   int
}

// maxPages bounds the memory for the layouts of one file.
const maxPages = 1 << 21

func openParquet(base opened) (*parquetFile, error) {
	footer, err := pagewalk.ReadFooter(base.f, base.size)
	if err != nil {
		return nil, err
	}
	f := &parquetFile{opened: base, footer: footer, layouts: make(map[[2]int]*pagewalk.Layout)}
	for i := range footer.Leaves {
		f.cols = append(f.cols, parquetColumn(&footer.Leaves[i]))
	}
	return f, nil
}

func (f *parquetFile) columns() []Column { return f.cols }

func (f *parquetFile) groups() []int64 {
	rows := make([]int64, len(f.footer.Groups))
	for i := range rows {
		rows[i] = f.footer.Groups[i].Rows
	}
	return rows
}

// verify walks the pages of every chunk of the columns, on several goroutines.
func (f *parquetFile) verify(ctx context.Context, cols []int, workers int) error {
	var todo [][2]int
	f.mu.Lock()
	for g := range f.footer.Groups {
		for _, c := range cols {
			if f.layouts[[2]int{g, c}] == nil {
				todo = append(todo, [2]int{g, c})
			}
		}
	}
	f.mu.Unlock()
	return parallel(ctx, workers, len(todo), func(ctx context.Context, i int) error {
		key := todo[i]
		leaf := &f.footer.Leaves[key[1]]
		l, err := pagewalk.Walk(ctx, f.f, leaf, &f.footer.Groups[key[0]].Chunks[key[1]])
		if err != nil {
			return refuse(f.path, err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.pages += len(l.Data) + len(l.Other); f.pages > maxPages {
			return fail(CodeLimit, f.path, "the file has too many pages")
		}
		f.layouts[key] = l
		return nil
	})
}

// layout returns nil for a chunk that verify did not walk.
func (f *parquetFile) layout(group, col int) *pagewalk.Layout {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.layouts[[2]int{group, col}]
}

// pieces yields the pages of a column in row order.
func (f *parquetFile) pieces(col int, r *reading) iter.Seq[*piece] {
	return func(yield func(*piece) bool) {
		base := int64(0)
		for g := range f.footer.Groups {
			group := &f.footer.Groups[g]
			layout := f.layout(g, col)
			if layout == nil {
				return // not verified; the scan stops when rows are missing
			}
			c := &chunk{r: f.f, leaf: &f.footer.Leaves[col], facts: &group.Chunks[col], layout: layout, shape: shapeOf(&f.cols[col])}
			c.note = r.content.notes(f, g, col)
			c.shared = &shared{pieces: len(layout.Data)}
			if layout.Dict != nil {
				c.shared.cost = dictionaryCost(c.leaf, layout.Dict)
			}
			for i := range layout.Data {
				p := f.piece(c, i)
				p.first += base
				if !yield(p) {
					return
				}
			}
			base += group.Rows
		}
	}
}

func (f *parquetFile) piece(c *chunk, i int) *piece {
	page := &c.layout.Data[i]
	unpacked, values := int64(page.Unpacked), int64(page.Values)
	p := &piece{first: page.First, rows: int(page.Values), shared: []*shared{c.shared}, scratch: unpacked + int64(page.Stored)}
	switch {
	case c.shape != asCodes && page.Encoding == pagewalk.EncPlain && c.leaf.MaxDef == 0 && (c.leaf.Type == pagewalk.Double || c.leaf.Type == pagewalk.Int64):
		p.cost, p.scratch = unpacked, int64(page.Stored) // the values stay in the page
	case c.shape != asCodes:
		p.cost = values * 9
		p.scratch += values * 8
		if c.leaf.Type == pagewalk.FixedLen && !page.Coded() { // the library makes a slice for each value
			p.scratch += values * (sliceBytes + 2*int64(c.leaf.TypeLen))
		}
	case page.Coded():
		p.cost = values * 5
	default:
		p.cost = values*(5+headerBytes) + unpacked + internBlock
	}
	if c.layout.Dict != nil {
		i++ // of the chunk's pages
	}
	p.decode = func(w *worker, out *vec) error {
		err := guarded(func() error { return w.page(c, page, i, out) })
		return about(err, f.path, "column "+c.leaf.String())
	}
	return p
}

// sliceBytes is what a short slice takes beside its bytes: its header, and what rounding adds to its allocation.
const sliceBytes = 40

// dictionaryCost returns the most bytes that a decoded dictionary takes.
func dictionaryCost(leaf *pagewalk.Leaf, p *pagewalk.Page) int64 {
	if leaf.Type == pagewalk.ByteArray {
		return int64(p.Unpacked) + 16*int64(p.Values)
	}
	return 8 * int64(p.Values)
}

// pagesOf returns the places of the pages of a chunk: the dictionary if there is one, the pages with rows, and the others.
// storage covers their headers.
func (f *parquetFile) pagesOf(group, col int) []extent {
	var out []extent
	l := f.layout(group, col)
	if l.Dict != nil {
		out = append(out, extent{l.Dict.Off, int64(l.Dict.Stored)})
	}
	for _, pages := range [][]pagewalk.Page{l.Data, l.Other} {
		for i := range pages {
			out = append(out, extent{pages[i].Off, int64(pages[i].Stored)})
		}
	}
	return out
}

func (f *parquetFile) segments(col int) []extent {
	var out []extent
	for g := range f.footer.Groups {
		out = append(out, f.pagesOf(g, col)...)
	}
	return out
}

func (f *parquetFile) stored(col int) []extent {
	var out []extent
	for g := range f.footer.Groups {
		c := &f.footer.Groups[g].Chunks[col]
		out = append(out, extent{c.Start, c.Len})
	}
	return out
}

// storage describes how the bytes of a column are read: its type, and the codec and page headers of each chunk.
func (f *parquetFile) storage(col int) string {
	leaf := &f.footer.Leaves[col]
	h := sha256.New()
	for g := range f.footer.Groups {
		_, _ = h.Write([]byte{byte(f.footer.Groups[g].Chunks[col].Codec)})
		headers := f.layout(g, col).Headers
		_, _ = h.Write(headers[:])
	}
	return fmt.Sprintf("parquet %v %d %d %x", leaf.Type, leaf.TypeLen, leaf.MaxDef, h.Sum(nil))
}
