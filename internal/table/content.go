package table

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
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

// extent is a stretch of bytes in a file.
type extent struct{ off, size int64 }

// segment is a stretch of stored bytes and its digest, once that is known.
type segment struct {
	extent
	sum  xxh3.Uint128
	seen bool
}

// run is the segments of one column of one file.
type run struct {
	file     *member
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
			if p, ok := f.dataFile.(*parquetFile); ok && f.at[col] >= 0 {
				at := len(c.segments)
				for g := range p.footer.Groups {
					c.first[chunkID{p, g, f.at[col]}] = at
					at += len(p.pagesOf(g, f.at[col]))
				}
			}
			for _, e := range f.segmentsOf(col) {
				c.segments = append(c.segments, segment{extent: e})
			}
			r.to = len(c.segments)
			c.runs = append(c.runs, r)
		}
	}
	return c, nil
}

// notes returns how a scan notes the i-th page of a chunk, as pagesOf counts them; nil where it need not. It may be called
// on nil.
func (c *Content) notes(f *parquetFile, group, col int) func(i int, sum xxh3.Uint128) error {
	if c == nil {
		return nil
	}
	first, ok := c.first[chunkID{f, group, col}]
	if !ok {
		return nil
	}
	return func(i int, sum xxh3.Uint128) error { return c.note(first+i, sum) }
}

func (c *Content) note(i int, sum xxh3.Uint128) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.segments[i]
	if s.seen && s.sum != sum {
		return errChanged
	}
	s.sum, s.seen = sum, true
	return nil
}

// Mark is the digest of one stretch of stored bytes, as another machine read it. It is as private as the bytes.
type Mark struct {
	Segment int
	Hi, Lo  uint64
}

// Fresh is a collection of the same columns that has seen nothing.
func (c *Content) Fresh() *Content {
	out := &Content{table: c.table, cols: c.cols, runs: c.runs, first: c.first, segments: make([]segment, len(c.segments))}
	for i := range c.segments {
		out.segments[i].extent = c.segments[i].extent
	}
	return out
}

// Marks are what the collection has seen.
func (c *Content) Marks() (out []Mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.segments {
		if s.seen {
			out = append(out, Mark{i, s.sum.Hi, s.sum.Lo})
		}
	}
	return out
}

// Note takes note of what another machine saw. It fails where this one, or a third, saw something else: the file
// changed, or is not the same.
func (c *Content) Note(marks []Mark) error {
	for _, m := range marks {
		if m.Segment < 0 || m.Segment >= len(c.segments) {
			return fail(CodeChanged, "", "another machine reads another file")
		}
		if err := c.note(m.Segment, xxh3.Uint128{Hi: m.Hi, Lo: m.Lo}); err != nil {
			return err
		}
	}
	return nil
}

// Ahead reads what scans do not take note of (the columns of Arrow files). It may run beside them.
func (c *Content) Ahead(ctx context.Context) error {
	if c.table.unordered {
		return nil
	}
	return c.rest(ctx, func(f *member) bool { _, parquet := f.dataFile.(*parquetFile); return !parquet })
}

// segmentBytes is how much is read at once: little enough to stay in a core's cache.
const segmentBytes = 1 << 18

// rest reads the segments that nobody has read yet, of some files.
func (c *Content) rest(ctx context.Context, of func(*member) bool) error {
	type missing struct {
		file *member
		i    int
	}
	var todo []missing
	c.mu.Lock()
	for _, r := range c.runs {
		for i := r.from; i < r.to && of(r.file); i++ {
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

// digester makes the digest of a segment that is read piece by piece. The digest of one piece is that of its bytes; the
// digest of several is that of their digests. All pieces but the last have segmentBytes bytes. (The library's own way
// to hash piece by piece copies what it gets, which takes three times as long.)
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

// Key is the secret under which content is fingerprinted.
type Key [32]byte

// Fingerprint is a keyed digest of all stored bytes of some columns.
type Fingerprint [32]byte

// fingerprintVersion is part of every fingerprint: those of different versions never agree. Ledgers in use find their
// releases by fingerprints of version 2.
const fingerprintVersion = "dprelease fingerprint 2\n"

// Fingerprint reads what no scan has, and returns the digest of everything under the key. The order of the columns'
// names makes no difference. How the rows are laid out in files, row groups and pages does make one, and so do the
// columns' descriptions.
//
// XXH3 hashes each segment to 128 bits, and HMAC-SHA-256 the digests, with a description of what they are of. So a
// fingerprint says nothing about the data without the key (with it, it is as private as they are: P19), and two
// tables that were not made to collide have different ones. XXH3 is no cryptographic hash: who may write the table and
// wants to can make two that agree. All they gain is that a release of the first stands for the second, which draws
// nothing and tells nothing of the second.
func (c *Content) Fingerprint(ctx context.Context, key Key) (Fingerprint, error) {
	if c.table.unordered {
		return c.table.sumOf(ctx, key, c.cols)
	}
	if err := c.rest(ctx, func(*member) bool { return true }); err != nil {
		return Fingerprint{}, err
	}
	return c.digest(key, c.cols)
}

// Columns returns the fingerprint of each column on its own, by its name: what
// Fingerprint returns for a Content of that column alone. It reads what no scan has.
func (c *Content) Columns(ctx context.Context, key Key) (map[string]Fingerprint, error) {
	of := func(ctx context.Context, key Key, cols []int) (Fingerprint, error) { return c.digest(key, cols) }
	if c.table.unordered {
		of = c.table.sumOf
	} else if err := c.rest(ctx, func(*member) bool { return true }); err != nil {
		return nil, err
	}
	out := map[string]Fingerprint{}
	for _, col := range c.cols {
		f, err := of(ctx, key, []int{col})
		if err != nil {
			return nil, err
		}
		out[c.table.columns[col].Name] = f
	}
	return out, nil
}

// digest is the fingerprint of some columns, all of which were read.
func (c *Content) digest(key Key, cols []int) (Fingerprint, error) {
	mac := hmac.New(sha256.New, key[:])
	_, _ = mac.Write([]byte(fingerprintVersion))
	head, err := c.describe(cols)
	if err != nil {
		return Fingerprint{}, err
	}
	_, _ = mac.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(head))))
	_, _ = mac.Write(head)
	b := make([]byte, 0, 24)
	c.mu.Lock()
	for _, r := range c.runs {
		if !slices.Contains(cols, r.col) {
			continue
		}
		for _, s := range c.segments[r.from:r.to] {
			b = binary.LittleEndian.AppendUint64(b[:0], uint64(s.size))
			b = binary.LittleEndian.AppendUint64(b, s.sum.Lo)
			_, _ = mac.Write(binary.LittleEndian.AppendUint64(b, s.sum.Hi))
		}
	}
	c.mu.Unlock()
	for _, f := range c.table.files {
		if err := f.changed(); err != nil {
			return Fingerprint{}, err
		}
	}
	return Fingerprint(mac.Sum(nil)), nil
}

// Fingerprint reads the stored bytes of the named columns, of all rows, and returns their digest. It decodes nothing.
func (t *Table) Fingerprint(ctx context.Context, columns []string, key Key) (Fingerprint, error) {
	c, err := t.Content(ctx, columns)
	if err != nil {
		return Fingerprint{}, err
	}
	return c.Fingerprint(ctx, key)
}

// describe says what the segments are of: the columns, the layout of every file, and how many segments are whose. With
// it the segments can be read in one way only. The names, types and order of all fields here are part of version 2.
func (c *Content) describe(cols []int) ([]byte, error) {
	type column struct {
		Name             string
		Kind             Kind
		Nullable, Usable bool
		Reason           string
		Scale            int
		Unit             Unit
		Approximate      bool
	}
	type stored struct {
		Storage  string
		Segments int
	}
	var d struct {
		Columns []column
		Rows    [][]int64
		Stored  []stored
	}
	for _, col := range cols {
		k := c.table.columns[col]
		if k.Text { // what a CSV file holds is text, whatever a job takes it for
			k.Kind, k.Unit = String, NoUnit
		}
		d.Columns = append(d.Columns, column{k.Name, k.Kind, k.Nullable, k.Usable, k.Reason, k.Scale, k.Unit, k.Approximate || k.Unsigned})
	}
	for _, f := range c.table.files {
		d.Rows = append(d.Rows, f.groups())
	}
	for _, r := range c.runs {
		if !slices.Contains(cols, r.col) {
			continue
		}
		d.Stored = append(d.Stored, stored{r.file.storageOf(c.table, r.col), r.to - r.from})
	}
	b, err := json.Marshal(d)
	if err != nil {
		return nil, fail(CodeUsage, "", "the table cannot be described")
	}
	return b, nil
}
