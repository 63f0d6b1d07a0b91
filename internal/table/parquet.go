package table

import (
	"context"
	"sync"

	"github.com/dprelease/dprelease/internal/table/pagewalk"
)

// parquetFile is one Parquet file: its footer, and the page layouts of the chunks that were walked.
type parquetFile struct {
	opened
	footer *pagewalk.Footer
	cols   []Column
	limits pagewalk.Limits

	mu      sync.Mutex
	layouts map[[2]int]*pagewalk.Layout // by group and leaf
	pages   int
}

// maxPages bounds the memory for the layouts of one file.
const maxPages = 1 << 21

func openParquet(base opened, lim pagewalk.Limits) (*parquetFile, error) {
	footer, err := pagewalk.ReadFooter(base.f, base.size, lim)
	if err != nil {
		return nil, err
	}
	f := &parquetFile{opened: base, footer: footer, limits: lim, layouts: make(map[[2]int]*pagewalk.Layout)}
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
		l, err := pagewalk.Walk(ctx, f.f, leaf, &f.footer.Groups[key[0]].Chunks[key[1]], f.limits)
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

// sources returns one lane for each column.
func (f *parquetFile) sources(cols []int, base int64, content *Content) []source {
	out := make([]source, len(cols))
	for i, col := range cols {
		out[i] = source{cols: []int{i}, pieces: func(yield func(*piece) bool) { f.lane(col, base, content, yield) }}
	}
	return out
}

// lane yields the pages of one column in row order.
func (f *parquetFile) lane(col int, base int64, content *Content, yield func(*piece) bool) {
	leaf := &f.footer.Leaves[col]
	for g := range f.footer.Groups {
		group := &f.footer.Groups[g]
		layout := f.layout(g, col)
		if layout == nil {
			return // not verified; the scan stops when rows are missing
		}
		c := &chunk{r: f.f, leaf: leaf, facts: &group.Chunks[col], layout: layout, shape: shapeOf(&f.cols[col])}
		c.marks = content.of(f, g, col)
		for i := range layout.Data {
			if !yield(f.piece(c, i, base)) {
				return
			}
		}
		base += group.Rows
	}
}

// layout is nil for a chunk that was not walked.
func (f *parquetFile) layout(group, col int) *pagewalk.Layout {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.layouts[[2]int{group, col}]
}

func (f *parquetFile) piece(c *chunk, i int, base int64) *piece {
	page := &c.layout.Data[i]
	p := &piece{first: base + page.First, rows: int(page.Values), light: c.shape != asCodes}
	p.cost = max(int64(page.Unpacked), int64(page.Values)*9)
	if c.shape == asCodes {
		p.cost = 2*int64(page.Unpacked) + int64(page.Values)*20
	}
	p.decode = func(w *worker, p *piece) error {
		p.data = make([]vec, 1)
		err := guarded(func() error {
			to := c.marks.at(c.dataAt(i))
			if p.into != nil {
				if err := w.move(c, page, to, p.move, p.into, &p.data[0]); err != errWhole {
					return err
				}
			}
			if p.want != nil {
				if err := w.pick(c, page, to, p.want, &p.data[0]); err != errWhole {
					return err
				}
			}
			return w.page(c, page, to, &p.data[0])
		})
		return about(err, f.path, "column "+c.leaf.Name)
	}
	return p
}
