package table

import (
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/zeebo/xxh3"
)

// reading is the state that the lanes of one scan share.
type reading struct {
	content *Content         // may be nil
	lead    map[dataFile]int // of each file the first column that the scan reads
	rows    map[dataFile]*csvRows
}

func (t *Table) reading(cols []int, content *Content) *reading {
	r := &reading{content: content, lead: map[dataFile]int{}, rows: map[dataFile]*csvRows{}}
	for _, f := range t.files {
		if i := slices.IndexFunc(cols, func(c int) bool { return f.at[c] >= 0 }); i >= 0 {
			r.lead[f.dataFile] = f.at[cols[i]]
		}
	}
	return r
}

// csvRows are the rows of a block in one scan. The piece of the first column parses them, and fills the pieces of the
// other columns too.
type csvRows struct {
	file  *csvFile
	block *csvBlock
	lead  *piece
	text  []byte // only of a file that is read in order
	cells []*csvCells
	from  *csvStream
}

// csvStream unpacks the text of a packed file. at is its place.
type csvStream struct {
	r  io.Reader
	at int64
}

// pieces yields a column, block by block.
func (f *csvFile) pieces(col int, r *reading) iter.Seq[*piece] {
	lead := r.lead[f] == col
	return func(yield func(*piece) bool) {
		first, from := int64(0), &csvStream{}
		for _, b := range f.blocks {
			if b.rows == 0 {
				continue
			}
			p := &piece{first: first, rows: b.rows, cost: f.cost(b, col), glance: sure} // opening read every line
			if lead {
				rows := &csvRows{file: f, block: b, lead: p, from: from}
				r.rows[f] = rows
				p.cost += int64(b.size)
				p.decode = func(w *worker, _ *vec) error { return about(rows.decode(w), f.path, "its rows") }
				if f.inOrder() {
					p.ready = func(m *arena) error {
						return about(guarded(func() error { return rows.unpack(m) }), f.path, "its rows")
					}
				}
			}
			if rows := r.rows[f]; rows != nil && rows.block == b {
				if !lead {
					p.with = rows.lead
				}
				rows.cells = append(rows.cells, f.cells(col, &p.out))
			}
			if !yield(p) {
				return
			}
			first += int64(b.rows)
		}
	}
}

// locale returns how the texts of a column are written, nil where that is the plain way.
func (f *csvFile) locale(col int) *Locale {
	switch l := &f.Locale; f.cols[col].Kind {
	case Float:
		if l.Decimal != "" || l.Thousands != "" {
			return l
		}
	case Date, Timestamp:
		if l.Dates != "" {
			return l
		}
	}
	return nil
}

// cost returns the most bytes that a column of a block takes.
func (f *csvFile) cost(b *csvBlock, col int) int64 {
	if f.cols[col].Kind != String {
		return 9 * int64(b.rows)
	}
	return int64(b.rows)*5 + internCost(int64(b.rows), int64(b.size))
}

// unpack reads the text of the block.
func (r *csvRows) unpack(m *arena) (err error) {
	if r.kept() {
		return nil
	}
	if r.text, err = m.get(&r.lead.out.hold, r.block.size); err != nil {
		return err
	}
	if r.from.r == nil {
		if r.from.r, err = r.file.text(); err != nil {
			return err
		}
	}
	return r.from.read(r.block, r.text)
}

// read skips to a block and reads it.
func (s *csvStream) read(b *csvBlock, to []byte) error {
	if _, err := io.CopyN(io.Discard, s.r, b.off-s.at); err != nil {
		return errChanged
	}
	if _, err := io.ReadFull(s.r, to); err != nil {
		return errChanged
	}
	s.at = b.off + int64(b.size)
	return nil
}

// kept reports whether opening the file kept the values of all columns.
func (r *csvRows) kept() bool {
	return r.block.kept != nil && !slices.ContainsFunc(r.cells, func(c *csvCells) bool { return r.block.kept[c.col] == nil })
}

func (r *csvRows) decode(w *worker) error {
	if r.kept() {
		for _, c := range r.cells {
			if err := c.copy(w.arena, r.block.kept[c.col]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range r.cells {
		if err := c.begin(w.arena, r.block.rows); err != nil {
			return err
		}
	}
	if err := r.cut(w); err != nil {
		return err
	}
	for _, c := range r.cells {
		c.end()
	}
	return nil
}

// cut reads the block, and cuts its rows.
func (r *csvRows) cut(w *worker) (err error) {
	f, b := r.file, r.block
	text := r.text
	if text == nil {
		if text, err = w.arena.get(&r.lead.out.hold, b.size); err != nil {
			return err
		}
		if _, err = f.f.ReadAt(text, b.off); err != nil {
			return errChanged
		}
	}
	if xxh3.Hash128(text) != b.sum {
		return errChanged
	}
	row := 0
	return f.rows(text, func(fields []string) error {
		for _, c := range r.cells {
			if err := c.add(row, fields[c.col]); err != nil {
				return err
			}
		}
		row++
		return nil
	})
}

// csvCells turns the texts of a column into values.
type csvCells struct {
	col     int
	column  *Column
	missing []string
	locale  *Locale // nil where texts are written as Column.read wants them
	buf     []byte
	out     *vec
	arena   *arena
	rows    int
	texts   interner
}

// cells reads a column into out.
func (f *csvFile) cells(col int, out *vec) *csvCells {
	return &csvCells{col: col, column: &f.cols[col], missing: f.Missing, locale: f.locale(col), out: out}
}

// copy takes values that were kept. The caller of the scan may change its own.
func (c *csvCells) copy(m *arena, kept *vec) error {
	if err := c.begin(m, kept.rows()); err != nil {
		return err
	}
	copy(c.out.f64, kept.f64)
	copy(c.out.i64, kept.i64)
	copy(c.out.codes, kept.codes)
	c.out.dict, c.out.unread = kept.dict, kept.unread
	if kept.valid == nil {
		return nil
	}
	err := m.bitmap(c.out, c.rows, true)
	copy(c.out.valid, kept.valid)
	return err
}

// begin makes room for the values of some rows.
func (c *csvCells) begin(m *arena, rows int) error {
	c.arena, c.rows = m, rows
	c.texts = interner{arena: m, hold: &c.out.hold}
	return m.room(shapeOf(c.column), c.out, rows)
}

// end settles the texts when all rows were added.
func (c *csvCells) end() { c.out.dict = newTexts(c.texts.texts) }

// add reads the text of a row. A text that is no value of the column's kind is missing. // P24
func (c *csvCells) add(row int, text string) (err error) {
	if n := len(text); n > 0 && c.column.Kind != String && (text[0] <= ' ' || text[n-1] <= ' ') {
		text = strings.Trim(text, " \t")
	}
	if slices.Contains(c.missing, text) {
		return c.null(row)
	}
	if c.out.codes != nil {
		c.out.codes[row], err = c.texts.code(unsafe.Slice(unsafe.StringData(text), len(text)))
		return err
	}
	written, ok := text, true
	if c.locale != nil {
		written, ok = c.locale.plain(c.column.Kind, text, &c.buf)
	}
	number, whole, read := c.column.read(written)
	switch {
	case !ok || !read:
		c.out.unread.add(text)
		return c.null(row)
	case math.IsNaN(number):
		return c.null(row)
	case c.out.f64 != nil:
		c.out.f64[row] = number
	default:
		c.out.i64[row] = whole
	}
	return nil
}

// null makes a row missing.
func (c *csvCells) null(row int) error {
	if c.out.valid == nil {
		if err := c.arena.bitmap(c.out, c.rows, true); err != nil {
			return err
		}
	}
	bitutil.ClearBit(c.out.valid, row)
	c.out.zero(row)
	return nil
}
