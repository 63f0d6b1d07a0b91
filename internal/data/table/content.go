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

// Content identifies some columns by the digests of their stored bytes. Scans note what they read, and Content reads the
// rest itself. Each page, or stretch of an Arrow buffer, is a segment of its own, so the order of scans and goroutines
// makes no difference. A segment that is read again must be the same as before.
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

// segment is a stretch of stored bytes. seen says that sum is its digest.
type segment struct {
	extent
	sum  xxh3.Uint128
	seen bool
}

// run names the segments of one column of one file.
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

// notes returns a function that notes the i-th page of a chunk, as pagesOf counts pages, or nil if nobody wants the
// column. c may be nil.
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

// Mark is the digest of a segment that another machine read. It is as private as the bytes.
type Mark struct {
	Segment int
	Hi, Lo  uint64
}

// Fresh returns a Content of the same columns that has seen nothing.
func (c *Content) Fresh() *Content {
	out := &Content{table: c.table, cols: c.cols, runs: c.runs, first: c.first, segments: make([]segment, len(c.segments))}
	for i := range c.segments {
		out.segments[i].extent = c.segments[i].extent
	}
	return out
}

// Marks returns the digests of all segments so far.
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

// Note takes in what another machine read. It fails if anybody read something else: then the file changed, or the
// machines read different files.
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

// Ahead reads what scans do not note: the columns of Arrow files. It may run beside scans.
func (c *Content) Ahead(ctx context.Context) error {
	if c.table.unordered {
		return nil
	}
	return c.rest(ctx, func(f *member) bool { _, parquet := f.dataFile.(*parquetFile); return !parquet })
}

// segmentBytes is the number of bytes that are read at once. They fit in a core's cache.
const segmentBytes = 1 << 18

// rest reads the segments of some files that nobody has read yet.
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

// digester makes the digest of a segment piece by piece. Each piece except the last has segmentBytes bytes. The digest of a
// single piece is that of its bytes; the digest of several pieces is that of their digests. (The library's own way to hash
// in pieces copies them, which takes three times as long.)
type digester struct{ sums []byte }

func (d *digester) piece(b []byte) {
	sum := xxh3.Hash128(b).Bytes()
	d.sums = append(d.sums, sum[:]...)
}

// sum ends the segment.
func (d *digester) sum() xxh3.Uint128 {
	if len(d.sums) == 16 {
		return xxh3.Uint128{Hi: binary.BigEndian.Uint64(d.sums), Lo: binary.BigEndian.Uint64(d.sums[8:])}
	}
	return xxh3.Hash128(d.sums)
}

// Key is the secret under which content is fingerprinted.
type Key [32]byte

// Fingerprint is a keyed digest of all stored bytes of some columns.
type Fingerprint [32]byte

// fingerprintVersion is part of every fingerprint, so that those of different versions never agree.
const fingerprintVersion = "dprelease fingerprint 1\n"

// Fingerprint reads what no scan has read, and returns the digest of everything under the key. It depends on how the rows
// are laid out in files, row groups and pages, and on the descriptions of the columns, but not on the order of names.
//
// XXH3 hashes each segment to 128 bits, and HMAC-SHA-256 hashes these digests with a description of them. Without the key
// a fingerprint says nothing about the data; with the key it is as private as the data (P19). Two tables that nobody
// made to collide have different fingerprints. XXH3 is no cryptographic hash: somebody who may write the table can make
// two tables with one fingerprint. All they gain is that a release of the first stands for the second, which draws nothing
// and tells nothing about the second.
func (c *Content) Fingerprint(ctx context.Context, key Key) (Fingerprint, error) {
	if c.table.unordered {
		return c.table.sumOf(ctx, key, c.cols)
	}
	if err := c.rest(ctx, func(*member) bool { return true }); err != nil {
		return Fingerprint{}, err
	}
	return c.digest(key, c.cols)
}

// Columns returns the fingerprint of each column by its name: what Fingerprint returns for a Content of that column
// alone. It reads what no scan has read.
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

// digest returns the fingerprint of some columns. Their segments must all be known.
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

// Fingerprint reads the stored bytes of the named columns and returns their digest. It decodes nothing.
func (t *Table) Fingerprint(ctx context.Context, columns []string, key Key) (Fingerprint, error) {
	c, err := t.Content(ctx, columns)
	if err != nil {
		return Fingerprint{}, err
	}
	return c.Fingerprint(ctx, key)
}

// describe writes down the columns, the layout of every file, and which segments belong to which column, so that a list
// of segments has one meaning only. The names, types and order of all fields here are part of the version.
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
		if k.Text { // a CSV file holds text, whatever a job declares
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
