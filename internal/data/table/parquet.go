package table

import (
	"cmp"
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

	large   sync.Mutex // held while a large page is unpacked to count its texts
	mu      sync.Mutex
	layouts map[[2]int]*pagewalk.Layout // by group and leaf
	pages   int
}

// parquetMemory is the most that the values of Parquet files take, whatever the machine has: a few bytes of a file can stand for
// any number of bytes, and a process that reads one stays below 1 GiB.
const parquetMemory = 768 << 20

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

// verify walks the pages of every chunk of the columns, on several goroutines. Texts that begin as the one before may take
// far more memory than their page, so it counts them.
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
		if shapeOf(&f.cols[key[1]]) == asCodes {
			if err := f.countTexts(ctx, leaf, &f.footer.Groups[key[0]].Chunks[key[1]], l); err != nil {
				return about(err, f.path, "column "+leaf.String())
			}
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

// largePage is the size from which pages are unpacked one at a time to count their texts.
const largePage = 4 << 20

// countTexts notes how many bytes the texts of each page of incremental texts take. It makes none.
func (f *parquetFile) countTexts(ctx context.Context, leaf *pagewalk.Leaf, facts *pagewalk.Chunk, l *pagewalk.Layout) error {
	w := worker{arena: &arena{limit: DefaultMemory}}
	defer w.unpack.close()
	c := &chunk{r: f.f, leaf: leaf, facts: facts, layout: l, shape: asCodes}
	count := func(p *pagewalk.Page) error {
		if p.Unpacked > largePage {
			f.large.Lock()
			defer f.large.Unlock()
		}
		var raw holding
		var levels vec
		defer func() { raw.release(w.arena); levels.hold.release(w.arena) }()
		values, present, err := w.front(c, p, 0, &raw, &levels)
		if err == nil && present > 0 {
			p.Texts, err = textBytes(values, present)
		}
		return err
	}
	for i := range l.Data {
		if l.Data[i].Encoding != pagewalk.EncDeltaBytes {
			continue
		}
		if err := cmp.Or(ctx.Err(), count(&l.Data[i])); err != nil {
			return err
		}
	}
	return nil
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
			c.domain = f.domains[f.cols[col].Name]
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
	case c.shape != asCodes && page.Encoding == pagewalk.EncPlain && c.leaf.MaxDef == 0 &&
		(c.leaf.Type == pagewalk.Double || c.leaf.Type == pagewalk.Int64):
		p.cost, p.scratch = unpacked, int64(page.Stored) // the values stay in the page
	case c.shape != asCodes:
		p.cost = values * 9
		p.scratch += values * 8
		if page.Encoding != pagewalk.EncPlain && !page.Coded() { // decoded into plain bytes, or texts, first
			p.scratch += max(unpacked, values*int64(c.leaf.Width()))
		}
	case page.Coded():
		p.cost = values * 5
	case page.Encoding == pagewalk.EncDeltaBytes:
		p.cost = values*5 + keptDicts*internCost(values, page.Texts)
		p.scratch += unpacked // the text before
	default:
		p.cost = values*5 + keptDicts*internCost(values, unpacked)
	}
	if c.facts.Codec == pagewalk.Brotli {
		p.scratch += min(brotliWindow, 2*unpacked)
	}
	if c.layout.Dict != nil {
		i++ // of the chunk's pages
	}
	p.glance = func(w *worker) bool { return w.glance(c, page) }
	p.decode = func(w *worker, out *vec) error {
		err := guarded(func() error { return w.page(c, page, i, out) })
		return about(err, f.path, "column "+c.leaf.String())
	}
	return p
}

// keptDicts is the most dictionaries of a column that are held at once: a caller may keep the texts of the last page
// until it has those of the next.
const keptDicts = 2

// brotliWindow is the most that unpacking brotli holds beside the page.
const brotliWindow = 17 << 20

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
