package table

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
)

// Content collects digests of the stored bytes of some columns, so that they can be identified: from scans, which note
// what they read anyway, and from reading what no scan did. Each page (or stretch of an Arrow buffer) is a segment of
// its own, so that it makes no difference which scan, in which order, on how many goroutines, saw it first; and what
// is read a second time is held to what it was before.
type Content struct {
	table    *Table
	cols     []int
	segments []segment
	runs     []run
	first    map[chunkID]int // of a Parquet chunk's segments

	mu sync.Mutex // of the segments' digests
}

// segment is a stretch of stored bytes and its digest, once that is known.
type segment struct {
	extent
	sum  xxh3.Uint128
	seen bool
}

// run is the segments of one column of one file.
type run struct {
	file     dataFile
	col      int
	from, to int
}

// chunkID names a column chunk of a Parquet file.
type chunkID struct {
	file       *parquetFile
	group, col int
}

// Content verifies the named columns, as Verify does, and returns an empty collection for them.
func (t *Table) Content(ctx context.Context, columns []string) (*Content, error) {
	cols, err := t.find(columns)
	if err != nil {
		return nil, err
	}
	slices.Sort(cols)
	c := &Content{table: t, cols: slices.Compact(cols), first: map[chunkID]int{}}
	if err := t.verify(ctx, c.cols, workersOr(0)); err != nil {
		return nil, err
	}
	for _, col := range c.cols {
		for _, f := range t.files {
			r := run{file: f, col: col, from: len(c.segments)}
			switch f := f.(type) {
			case *parquetFile:
				c.chunks(f, col)
			case *arrowFile:
				c.add(f.segments(col))
			}
			r.to = len(c.segments)
			c.runs = append(c.runs, r)
		}
	}
	return c, nil
}

func (c *Content) add(at []extent) {
	for _, e := range at {
		c.segments = append(c.segments, segment{extent: e})
	}
}

// chunks adds the pages of a Parquet file's column.
func (c *Content) chunks(f *parquetFile, col int) {
	for g := range f.footer.Groups {
		c.first[chunkID{f, g, col}] = len(c.segments)
		c.add(f.pagesOf(g, col))
	}
}

// of returns where a scan of a chunk notes what it reads. It may be called for any chunk, and on nil.
func (c *Content) of(f *parquetFile, group, col int) marks {
	if c == nil {
		return marks{}
	}
	first, ok := c.first[chunkID{f, group, col}]
	if !ok {
		return marks{}
	}
	return marks{content: c, first: first}
}

// marks are the segments of one chunk. The zero value notes nothing.
type marks struct {
	content *Content
	first   int
}

// at is the i-th page of the chunk: see pagesOf.
func (m marks) at(i int) mark { return mark{m.content, m.first + i} }

// mark is one segment.
type mark struct {
	content *Content
	i       int
}

// note takes note of a segment.
func (m mark) note(d *digester) error {
	if m.content == nil {
		return nil
	}
	return m.content.note(m.i, d.sum())
}

func (c *Content) note(i int, sum xxh3.Uint128) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.segments[i]
	if s.seen && s.sum != sum {
		return fail(CodeChanged, "", "the file changed while it was read")
	}
	s.sum, s.seen = sum, true
	return nil
}

// Ahead reads what scans do not take note of (the columns of Arrow files). It may run beside them.
func (c *Content) Ahead(ctx context.Context) error {
	return c.rest(ctx, func(f dataFile) bool { _, parquet := f.(*parquetFile); return !parquet })
}

// segmentBytes is how much is read at once: little enough to stay in a core's cache.
const segmentBytes = 1 << 18

// rest reads the segments that nobody has read yet, of some files.
func (c *Content) rest(ctx context.Context, of func(dataFile) bool) error {
	type missing struct {
		file dataFile
		i    int
	}
	var todo []missing
	c.mu.Lock()
	for _, r := range c.runs {
		if !of(r.file) {
			continue
		}
		for i := r.from; i < r.to; i++ {
			if !c.segments[i].seen {
				todo = append(todo, missing{r.file, i})
			}
		}
	}
	c.mu.Unlock()
	buffers := sync.Pool{New: func() any { return new([segmentBytes]byte) }}
	return parallel(ctx, workersOr(0), len(todo), func(ctx context.Context, k int) error {
		buf := buffers.Get().(*[segmentBytes]byte)
		defer buffers.Put(buf)
		m := todo[k]
		sum, err := digest(ctx, m.file, c.segments[m.i].extent, buf[:])
		if err == nil {
			err = c.note(m.i, sum)
		}
		return refuse(m.file.name(), err)
	})
}

// digest reads an extent through buf.
func digest(ctx context.Context, f dataFile, e extent, buf []byte) (sum xxh3.Uint128, err error) {
	var d digester
	for left := e.size; left > 0; {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		b := buf[:min(left, int64(len(buf)))]
		if _, err := f.readAt(b, e.off+e.size-left); err != nil {
			return sum, fail(CodeUnreadable, f.name(), "cannot be read")
		}
		d.piece(b)
		left -= int64(len(b))
	}
	return d.sum(), nil
}

// digester is the digest of a segment that is read piece by piece: of a piece, where it is one, or of the digests of all
// pieces. All but the last have segmentBytes bytes. (The library's own way to hash piece by piece copies what it gets,
// which takes three times as long.)
type digester struct{ sums []byte }

func (d *digester) piece(b []byte) {
	sum := xxh3.Hash128(b).Bytes()
	d.sums = append(d.sums, sum[:]...)
}

// sum ends the segment; the next piece begins another.
func (d *digester) sum() xxh3.Uint128 {
	defer func() { d.sums = d.sums[:0] }()
	if len(d.sums) == 16 {
		return xxh3.Uint128{Hi: binary.BigEndian.Uint64(d.sums), Lo: binary.BigEndian.Uint64(d.sums[8:])}
	}
	return xxh3.Hash128(d.sums)
}
